"""Runs that are computed: seed by seed and resumable, or once."""

from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest

from journeylab import catalogue
from journeylab.config import Frozen
from journeylab.records.cost import start_counting
from journeylab.records.files import read_table
from journeylab.records.plans import Plan
from journeylab.records.runs import RunStart, read_host, read_run
from journeylab.stages import compute
from journeylab.stages.running import Call
from journeylab.streams import Streams


class Simulation:
    """A study's compute.py: one number per seed, from its streams; stops at a seed, if asked."""

    def __init__(self) -> None:
        self.asked: list[int | None] = []
        self.stops_at: int | None = None

    def compute(self, job: Frozen, streams: Streams | None) -> pd.DataFrame:
        seed = streams.seed if streams else None
        if seed is not None and seed == self.stops_at:
            raise KeyboardInterrupt
        self.asked.append(seed)
        generator = (streams or Streams("exp0", -1)).generator("noise")
        return pd.DataFrame([{"metric": "bias", "scale": "1", "value": generator.initial_seed()}])


@pytest.fixture
def simulation(monkeypatch: pytest.MonkeyPatch) -> Simulation:
    found = Simulation()
    monkeypatch.setattr(catalogue, "compute_part", lambda study: found)
    monkeypatch.setattr(catalogue, "computation", lambda study, settings: Frozen())
    return found


def run(folder: Path, seeds: tuple[int, ...] | None, draws: int = 1) -> Plan:
    plan = Plan(
        stage="compute", study="exp5", arm="a", variant="b", seeds=seeds, settings={"draws": draws}
    )
    call = Call(
        plan,
        folder / "run.json",
        RunStart(plan_key=plan.key, started=datetime.now(UTC)),
        start_counting(),
    )
    compute.run(call)
    return plan


def test_every_seed_has_its_rows_and_its_key(tmp_path: Path, simulation: Simulation) -> None:
    plan = run(tmp_path, (100, 101, 102))
    table = read_table(tmp_path / "measurements.parquet", plan.key)
    assert table["seed"].tolist() == [100, 101, 102]
    assert table["value"].nunique() == 3
    record = read_run(tmp_path, plan.key)
    assert (record.kind, record.training) == ("computed", None)
    assert len({seed.run_key for seed in record.seeds}) == 3


def test_what_is_computed_once_has_no_seed(tmp_path: Path, simulation: Simulation) -> None:
    plan = run(tmp_path, None)
    assert read_table(tmp_path / "measurements.parquet", plan.key)["seed"].isna().all()
    assert read_run(tmp_path).seeds == ()
    assert simulation.asked == [None]
    assert read_host(tmp_path).timings == {}


def test_times_are_of_the_host_and_in_no_identity(
    tmp_path: Path, simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path / "untimed", None)
    monkeypatch.setattr(simulation, "time_forms", lambda job: {"ratio": 3.0}, raising=False)
    run(tmp_path / "timed", None)
    assert read_host(tmp_path / "timed").timings == {"ratio": 3.0}
    for name in ("measurements.parquet", "run.json"):
        untimed, timed = (tmp_path / place / name for place in ("untimed", "timed"))
        assert untimed.read_bytes() == timed.read_bytes()


def test_what_a_study_times_is_in_the_record_of_the_host_alone(
    tmp_path: Path, simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, spent in (("first", 1.5), ("second", 2.5)):
        timed = {"scan.20": spent}
        monkeypatch.setattr(simulation, "time_forms", lambda job, timed=timed: timed, raising=False)
        run(tmp_path / folder, None)
        assert read_host(tmp_path / folder).timings == timed
    for name in ("measurements.parquet", "run.json"):
        first, second = (tmp_path / folder / name for folder in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()


def test_a_stopped_job_goes_on_after_the_last_seed(tmp_path: Path, simulation: Simulation) -> None:
    simulation.stops_at = 102
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "stopped", (100, 101, 102, 103))
    assert not (tmp_path / "stopped/run.json").exists()
    simulation.stops_at, simulation.asked = None, []
    run(tmp_path / "stopped", (100, 101, 102, 103))
    assert simulation.asked == [102, 103]
    run(tmp_path / "whole", (100, 101, 102, 103))
    names = {path.name for path in (tmp_path / "stopped").iterdir()}
    assert names == {"measurements.parquet", "run.json", "run.host.json"}
    for name in ("measurements.parquet", "run.json"):
        stopped, whole = (tmp_path / place / name for place in ("stopped", "whole"))
        assert stopped.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("damage", ["another plan", "a flipped byte"])
def test_leftovers_that_are_not_ours_are_computed_again(
    tmp_path: Path, simulation: Simulation, damage: str
) -> None:
    simulation.stops_at = 101
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, (100, 101))
    if damage == "a flipped byte":
        [partial] = tmp_path.glob("*.partial.parquet")
        content = bytearray(partial.read_bytes())
        content[len(content) // 2] ^= 1
        partial.write_bytes(bytes(content))
    simulation.stops_at, simulation.asked = None, []
    run(tmp_path, (100, 101), draws=2 if damage == "another plan" else 1)
    assert simulation.asked == [100, 101]
