"""Answer the reviewers' points with the verdicts of all studies."""

from journeylab.claims.response import Response, rows_of, unasked
from journeylab.claims.round import read_round
from journeylab.claims.schema import Register
from journeylab.records.files import sha256, write_atomic, write_folder, write_json
from journeylab.reports.response.describe import describe_response, figure_files
from journeylab.reports.response.forms import plain_text, write_archive, write_latex
from journeylab.reports.typeset import compile_pdf
from journeylab.stages.judged import read_judged
from journeylab.stages.running import Call


def run(call: Call) -> None:
    """plan, results, drawn folders → response.json; beside it .pdf, .md, .tar.gz and latex/."""
    plan, reports = call.plan, call.output.parent
    response = Response.model_validate(plan.settings["response"])
    register = Register.model_validate(plan.settings["register"])
    studies = read_judged(call)
    known = {study.study for study in studies}
    since = plan.settings["since"]
    described = describe_response(
        [(point, rows_of(point, register)) for point in response.points],
        studies,
        title=response.title,
        about=response.about,
        unasked=[row for row in unasked(response, register) if row.partition(".")[0] in known],
        plan_key=plan.key,
        anonymous=plan.settings["anonymous"],
        moved_on=plan.settings["moved_on"],
        review=read_round(call.file("round")) if since else None,
    )
    with write_folder(reports / "latex", plan.origin()) as folder:
        write_latex(described, studies, folder)
    write_archive(reports / "latex", reports / "response.tar.gz")
    with write_atomic(reports / "response.md") as partial:
        partial.write_text(plain_text(described, response.characters), encoding="utf-8")
    figures = figure_files(described, studies)
    compile_pdf("response", described, figures, reports / "response.pdf", "response.typ")
    made = ("latex/manifest.json", "response.md", "response.pdf", "response.tar.gz")
    hashes = {name: sha256(reports / name) for name in made}
    write_json(call.output, {"files": hashes, "response": described}, origin=plan.origin())
