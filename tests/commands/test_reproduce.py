"""Recorded evidence is rerun from nothing: equal results are equal, a planted value is named."""

import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from pyarrow import parquet
from typer.testing import CliRunner, Result

from journeylab.catalogue import Stage
from journeylab.cli import app
from journeylab.config import UserError, read_yaml
from journeylab.records import files, runs
from journeylab.records.evidence import collect_evidence, evidence_path
from journeylab.records.files import MEASUREMENTS, Origin, read_json, read_table, write_table
from journeylab.records.plans import Plan
from journeylab.records.runs import RUN
from journeylab.stages.running import run_stage
from journeylab.workflow import rerun
from journeylab.workflow.planning import WorkflowPlan

PROJECT = Path(__file__).parents[2]
SEQUENTIAL = "engine=sequential"
BRIDGE = "exp5/bridge/rotation/once"
TRAINED = "exp1/A/toral-product/seeds-1000-1001"
SIGN = "exp11/sign/all/seeds-1000-1001"
Change = Callable[[pd.DataFrame], None]


@dataclass(frozen=True)
class Copy:
    """A folder with a small configuration and the evidence of its runs."""

    path: Path

    def plans(self, *overrides: str) -> dict[str, Plan]:
        more = dict(each.split("=") for each in overrides)
        return dict(WorkflowPlan(read_yaml(Path("config.yaml")) | more).plans())

    def record(self, run: str, *overrides: str, change: Change | None = None) -> None:
        """Make a run with the stages of the workflow, and its evidence, with changed values."""
        workflow = WorkflowPlan(
            read_yaml(Path("config.yaml")) | dict(each.split("=") for each in overrides)
        )
        workflow.write()
        plans = dict(workflow.plans())
        study, folder = run.split("/", 1)
        results = Path("results") / run
        shutil.rmtree(results, ignore_errors=True)

        def stage(stage: Stage, path: str, output: Path, **read: Path) -> Plan:
            run_stage(stage, Path("plans") / path, output, **read)
            return plans[path]

        if f"{run}/compute.json" in plans:
            made = measured = stage("compute", f"{run}/compute.json", results / RUN)
        else:
            planned = plans[f"{run}/train.json"]
            [path] = [name for name, each in plans.items() if each.key == planned.inputs["data"]]
            data = Path("data.parquet")
            stage("generate", path, data)
            made = stage("train", f"{run}/train.json", results / RUN, data=data)
            read = {"data": data, "run": results / RUN}
            measured = stage("measure", f"{run}/measure.json", results / MEASUREMENTS, **read)
        if change:
            plant(results, change)
        target = evidence_path(Path(), study, folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(collect_evidence(results, made, measured).bytes)


def plant(folder: Path, change: Change) -> None:
    """Change measurements, and everything that seals them."""
    path = folder / MEASUREMENTS
    origin = Origin.model_validate_json(parquet.read_schema(path).metadata[b"origin"])
    table = read_table(path)
    change(table)
    write_table(path, table, origin)
    record = runs.read_run(folder)
    if MEASUREMENTS in record.files:
        hashes = {**record.files, MEASUREMENTS: files.sha256(path)}
        files.write_json(folder / RUN, record.model_copy(update={"files": hashes}))


def add_to_seed(seed: int | None, amount: float = 0.25) -> Change:
    """Add to the first value, of a seed if there is one."""

    def change(table: pd.DataFrame) -> None:
        row = 0 if seed is None else table.index[table["seed"] == seed][0]
        table.loc[row, "value"] += amount

    return change


def config() -> dict[str, Any]:
    """A trained study, one that is computed once, and one that is computed for every seed."""
    whole = read_yaml(PROJECT / "config.yaml")
    studies = whole["studies"]
    exp1, exp5, exp11 = (studies[study] for study in ("exp1", "exp5", "exp11"))
    exp1 |= {"arms": {"A": {"task": "A", "variants": ["toral-product"]}}, "scales": {}}
    exp1 |= {"datasets": {"strings": {"train": 40, "validation": 20}}, "model": {"d": 4}}
    exp1 |= {"evaluation": {"strings": 20}}
    exp1["training"] |= {"steps": 6, "batch": 8, "evaluate_every": 3, "checkpoint_every": 6}
    bridge = exp5["arms"]["bridge"] | {"draws": 2, "lengths": [3], "variants": ["rotation"]}
    exp5 |= {"arms": {"bridge": bridge}, "scales": {}}
    exp11 |= {"arms": {"sign": exp11["arms"]["sign"]}, "scales": {}, "datasets": {}}
    chosen = {"exp1": exp1, "exp5": exp5, "exp11": exp11}
    return whole | {"scale": "quick", "studies": chosen, "tracking": {"enabled": False}}


def arrange(path: Path) -> None:
    (path / "claims").mkdir(parents=True)
    for name in ("looks.yaml", "theorems.yaml"):
        shutil.copy(PROJECT / "claims" / name, path / "claims" / name)
    (path / "config.yaml").write_text(yaml.safe_dump(config(), sort_keys=False))
    (path / "response.yaml").write_text("points: [{id: open, reviewer: R1, point: More}]\n")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Honest evidence of all runs; tests take a copy."""
    path = tmp_path_factory.mktemp("recorded") / "project"
    arrange(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        for run in (BRIDGE, TRAINED, SIGN):
            Copy(path).record(run)
    return path


@pytest.fixture
def project(recorded: Path, tmp_path: Path, warm: Path, monkeypatch: pytest.MonkeyPatch) -> Copy:
    shutil.copytree(recorded, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setattr(rerun, "COMMAND", ("journeylab",))
    shutil.rmtree("results")  # evidence is all that a checker has
    shutil.rmtree("plans")
    return Copy(tmp_path / "project")


def reproduce(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["reproduce", *arguments])


def certificate(path: str = "build/reproduction/certificate.json") -> Mapping[str, Any]:
    return read_json(Path(path))


def test_honest_evidence_is_equal_bit_for_bit(project: Copy) -> None:
    done = reproduce("--draw-seed", "3")
    assert done.exit_code == 0, done.output
    units = {unit["unit"]: unit for unit in certificate()["units"]}
    assert set(units) == {
        BRIDGE,
        TRAINED,  # trained at once: a single unit
        "exp11/sign/all/seed-1000",
        "exp11/sign/all/seed-1001",
    }
    assert all(unit["equal"] and unit["comparison"] == "bits" for unit in units.values())
    assert all(unit["values"] > 2 for unit in units.values())
    assert "draw seed 3; 4 units: exp1 1, exp11 2, exp5 1" in done.output
    assert "fewer than 1 of 4 units (25 %) differ" in done.output  # all were rerun
    assert certificate()["fewer_than"] == 1
    assert not Path("results").exists()
