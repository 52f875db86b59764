"""The runs that the looks of a study have taken so far."""

from __future__ import annotations

from collections.abc import Mapping

from journeylab.config import build
from journeylab.records.files import read_json
from journeylab.records.looks import FOLDER, LookRecord, SeedRange
from journeylab.records.plans import LOOK
from journeylab.stages.running import Call


def taken_runs(call: Call) -> Mapping[str, str]:
    """The runs of a plan that the looks before it have taken, with their keys.

    Looks are read in order, up to the first after which no run goes on. A plan without looks takes
    all of its runs; before the first look, they are those of the first look.
    """
    known = dict(call.plan.runs)
    looks = {name: key for name, key in call.plan.inputs.items() if name.startswith(LOOK)}
    taken: SeedRange | None = None
    for name, key in looks.items():
        path = call.read_from / FOLDER / f"{name.removeprefix(LOOK)}.json"
        record = build(LookRecord, read_json(path, key), str(path))
        taken = record.taken
        if not record.goes_on:
            break
    return {name: known[name] for name in (taken.select(known) if taken else known)}
