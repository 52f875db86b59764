"""Hold a study's measurements against its registered claims."""

from journeylab.claims.judging import judge
from journeylab.claims.schema import Criteria
from journeylab.records.files import read_table, write_json
from journeylab.stages.running import Call


def run(call: Call) -> None:
    """plan, measurements → verdicts."""
    plan = call.plan
    measurements = call.file("measurements")
    verdicts = judge(
        read_table(measurements, plan.inputs["measurements"]),
        plan.study,
        Criteria.model_validate(plan.settings["criteria"]),
        seeds=plan.seeds or (),
        scale=plan.settings["scale"],
        planned=dict(plan.runs),
    )
    write_json(call.output, verdicts, origin=plan.origin(measurements=measurements))
