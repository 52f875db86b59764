"""Join all measurements of a study into one tidy table: of the runs that its looks have taken."""

from collections.abc import Mapping

import pandas as pd

from journeylab.chunks.tables import joined
from journeylab.config import UserError, build
from journeylab.records.files import MEASUREMENTS, Origin, read_json, read_table, write_table
from journeylab.records.looks import LookRecord, SeedRange, seeds_taken
from journeylab.records.plans import LOOK
from journeylab.stages.running import Call


def run(call: Call) -> None:
    """plan, looks, folder of runs → the measurements of all runs, in the order of the plan."""
    _, table, origin = read_taken(call)
    write_table(call.output, table, origin)


def read_taken(call: Call) -> tuple[Mapping[str, str], pd.DataFrame, Origin]:
    """The runs that the looks have taken, their measurements, and the origin of what reads them."""
    runs, folder = _taken_runs(call), call.file("runs")
    paths = {name: folder / name / MEASUREMENTS for name in runs}
    tables = [read_table(paths[name], key) for name, key in runs.items()]
    return runs, joined(tables), call.plan.origin(**paths)


def _taken_runs(call: Call) -> Mapping[str, str]:
    """The runs of a plan that the looks before it have taken, with keys; all if it has no looks."""
    known, inputs = dict(call.plan.runs), call.plan.inputs
    files = {int(path.stem): path for path in call.files.get("looks", ())}
    looks = sorted(int(name.removeprefix(LOOK)) for name in inputs if name.startswith(LOOK))

    def read(n: int, _: SeedRange) -> LookRecord:
        if (path := files.get(n)) is None:
            raise UserError(f"{call.plan.label}: --looks: the look at {n} seeds is missing")
        return build(LookRecord, read_json(path, inputs[f"{LOOK}{n}"]), str(path))

    if not looks:
        return known
    taken = seeds_taken(looks, SeedRange(first=0), read)
    return {name: known[name] for name in taken.select(known)}
