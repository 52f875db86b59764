"""The runs that the looks of a study have taken so far."""

from __future__ import annotations

from collections.abc import Mapping

from journeylab.config import UserError, build
from journeylab.records.files import read_json
from journeylab.records.looks import LookRecord, SeedRange
from journeylab.records.plans import LOOK
from journeylab.stages.running import Call


def taken_runs(call: Call) -> Mapping[str, str]:
    """The runs of a plan that the looks before it have taken, with their keys.

    Looks are read in order, up to the first after which no run goes on. A plan without looks takes
    all of its runs; before the first look, they are those of the first look.
    """
    known, inputs = dict(call.plan.runs), call.plan.inputs
    files = {int(path.stem): path for path in call.files.get("looks", ())}
    looks = [int(name.removeprefix(LOOK)) for name in inputs if name.startswith(LOOK)]
    taken: SeedRange | None = None
    for n in sorted(looks):
        if (path := files.get(n)) is None:
            raise UserError(f"{call.plan.label}: --looks: the look at {n} seeds is missing")
        record = build(LookRecord, read_json(path, inputs[f"{LOOK}{n}"]), str(path))
        taken = record.taken
        if not record.goes_on:
            break
    return {name: known[name] for name in (taken.select(known) if taken else known)}
