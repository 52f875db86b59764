"""The recorded cost of runs, from which dry runs forecast."""

import json
from pathlib import Path

import pytest

from journeylab.records.cost import Cost
from journeylab.records.plans import Plan
from journeylab.workflow.costs import COSTS, read_costs, record_costs

from ..made import write_finished


@pytest.fixture
def references(tmp_path: Path) -> Path:
    folder = tmp_path / "reference"
    folder.mkdir()
    (folder / COSTS).write_text(json.dumps({"studies": {}}))
    return folder


def write(root: Path, arm: str, device: str, cpu_seconds: float) -> None:
    seeds = (0, 1)
    settings = {"training": {"steps": 100}}
    plan = Plan(stage="train", study="exp99", arm=arm, variant="A", seeds=seeds, settings=settings)
    cost = Cost(cpu_seconds=cpu_seconds, imports_seconds=0.5, wall_seconds=1.0, peak_mib=1.0)
    write_finished(root / f"results/exp99/{arm}/A/seeds-00-01", plan, device=device, cost=cost)


def test_cost_is_that_of_the_runs_on_a_cpu(tmp_path: Path, references: Path) -> None:
    write(tmp_path, "three", "cuda (a GPU)", 7.0)
    record_costs(tmp_path / "results", references)
    assert read_costs(references) == {}
    write(tmp_path, "one", "cpu", 30.0)
    write(tmp_path, "two", "cpu", 50.0)
    record_costs(tmp_path / "results", references)
    cost = read_costs(references)["exp99"]
    assert (cost.seconds, cost.steps) == (80.0, 400)
