"""The cost of the reference runs: what a dry run expects, and what ``verify --record`` writes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from journeylab.config import Frozen, UserError, build
from journeylab.records.files import read_json, write_json
from journeylab.records.runs import find_runs, read_host, read_run

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
    """Update the costs of all studies with results, if the folder of references keeps costs."""
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
            seconds += host.cost.cpu_seconds
            training = record.settings.get("training", {}) if record.kind == "trained" else {}
            steps += training.get("steps", 0) * len(record.seeds)
        if seconds:
            costs[folder.name] = StudyCost(seconds=round(seconds, 1), steps=steps)
    write_json(references / COSTS, Costs(studies=costs), sealed=False)
