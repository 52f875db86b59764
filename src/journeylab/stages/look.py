"""An interim analysis: which claims are still open, and which runs go on to the next look."""

from journeylab.claims.judging import judge_look
from journeylab.claims.schema import Criteria
from journeylab.records.files import write_json
from journeylab.stages.collect import read_taken
from journeylab.stages.running import Call


def run(call: Call) -> None:
    """plan, looks before, folder of runs → the record of this look."""
    plan = call.plan
    runs, table, origin = read_taken(call)
    record = judge_look(
        table,
        plan.study,
        Criteria.model_validate(plan.settings["criteria"]),
        plan.seeds or (),
        runs,
    )
    write_json(call.output, record, origin=origin)
    print(f"{plan.study}: {record.summary}", flush=True)
