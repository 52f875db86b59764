"""Keys cover code, library versions, settings and inputs that decide numbers; no bookkeeping."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from journeylab.catalogue import discover, key_modules, stage_roots, study_folder
from journeylab.records.fingerprint import BOOKKEEPING, PLANNED, closure

from ..made import PROJECT, ran

pytestmark = pytest.mark.usefixtures("warm")

PACKAGE = PROJECT / "src/journeylab"
NUMBERS = ("generate", "train", "compute", "measure", "collect", "judge")
PARTS = {"generate": "data", "train": "models", "measure": "measure", "compute": "compute"}
JOBS = {(stage, study) for stage in NUMBERS for study in discover()}
KEYS = f"""
import json, sys
from journeylab.catalogue import discover, key_modules
from journeylab.records.fingerprint import hash_module, hash_modules

jobs = {{f"{{stage}} {{study}}": key_modules(stage, study)
        for stage in {NUMBERS!r} for study in discover()}}
known = {{module: hash_module(module) for modules in jobs.values() for module in modules}}

def keys(hashes):
    return {{job: hash_modules(modules, hashes.get) for job, modules in jobs.items()}}

before, moved = keys(known), {{}}
for edited in json.load(sys.stdin):
    names = [f"journeylab.{{module}}" for module in edited]
    for name in names:
        open(name.replace(".", "/") + ".py", "a").write("\\nEDITED = 1\\n")
    hash_module.cache_clear()
    after = keys(known | {{name: hash_module(name) for name in names}})
    moved[" ".join(edited)] = [job for job in jobs if after[job] != before[job]]
json.dump(moved, sys.stdout)
"""


def of(*stages: str) -> set[tuple[str, str]]:
    """(stage, study) for all studies that have the part of the stage."""
    return {
        (stage, study)
        for stage in stages
        for study in discover()
        if stage not in PARTS or (study_folder(study) / f"{PARTS[stage]}.py").exists()
    }


MOVED: dict[str, Callable[[set[tuple[str, str]]], bool]] = {
    "streams": lambda moved: moved >= of("generate", "train", "measure", "compute"),
    "training.loop": lambda moved: moved >= of("train", "measure") and not moved & of("generate"),
    "training.schedule": lambda moved: moved >= of("train") and not moved & of("generate"),
    "chunks.generate": lambda moved: moved >= of("generate") and not moved & of("train", "judge"),
    "chunks.train": lambda moved: moved >= of("train") and not moved & of("measure", "compute"),
    "chunks.measure": lambda moved: moved >= of("measure") and not moved & of("train", "compute"),
    "chunks.compute": lambda moved: moved >= of("compute") and not moved & of("train", "measure"),
    "operators.scan": lambda moved: ("train", "exp4") in moved and ("train", "exp8") not in moved,
    "datasets.kinship": lambda moved: {study for _, study in moved} == {"exp7", "exp12"},
    "studies.exp1_group_languages.models": lambda moved: (
        {("train", "exp1"), ("measure", "exp1")} <= moved
        and {study for _, study in moved} == {"exp1"}
        and ("generate", "exp1") not in moved
    ),
    "studies.exp5_ssm_bridge.compute": lambda moved: moved == {("compute", "exp5")},
    "claims.statistics": lambda moved: moved == of("judge"),
}
"""Deciding module → condition on the keys that an edit of it changes."""


def copied(folder: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, folder / "journeylab", ignore=ignored)
    return folder / "journeylab"


def python(script: str, source: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    search = {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    return ran("python", "-c", script, **more, **search)


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[tuple[str, str]]]:
    """Edited modules → the (stage, study) pairs whose keys change."""
    package = copied(tmp_path_factory.mktemp("edited"))
    edits = [list(BOOKKEEPING), *([module] for module in MOVED)]
    done = python(KEYS, package.parent, folder=package.parent, given=json.dumps(edits))
    return {
        edited: {tuple(job.split()) for job in jobs}  # type: ignore[misc]
        for edited, jobs in json.loads(done.stdout).items()
    }


def test_edited_bookkeeping_changes_no_key_of_a_number(moved):
    assert moved[" ".join(BOOKKEEPING)] == set()
    assert len(BOOKKEEPING) >= 10


@pytest.mark.parametrize("module", MOVED)
def test_an_edited_deciding_module_changes_the_right_keys(moved, module):
    assert MOVED[module](moved[module]), moved[module]


@pytest.mark.parametrize(("stage", "study"), sorted(JOBS))
def test_every_loaded_module_is_in_the_key_or_listed_as_bookkeeping(stage, study):
    loaded = {module.removeprefix("journeylab.") for module in closure(stage_roots(stage, study))}
    decided = {module.removeprefix("journeylab.") for module in key_modules(stage, study)}
    packages = {"journeylab", "stages", "records"}  # these contain only a docstring
    assert loaded - decided - set(BOOKKEEPING) <= packages
    assert not decided & {*BOOKKEEPING, *PLANNED}


@pytest.mark.parametrize(("stage", "study"), sorted(of(*PARTS)))
def test_labels_and_figures_are_outside_the_keys_of_numbers(stage, study):
    """A reworded label in names.yaml or in a figure must not retrain or remeasure a run."""
    reached = {name.rpartition(".")[2] for name in key_modules(stage, study)}
    assert PARTS[stage] in reached
    assert not reached & {"figures", "plotting", "reports", "claims", "workflow"}


def test_a_package_outside_the_keys_contains_only_a_docstring():
    for name in ("", "stages", "records"):
        text = (PACKAGE / name / "__init__.py").read_text(encoding="utf-8")
        compiled = compile(text, name, "exec")
        assert not compiled.co_names or set(compiled.co_names) == {"__doc__"}


def test_every_listed_bookkeeping_module_is_loaded():
    loaded = {module for job in JOBS for module in closure(stage_roots(*job))}
    assert {f"journeylab.{module}" for module in BOOKKEEPING} <= loaded


PIPELINE = """
import os
os.environ["OMP_NUM_THREADS"] = "1"
from pathlib import Path
from journeylab.catalogue import key_modules
from journeylab.records.fingerprint import hash_module, hash_modules
from journeylab.records.plans import Plan, write_plan
from journeylab.stages.running import run_stage

DATA = {"train": 40, "validation": 20}
JOB = {"task": "A", "variant": "toral-product", "data": DATA, "model": {"d": 4},
       "training": {"steps": 6, "learning_rate": 0.01, "batch": 8, "checkpoint_every": 2}}
CASES = {"variant": "rotation", "lengths": [20], "dtypes": ["float64"], "draws": 2, "d": 8}
folder = Path("plans/exp1/A/toral-product/seeds-00-01")

def planned(stage, study, **content):
    code = "decided"  # the key must be equal in both copies
    return Plan(stage=stage, study=study, code=code, seeds=(0, 1), **content)

import journeylab.stages.running as running
running._load = lambda stage, plan: None
data = planned("generate", "exp1", dataset="strings", settings=DATA)
run = {"arm": "A", "variant": "toral-product"}
train = planned("train", "exp1", settings=JOB, device="cpu", inputs={"data": data.key}, **run)
measure = planned("measure", "exp1", settings={"strings": 30},
                  inputs={"data": data.key, "run": train.key}, **run)
for plan in (data, train, measure):
    write_plan(folder / f"{plan.stage}.json", plan)
run_stage("generate", folder / "generate.json", Path("data.parquet"))
run_stage("train", folder / "train.json", Path("run/run.json"), data=Path("data.parquet"))
run_stage("measure", folder / "measure.json", Path("run/measurements.parquet"),
          data=Path("data.parquet"), run=Path("run/run.json"))
"""
REWORKED = {
    "records/cost.py": ("    return sum(", "    return 0.0 * sum("),
    "records/files.py": ("def _flush(path: Path) -> None:\n", "def _flush(path):\n    return\n"),
    "records/git.py": ("    return answer.stdout", "    return None"),
    "records/runs.py": ('    if not environment.get("SLURM_JOB_ID"):', "    if True:"),
    "records/plans.py": (
        'return " ".join(filter(None, (self.stage',
        'return "".join(filter(None, (self.stage',
    ),
    "records/fingerprint.py": ("hexdigest()[:16]", "hexdigest()[:12]"),
    "training/progress.py": ("SECONDS_BETWEEN_LINES = 10.0", "SECONDS_BETWEEN_LINES = 0.0"),
    "stages/train.py": ('label=f"{plan.study} {plan.arm}/{plan.variant}"', 'label="training"'),
    "stages/running.py": (
        "resumed = start.started != started",
        "resumed = True",
    ),
    "stages/generate.py": ('plan.dataset or ""', 'plan.dataset or "unnamed"'),
    "stages/measure.py": ("was trained on other data", "belongs to other data"),
}
"""Edits of bookkeeping: no clock, no git, no cluster, other messages, more progress lines."""
NUMBERS_FILES = ("data.parquet", "run/weights.safetensors", "run/curves.parquet")
NUMBERS_FILES += ("run/measurements.parquet",)


def numbers(source: Path, folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    python(PIPELINE, source, folder=folder)
    return {name: (folder / name).read_bytes() for name in NUMBERS_FILES}


def rework(package: Path, file: str, old: str, new: str) -> None:
    text = (package / file).read_text(encoding="utf-8")
    assert text.count(old) >= 1, f"{file} does not contain {old!r}"
    (package / file).write_text(text.replace(old, new, 1), encoding="utf-8")


def test_edited_bookkeeping_keeps_the_bytes_and_edited_arithmetic_does_not(tmp_path):
    before = numbers(PACKAGE.parent, tmp_path / "before")
    package = copied(tmp_path / "copy")
    for file, (old, new) in REWORKED.items():
        rework(package, file, old, new)
    assert numbers(package.parent, tmp_path / "after") == before
    rework(package, "training/schedule.py", "0.5 *", "0.25 *")
    changed = numbers(package.parent, tmp_path / "changed")
    assert changed["data.parquet"] == before["data.parquet"]
    assert changed["run/weights.safetensors"] != before["run/weights.safetensors"]
