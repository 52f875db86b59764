"""Join all measurements of a study into one tidy table."""

from __future__ import annotations

from journeylab.chunks.tables import joined
from journeylab.records.files import MEASUREMENTS, read_table, write_table
from journeylab.stages.running import Call


def run(call: Call) -> None:
    """plan, results → the measurements of all runs, in the order of the plan."""
    plan, results = call.plan, call.read_from
    paths = {name: results / name / MEASUREMENTS for name, _ in plan.runs}
    tables = [read_table(paths[name], key) for name, key in plan.runs]
    write_table(call.output, joined(tables), plan.origin(**paths))
