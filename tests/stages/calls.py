"""How tests call a stage."""

from pathlib import Path

from journeylab.records.cost import start_counting
from journeylab.records.plans import Plan
from journeylab.records.runs import RunStart
from journeylab.stages.running import Call

from ..made import STARTED


def call(plan: Plan, output: Path, progress: Path | None = None, **files: Path) -> Call:
    """The call of a stage with one file for each option."""
    start = RunStart(plan_key=plan.key, started=STARTED)
    given = {name: [path] for name, path in files.items()}
    return Call(plan, output, start, start_counting(), given, progress)
