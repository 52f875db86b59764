"""An interim analysis: which claims are still open, and which runs go on to the next look."""

from __future__ import annotations

from journeylab.chunks.tables import joined
from journeylab.claims.judge import judge_look
from journeylab.claims.register import Criteria
from journeylab.records.files import MEASUREMENTS, read_table, write_json
from journeylab.records.looks import seeded_runs
from journeylab.stages.running import Call
from journeylab.stages.taken import taken_runs


def run(call: Call) -> None:
    """plan, looks before, folder of runs → the record of this look."""
    plan, folder = call.plan, call.file("runs")
    runs = taken_runs(call)
    paths = {name: folder / name / MEASUREMENTS for name in runs}
    tables = [read_table(paths[name], key) for name, key in runs.items()]
    record = judge_look(
        joined(tables),
        plan.study,
        Criteria.model_validate(plan.settings["criteria"]),
        plan.seeds or (),
        seeded_runs(runs),
    )
    write_json(call.output, record, origin=plan.origin(**paths))
    print(f"{plan.study}: {record.summary}", flush=True)
