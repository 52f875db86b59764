"""Join all measurements of a study into one tidy table."""

from __future__ import annotations

from journeylab.chunks.tables import joined
from journeylab.records.files import MEASUREMENTS, read_table, write_table
from journeylab.stages.running import Call
from journeylab.stages.taken import taken_runs


def run(call: Call) -> None:
    """plan, looks, folder of runs → the measurements of all runs, in the order of the plan."""
    runs = taken_runs(call)
    folder = call.file("runs")
    paths = {name: folder / name / MEASUREMENTS for name in runs}
    tables = [read_table(paths[name], key) for name, key in runs.items()]
    write_table(call.output, joined(tables), call.plan.origin(**paths))
