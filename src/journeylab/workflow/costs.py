"""The cost of the reference runs: what a dry run expects, and what ``verify --record`` writes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from journeylab.config import Frozen, RunSettings, UserError, build
from journeylab.records.files import read_json, write_json
from journeylab.records.live import training_steps
from journeylab.records.plans import Plan
from journeylab.records.runs import find_runs, read_host, read_run
from journeylab.records.stages import STAGES
from journeylab.wording.costs import Outline

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


def outline(plans: Iterable[tuple[str, Plan]], cost: StudyCost | None, beyond: float) -> Outline:
    """The jobs of a study and their expected cost; ``plans`` are all plans by their paths.

    Which jobs of later looks, whose seeds reach ``beyond``, run depends on the claims that are open
    after the looks before.
    """
    known = dict(plans)
    later = {
        path
        for path, plan in known.items()
        if "seeds" in STAGES[plan.stage].wildcards and plan.seeds and plan.seeds[-1] >= beyond
    }
    steps = {
        path: training_steps(plan.settings, len(plan.seeds or ()))
        for path, plan in known.items()
        if plan.stage == "train"
    }
    seconds: dict[str, float] = {}
    if cost and cost.steps:
        seconds = {path: cost.seconds / cost.steps * number for path, number in steps.items()}
    elif cost:
        computed = [path for path, plan in known.items() if plan.stage == "compute"]
        first = [path for path in computed if path not in later]
        seconds = dict.fromkeys(computed, cost.seconds / max(len(first), 1))
    jobs = Counter(
        f"{plan.stage} {plan.arm or ''}".strip()
        for path, plan in known.items()
        if path not in later
    )
    return Outline(jobs, steps, seconds, sum(seconds.get(path, 0.0) for path in later))
