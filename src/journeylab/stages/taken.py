"""The runs that the looks of a study have taken so far."""

from __future__ import annotations

from collections.abc import Mapping

from journeylab.config import UserError, build
from journeylab.records.files import read_json
from journeylab.records.looks import LookRecord, SeedRange, seeds_taken
from journeylab.records.plans import LOOK
from journeylab.stages.running import Call


def taken_runs(call: Call) -> Mapping[str, str]:
    """The runs of a plan that the looks before it have taken, with their keys.

    A plan without looks takes all of its runs.
    """
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
