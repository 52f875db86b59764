"""Tables that every study has."""

from journeylab.records.plans import Plan
from journeylab.records.runs import RunRecord, SeedOutcome, Training, describe_run
from journeylab.reports.tables import fairness

from ..made import named


def run_of(arm: str, **data: int) -> RunRecord:
    settings = {"training": {"steps": 300, "learning_rate": 0.01}, "data": data}
    plan = Plan(stage="train", study="exp7", arm=arm, variant="A", seeds=(0, 1), settings=settings)
    outcomes = [SeedOutcome(seed=seed, status="finished") for seed in (0, 1)]
    cost = Training(parameters=10, flops=2e6, tokens=30)
    return describe_run(plan, inputs={}, outcomes=outcomes, files={}, training=cost)


def test_costs_are_per_world_and_worlds_are_counted_if_a_seed_has_several():
    single = fairness([run_of("one"), run_of("none", worlds=1)], named())
    assert "Worlds" not in single.frame
    assert "tokens and steps are per seed." in single.notes
    table = fairness([run_of("one"), run_of("four", worlds=4)], named())
    numbers = table.frame[["Seeds", "Worlds", "Steps"]].to_numpy().tolist()
    assert numbers == [["2", "1", "300"], ["2", "4", "300"]]
    assert "are per world of a seed." in table.notes
    assert {"Seeds", "Worlds"} <= set(table.numeric)
