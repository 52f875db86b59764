"""The cost of the reference runs: what a dry run expects, and what ``verify --record`` writes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from journeylab.config import Frozen, RunSettings, UserError, build
from journeylab.records.files import read_json, write_json
from journeylab.records.live import training_steps
from journeylab.records.looks import SeedRange
from journeylab.records.plans import Plan
from journeylab.records.runs import find_runs, read_host, read_run
from journeylab.records.stages import STAGES
from journeylab.wording.costs import seconds_of

COSTS = "costs.json"


class StudyCost(Frozen):
    """CPU-seconds of all runs of a study, and the training steps in them (over all seeds)."""

    seconds: float
    steps: int


class Costs(Frozen):
    """The cost of every study with a reference."""

    studies: Mapping[str, StudyCost] = {}


def read_costs(references: Path) -> Mapping[str, StudyCost]:
    """The recorded costs by study; empty if none are recorded."""
    path = references / COSTS
    if not path.exists():
        return {}
    return build(Costs, read_json(path, sealed=False), str(path)).studies


def record_costs(results: Path, references: Path) -> None:
    """Update the costs of all studies with results, if the folder of references keeps costs.

    Runs on a GPU are left out: the time of their host says nothing about steps on a CPU.
    """
    if not (references / COSTS).exists():
        return
    costs = dict(read_costs(references))
    for folder in sorted(path for path in results.glob("exp*") if path.is_dir()):
        seconds, steps = 0.0, 0
        for run in find_runs(results.parent, folder.name):
            try:
                record, host = read_run(run), read_host(run)
            except UserError:
                continue
            if record.device != "cpu":
                continue
            seconds += host.cost.cpu_seconds
            if record.kind == "trained":
                steps += training_steps(record.settings, len(record.seeds))
        if seconds:
            costs[folder.name] = StudyCost(seconds=round(seconds, 1), steps=steps)
    write_json(references / COSTS, Costs(studies=costs), sealed=False)


def expected_seconds(
    cost: StudyCost, runs: Sequence[tuple[RunSettings, float]], reference: int
) -> float:
    """The CPU-seconds of runs with these numbers of seeds, at the rate of the reference runs.

    Training steps decide; where nothing is trained, a reference run is taken to have ``reference``
    seeds, and to cost as much as any other.
    """
    if cost.steps:
        trained = [(run, seeds) for run, seeds in runs if not run.computed]
        steps: float = sum(training_steps(run.settings, 1) * seeds for run, seeds in trained)
        return cost.seconds / cost.steps * steps
    sizes = (1.0 if run.once else seeds / reference for run, seeds in runs)
    return cost.seconds * sum(sizes) / len(runs)


def outline(
    plans: Iterable[tuple[str, Plan]], cost: StudyCost | None, seeds: SeedRange
) -> dict[str, Any]:
    """The jobs of a study and their expected cost, for the summary of a dry run.

    ``plans`` are all plans by their paths. Jobs of later looks are left out: which of them run
    depends on the claims that are open after the looks before; all of them cost ``later_seconds``.
    """
    counts: Counter[str] = Counter()
    steps: dict[str, int] = {}
    computed = later = later_computed = 0
    for path, plan in plans:
        if "seeds" in STAGES[plan.stage].wildcards and plan.seeds and plan.seeds[-1] >= seeds.first:
            later += training_steps(plan.settings, len(plan.seeds)) if plan.stage == "train" else 0
            later_computed += plan.stage == "compute"
            continue
        counts[f"{plan.stage} {plan.arm or ''}".strip()] += 1
        computed += plan.stage == "compute"
        if plan.stage == "train":
            steps[path] = training_steps(plan.settings, len(plan.seeds or ()))
    trained = cost is not None and cost.steps > 0
    rates = {
        "seconds_per_step": cost.seconds / cost.steps if cost and trained else None,
        "seconds_per_job": cost.seconds / max(computed, 1) if cost and not trained else None,
    }
    more = seconds_of(later, later_computed, rates)
    return {"jobs": dict(counts), "steps": steps, **rates, "later_seconds": more}
