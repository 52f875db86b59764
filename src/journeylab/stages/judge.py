"""Hold a study's measurements against its registered claims."""

from __future__ import annotations

from journeylab.claims.judge import judge_study
from journeylab.claims.reference import Reference, attach_earlier
from journeylab.claims.register import Register
from journeylab.records.files import read_table, write_json
from journeylab.stages.running import Call


def run(call: Call) -> None:
    """plan, measurements → verdicts."""
    plan = call.plan
    measurements = call.file("measurements")
    register = Register.model_validate(plan.settings["register"])
    verdicts = judge_study(
        read_table(measurements, plan.inputs["measurements"]),
        plan.study,
        register,
        seeds=plan.seeds or (),
        scale=plan.settings["scale"],
        evidence=plan.settings["scale"] != "quick",
        labels=plan.settings["labels"],
        arms=plan.settings.get("arms", {}),
    )
    if plan.settings["earlier"] is not None:
        earlier = Reference.model_validate(plan.settings["earlier"])
        verdicts = attach_earlier(verdicts, register.studies[plan.study], earlier)
    write_json(call.output, verdicts, origin=plan.origin(measurements=measurements))
