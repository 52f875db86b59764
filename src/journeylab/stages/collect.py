"""Join everything measured in a study into one tidy table."""

from __future__ import annotations

from journeylab.records.files import MEASUREMENTS, read_table, write_table
from journeylab.stages.running import Call
from journeylab.stages.tables import joined


def run(call: Call) -> None:
    """plan, results → all measurements of its runs, in the order of the plan."""
    plan, results = call.plan, call.read_from
    paths = {name: results / name / MEASUREMENTS for name, _ in plan.runs}
    tables = [read_table(paths[name], key) for name, key in plan.runs]
    write_table(call.output, joined(tables), plan.origin(**paths))
