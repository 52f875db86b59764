"""Sequential looks through the whole workflow, on a study whose effects are planted."""

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from .conftest import Copy, copy_project, made_once

STUDY = "exp13"
LOOKS = [12, 16, 20, 24, 28, 32, 36]
PATTERNS = {
    "clear": "+",  # decided at the first look
    "close": "++-" + "+" * 40,  # two seeds are on the wrong side
    "failing": "xx" + "+" * 40,  # two seeds failed, which count against both answers
    "hopeless": "+-",
    "constant": "0",  # every seed lies at the margin
    "unread": "+",
}
# M = 6: boundaries 0, 2, 3, … seeds on the wrong side
SEEDS = {"clear": 12, "close": 16, "failing": 16, "constant": 12, "unread": 12}


def shrink(config):
    config["scale"] = "default"
    config["tracking"]["enabled"] = False
    arm = {"computed": "planted", "replicates": "seeds", "variants": ["x"]}
    config["studies"] = {
        STUDY: {
            "chunk": 12,
            "arms": {name: arm | {"pattern": signs} for name, signs in PATTERNS.items()},
        }
    }


def row(number, arm, effect=None):
    cell = {"run": f"{arm}/x", "measure": "value"}
    return {
        "id": f"{STUDY}.{number}",
        "theorem": "prop:ssm-bridge",
        "statement": f"The values of {arm} are above 0.",
        "source": "corrected",
        "effect": effect or cell,
        "region": {"above": 0.0},
    }


def plant(folder: Path) -> Copy:
    """A project with the planted study alone, in git, its register committed."""
    copy = copy_project(folder, shrink)
    target = folder / "src/journeylab/studies/exp13_planted"
    shutil.copytree(Path(__file__).parent / "planted_study", target)
    for file in (folder / "claims").glob("exp*.yaml"):
        file.unlink()
    primary = [name for name in PATTERNS if name != "unread"]
    claims = [row(number, arm) for number, arm in enumerate(primary, 1)]
    cells = [{"run": f"{arm}/x", "measure": "value"} for arm in ("clear", "failing")]
    claims.append(row(6, "clear and failing", {"all_of": cells}))
    secondary = [{"run": f"{arm}/x", "measure": "value"} for arm in ("hopeless", "unread")]
    claims.append(row("s1", "both", {"difference": secondary}))
    register = {
        "looks": "sequential",
        "measures": {"value": {"label": "value", "metric": "value"}},
        "claims": claims,
    }
    file = folder / "claims" / f"{STUDY}.yaml"
    file.write_text(yaml.safe_dump(register, sort_keys=False), encoding="utf-8")
    (folder / "response.yaml").write_text(
        f'points:\n  - {{id: looks, reviewer: R1, point: "Stop?", claims: [{STUDY}]}}\n',
        encoding="utf-8",
    )
    copy.run("journeylab", "schema", "--output", "workflow/schemas")
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "a register"]):
        copy.run("git", "-c", "user.name=a", "-c", "user.email=a@example.org", *command)
    return copy


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    def make(folder):
        copy = plant(folder / "project")
        done = copy.snakemake("all")
        (folder / "output").write_text(done.stdout + done.stderr, encoding="utf-8")

    return Copy(made_once(tmp_path_factory, "planted", make) / "project")
