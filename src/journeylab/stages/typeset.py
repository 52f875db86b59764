"""Typeset a study's report."""

from journeylab import catalogue
from journeylab.claims.schema import Register
from journeylab.config import UserError
from journeylab.records.files import MANIFEST, read_origin, sha256
from journeylab.records.repair import remake
from journeylab.reports.typeset import compile_report, describe
from journeylab.stages.judged import judged_study
from journeylab.stages.running import Call
from journeylab.wording.queries import cited


def run(call: Call) -> None:
    """plan, history, verdicts, manifest of the drawn folder, runs → PDF; same input, same bytes.

    Raises UserError for an input that is missing, damaged or of another plan, and for prose that
    Typst refuses.
    """
    plan = call.plan
    verdicts, content = call.file("verdicts"), call.file("manifest").parent
    register = Register.model_validate(plan.settings["register"])
    study = judged_study(plan, register, verdicts, content, call.file("history"), call.file("runs"))
    drawn = read_origin(content / MANIFEST)
    if drawn is None or drawn.inputs["verdicts"] != sha256(verdicts):
        raise UserError(
            f"{content} was drawn from other verdicts than {verdicts} holds; "
            f"`{remake(content / MANIFEST)}` draws it again"
        )
    prose = catalogue.prose(plan.study)
    report = describe(
        study,
        plan.settings["settings"],
        code=plan.settings["code"],
        forms=cited(prose),
        plan_key=plan.key,
        anonymous=plan.settings["anonymous"],
    )
    compile_report(report, content, prose, call.output)
