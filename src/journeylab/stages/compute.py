"""Compute a run without training, seed by seed or once; a killed job resumes after a seed."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from journeylab import catalogue
from journeylab.chunks.compute import compute
from journeylab.chunks.tables import joined
from journeylab.config import UserError
from journeylab.parts import TimedPart
from journeylab.records import runs
from journeylab.records.files import MEASUREMENTS, read_table, sha256, write_table
from journeylab.records.plans import Plan
from journeylab.stages.running import Call

PARTIAL = "seed-{:02d}.partial.parquet"


def run(call: Call) -> None:
    """plan → run.json, with measurements and run.host.json beside it."""
    plan, folder = call.plan, call.output.parent
    if plan.seeds is None:
        tables = [_compute(call, None)]
    else:
        tables = [_resumed(call, seed) for seed in plan.seeds]
    output = folder / MEASUREMENTS
    write_table(output, joined(tables), plan.origin())
    outcomes = [runs.SeedOutcome(seed=seed, status="finished") for seed in plan.seeds or ()]
    record = runs.describe_run(
        plan, inputs={}, outcomes=outcomes, files={output.name: sha256(output)}
    )
    runs.write_run(folder, record, call.host(outcomes, _timings(plan)))
    for seed in plan.seeds or ():
        (folder / PARTIAL.format(seed)).unlink(missing_ok=True)


def _resumed(call: Call, seed: int) -> pd.DataFrame:
    """The rows of one seed; rows left behind by an earlier attempt of the same plan are reused."""
    partial = call.output.parent / PARTIAL.format(seed)
    if partial.exists():
        try:
            return read_table(partial, call.plan.key)
        except UserError:
            partial.unlink()
    table = _compute(call, seed)
    write_table(partial, table, call.plan.origin())
    return table


def _timings(plan: Plan) -> Mapping[str, float]:
    """Times of the forms that the study compares; they depend on the machine."""
    part = catalogue.compute_part(plan.study)
    if not isinstance(part, TimedPart):
        return {}
    return part.time_forms(catalogue.computation(plan.study, plan.settings))


def _compute(call: Call, seed: int | None) -> pd.DataFrame:
    plan = call.plan
    job = catalogue.computation(plan.study, plan.settings)
    return compute(catalogue.compute_part(plan.study), job, plan.run, seed)
