"""Computed runs: per seed and resumable, or once without a seed."""

from pathlib import Path

import pandas as pd
import pytest

from journeylab import catalogue
from journeylab.config import Frozen
from journeylab.records.files import read_table
from journeylab.records.plans import Plan
from journeylab.records.runs import read_host, read_run
from journeylab.stages import compute
from journeylab.streams import Streams

from ..made import flip
from .calls import call


class Simulation:
    """Stands for a study's compute.py: one number per seed; can stop at a given seed."""

    def __init__(self) -> None:
        self.seeds: list[int | None] = []
        self.stops_at: int | None = None

    def compute(self, job: Frozen, streams: Streams | None) -> pd.DataFrame:
        seed = streams.seed if streams else None
        if seed is not None and seed == self.stops_at:
            raise KeyboardInterrupt
        self.seeds.append(seed)
        generator = (streams or Streams("exp0", -1)).generator("noise")
        return pd.DataFrame([{"metric": "bias", "scale": "1", "value": generator.initial_seed()}])


@pytest.fixture
def simulation(monkeypatch: pytest.MonkeyPatch) -> Simulation:
    part = Simulation()
    monkeypatch.setattr(catalogue, "compute_part", lambda study: part)
    monkeypatch.setattr(catalogue, "computation", lambda study, settings: Frozen())
    return part


def run(folder: Path, seeds: tuple[int, ...] | None, draws: int = 1) -> Plan:
    plan = Plan(
        stage="compute", study="exp5", arm="a", variant="b", seeds=seeds, settings={"draws": draws}
    )
    compute.run(call(plan, folder / "run.json"))
    return plan


def test_every_seed_has_rows_and_its_own_key(tmp_path: Path, simulation: Simulation) -> None:
    plan = run(tmp_path, (100, 101, 102))
    table = read_table(tmp_path / "measurements.parquet", plan.key)
    assert table["seed"].tolist() == [100, 101, 102]
    assert table["value"].nunique() == 3
    record = read_run(tmp_path, plan.key)
    assert (record.kind, record.training) == ("computed", None)
    assert len({seed.run_key for seed in record.seeds}) == 3


def test_a_single_computation_has_no_seed(tmp_path: Path, simulation: Simulation) -> None:
    plan = run(tmp_path, None)
    assert read_table(tmp_path / "measurements.parquet", plan.key)["seed"].isna().all()
    assert read_run(tmp_path).seeds == ()
    assert simulation.seeds == [None]
    assert read_host(tmp_path).timings == {}


def test_timing_changes_no_sealed_result(
    tmp_path: Path, simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path / "untimed", None)
    monkeypatch.setattr(simulation, "time_forms", lambda job: {"ratio": 3.0}, raising=False)
    run(tmp_path / "timed", None)
    assert read_host(tmp_path / "timed").timings == {"ratio": 3.0}
    for name in ("measurements.parquet", "run.json"):
        untimed, timed = (tmp_path / folder / name for folder in ("untimed", "timed"))
        assert untimed.read_bytes() == timed.read_bytes()


def test_a_stopped_job_resumes_after_the_last_finished_seed(
    tmp_path: Path, simulation: Simulation
) -> None:
    simulation.stops_at = 102
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "stopped", (100, 101, 102, 103))
    assert not (tmp_path / "stopped/run.json").exists()
    simulation.stops_at, simulation.seeds = None, []
    run(tmp_path / "stopped", (100, 101, 102, 103))
    assert simulation.seeds == [102, 103]
    run(tmp_path / "complete", (100, 101, 102, 103))
    names = {path.name for path in (tmp_path / "stopped").iterdir()}
    assert names == {"measurements.parquet", "run.json", "run.host.json"}
    for name in ("measurements.parquet", "run.json"):
        stopped, complete = (tmp_path / folder / name for folder in ("stopped", "complete"))
        assert stopped.read_bytes() == complete.read_bytes()


@pytest.mark.parametrize("damage", ["another plan", "a flipped byte"])
def test_stale_or_damaged_partial_results_are_computed_again(
    tmp_path: Path, simulation: Simulation, damage: str
) -> None:
    simulation.stops_at = 101
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, (100, 101))
    if damage == "a flipped byte":
        [partial] = tmp_path.glob("*.partial.parquet")
        flip(partial)
    simulation.stops_at, simulation.seeds = None, []
    run(tmp_path, (100, 101), draws=2 if damage == "another plan" else 1)
    assert simulation.seeds == [100, 101]
