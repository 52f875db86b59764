"""Typeset a study's report."""

from journeylab import catalogue
from journeylab.claims.registration import read_history, registrations
from journeylab.claims.schema import Register
from journeylab.claims.theorems import Theorems
from journeylab.config import UserError
from journeylab.records.files import MANIFEST, read_json, read_origin, sha256, verify
from journeylab.records.repair import remake
from journeylab.reports.answers import Answer
from journeylab.reports.typeset import compile_report, describe
from journeylab.stages.judged import read_records, read_rows
from journeylab.stages.running import Call
from journeylab.wording.queries import cited


def run(call: Call) -> None:
    """plan, history, verdicts, manifest of the drawn folder, runs → PDF; same input, same bytes.

    Raises UserError for an input that is missing, damaged or of another plan, and for prose that
    Typst refuses.
    """
    plan = call.plan
    verdicts, content = call.file("verdicts"), call.file("manifest").parent
    verify(content, plan.inputs["content"])
    drawn = read_origin(content / MANIFEST)
    names = read_json(content / "content.json")
    judged = read_rows(verdicts, plan.inputs["verdicts"], plan, names)
    if drawn is None or drawn.inputs["verdicts"] != sha256(verdicts):
        raise UserError(
            f"{content} was drawn from other verdicts than {verdicts} holds; "
            f"`{remake(content / MANIFEST)}` draws it again"
        )
    records = read_records(call.file("runs"), judged.select(plan.runs))
    register = Register.model_validate(plan.settings["register"])
    history = read_history(call.file("history"))
    answer = plan.settings["answer"]
    prose = catalogue.prose(plan.study)
    registered = registrations(register, plan.study, records, history)
    report = describe(
        judged.completed(registered, Theorems.model_validate(plan.settings["theorems"])),
        plan.settings["settings"],
        content,
        records,
        authored=Answer.model_validate(answer) if answer else None,
        code=plan.settings["code"],
        forms=cited(prose),
        plan_key=plan.key,
        anonymous=plan.settings["anonymous"],
    )
    compile_report(report, content, prose, call.output)
