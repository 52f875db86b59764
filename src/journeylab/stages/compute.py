"""Compute a run without training, seed by seed or once; a killed job resumes after a seed."""

from collections.abc import Callable

import pandas as pd

from journeylab import catalogue
from journeylab.chunks.compute import compute
from journeylab.chunks.tables import joined
from journeylab.config import UserError
from journeylab.parts import TimedPart
from journeylab.records import runs
from journeylab.records.files import MEASUREMENTS, read_table, sha256, write_table
from journeylab.stages.running import Call

PARTIAL = "seed-{:02d}.partial.parquet"


def run(call: Call) -> None:
    """plan → run.json, with measurements and run.host.json beside it."""
    plan, folder = call.plan, call.output.parent
    part = catalogue.compute_part(plan.study)
    job = catalogue.computation(plan.study, plan.settings)

    def rows(seed: int | None) -> pd.DataFrame:
        return compute(part, job, plan.run, seed)

    if plan.seeds is None:
        tables = [rows(None)]
    else:
        tables = [_resumed(call, seed, rows) for seed in plan.seeds]
    output = folder / MEASUREMENTS
    write_table(output, joined(tables), plan.origin())
    outcomes = [runs.SeedOutcome(seed=seed, status="finished") for seed in plan.seeds or ()]
    record = runs.describe_run(
        plan, inputs={}, outcomes=outcomes, files={output.name: sha256(output)}
    )
    # times of the forms that the study compares; they depend on the machine
    timings = part.time_forms(job) if isinstance(part, TimedPart) else {}
    runs.write_run(folder, record, call.host(outcomes, timings))
    for seed in plan.seeds or ():
        (folder / PARTIAL.format(seed)).unlink(missing_ok=True)


def _resumed(call: Call, seed: int, rows: Callable[[int], pd.DataFrame]) -> pd.DataFrame:
    """The rows of one seed; rows left behind by an earlier attempt of the same plan are reused."""
    partial = call.output.parent / PARTIAL.format(seed)
    if partial.exists():
        try:
            return read_table(partial, call.plan.key)
        except UserError:
            partial.unlink()
    table = rows(seed)
    write_table(partial, table, call.plan.origin())
    return table
