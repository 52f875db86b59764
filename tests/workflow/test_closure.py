"""Each module of this package that a stage imports is part of the code that its plan declares.

After a stage has loaded the code of its plan it refuses other imports. So it suffices that the
pipeline finishes for every study and stage, and that no import is hidden from the graph of imports.
exp5 and exp7 are in the shared finished copy.
"""

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

from journeylab.catalogue import PACKAGE, discover
from journeylab.config.grids import by_name
from journeylab.records.stages import STAGES

from .conftest import TINY_STUDIES, Copy, copy_project

pytestmark = pytest.mark.workflow

FEW = {"steps": 2, "warmup": 0, "evaluate_every": 2, "checkpoint_every": 2}
KEPT = {
    "exp1": {"A": ["toral-product"], "certificates": ["all"]},
    "exp2": {"M20-sorted": ["rope"], "invariance": ["content"]},
    "exp3": {"C2-d4": ["standard"], "enumeration": ["standard"]},
    "exp4": {"single": ["near-identity"], "certificates": ["gauge"]},
    "exp6": {"random-toral": ["journey-learned"], "rank": ["decaying"]},
    "exp8": {"axial": ["hybrid50"], "certificates": ["all"]},
    "exp9": {"training": ["annealing"], "language": ["soft"]},
    "exp10": {"degree": ["sum"], "audit": ["example"]},
    "exp11": {"string-double": ["sabag"], "sign": ["all"]},
    "exp12": {"split": ["A"], "certificates": ["cache"]},
    "exp13": {"parity": ["rope"], "certificates": ["orders"]},
}
"""A run that is trained and one that is computed, of each study."""
CORPUS = b"to be, or not to be: " * 300


def shorten(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings with a few steps in place of those that they state."""
    return settings | ({"training": FEW} if "training" in settings else {})


def keep_one_of_each(config: dict[str, Any]) -> None:
    """Keep one run of each kind, with the sizes of the quick scale but not its choice of runs."""
    for study, kept in KEPT.items():
        section = config["studies"][study]
        quick = section.pop("scales")["quick"]
        section["training"].update(FEW)
        section["evaluation"] = section.get("evaluation", {}) | quick.get("evaluation", {})
        for name, arm in section["arms"].items():
            variants = by_name(arm.get("variants", ["all"]))
            if "computed" in arm:
                arm |= quick.get("arms", {}).get(name, {})
            arm["variants"] = {
                variant: shorten(settings) | {"enabled": variant in kept.get(name, [])}
                for variant, settings in variants.items()
            }
            section["arms"][name] = shorten(arm)
    file = {"sha256": hashlib.sha256(CORPUS).hexdigest(), "path": "corpus.txt"}
    for study in ("exp4", "exp9"):
        config["studies"][study]["datasets"]["corpus"].update(file=file, passage=100)
    config["seeds_from"] = 1000
    config["seeds"]["default"] = 1
    config["tracking"]["enabled"] = False
    config["studies"] = {study: config["studies"][study] for study in KEPT}


@pytest.mark.system
def test_every_stage_of_every_study_imports_only_the_code_of_its_plan(
    finished: Copy, tmp_path: Path
) -> None:
    copy = copy_project(tmp_path / "project", keep_one_of_each)
    (copy.path / "corpus.txt").write_bytes(CORPUS)
    for study in KEPT:  # no function of a figure imports anything: one shows what they all load
        [file] = copy.path.glob(f"src/journeylab/studies/{study}_*/figures.py")
        with file.open("a", encoding="utf-8") as code:
            code.write("\nFIGURES = dict([*FIGURES.items()][:1])\n")
    copy.snakemake(*(f"reports/{study}.pdf" for study in KEPT))
    stages = set()
    for project in (finished, copy):
        stages |= {path.name.split(".")[0] for path in project.path.glob("plans/exp*/*.cost.json")}
        runs = project.path.glob("plans/exp*/*/*/*/*.cost.json")
        stages |= {path.name.split(".")[0] for path in runs}
    # tests/workflow/test_looks.py runs looks, test_search.py choices
    shared = {"fetch", "generate", "restore", "look", "choose", "respond", "index"}
    assert stages == set(STAGES) - shared
    reports = {
        path.stem for project in (finished, copy) for path in project.path.glob("reports/exp*.pdf")
    }
    assert reports == set(discover()) == {*KEPT, *TINY_STUDIES}


def test_a_stage_that_imports_undeclared_code_is_refused(project: Copy) -> None:
    """An edit of a module that a figure loads but its plan lacks would redraw nothing."""
    table, declared = "src/journeylab/records/stages.py", '("settings", "figures")'
    project.edit(table, lambda text: text.replace(declared, '("settings",)'))
    done = project.snakemake("reports/exp5/manifest.json", check=False)
    assert done.returncode != 0
    log = (project.path / "logs/draw/exp5.log").read_text(encoding="utf-8")
    assert "journeylab.studies.exp5_ssm_bridge.figures is imported while draw exp5" in log


BY_NAME = {
    *("catalogue", "claims", "commands.app", "models.mixers.registry", "stages.running"),
    "workflow.forking",
}
"""The modules that import others by a name that they compute."""


def test_no_other_module_has_imports_that_the_graph_of_imports_does_not_show() -> None:
    """So a run imports what its study's modules name, whichever of their lines are executed."""
    found = {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        for path in PACKAGE.rglob("*.py")
        if re.search(r"\b(import_module|__import__|run_module)\(", path.read_text("utf-8"))
    }
    assert found == BY_NAME
