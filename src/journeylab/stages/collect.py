"""Join all measurements of a study into one tidy table."""

from journeylab.records.files import write_table
from journeylab.stages.running import Call
from journeylab.stages.taken import read_taken


def run(call: Call) -> None:
    """plan, looks, folder of runs → the measurements of all runs, in the order of the plan."""
    _, table, origin = read_taken(call)
    write_table(call.output, table, origin)
