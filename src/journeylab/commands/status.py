"""``journeylab status``: the answers of all studies, and their verdicts counted by theorem."""

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from journeylab.catalogue import printed_names
from journeylab.claims.schema import Register
from journeylab.commands import results
from journeylab.config import UserError
from journeylab.records.verdicts import Registration
from journeylab.reports.summary import HEAD, TheoremCounts, count_outcomes
from journeylab.wording.placeholders import UNJUDGED
from journeylab.wording.rows import StudyRows
from journeylab.wording.verdicts import capital, checks_text, outcome

Part = Literal["answers", "theorems"]


def status(
    root: Annotated[Path, results.ROOT] = Path(),
    reference: Annotated[bool, typer.Option(help="Show the references instead.")] = False,
    only: Annotated[Part | None, typer.Option(help="One of the two parts.")] = None,
    markdown: Annotated[bool, typer.Option(help="Print Markdown tables.")] = False,
    json: Annotated[bool, results.JSON] = False,
) -> None:
    """Show the answer of every study, and count its verdicts by theorem."""
    register = results.current_register()
    known = [] if reference else list(_of_results(root, register))
    if recorded := not known:
        rows_of = (results.reference_rows(study, register) for study in register.studies)
        known = [(rows, {}) for rows in rows_of if rows]
        if not reference:
            typer.echo(results.RECORDED, err=True)
    if not known:
        raise UserError(
            f"{results.REFERENCES}: no verdicts of this register; `make all` makes them"
        )
    theorems, judged, outcomes = results.printed_theorems(), {}, []
    for rows, registered in known:
        words = [(row, outcome(row, registered)) for row in rows.judged]
        claims = [{"id": row.id, "outcome": word} for row, word in words]
        answer = results.answer_text(rows, registered, theorems)
        judged[rows.study] = _study(rows.study, answer, claims)
        outcomes += words
    groups = count_outcomes(outcomes, theorems)
    names = register.studies if recorded else judged
    studies = [judged.get(study) or _study(study, f"{capital(UNJUDGED)}.", []) for study in names]
    if json:
        results.print_json("status", studies=studies, theorems=list(map(_counted, groups)))
        return
    if only != "theorems":
        typer.echo("\n".join(_answers(studies, markdown=markdown)))
    if only is None:
        typer.echo()
    if only != "answers":
        lines = [
            (group.name, *(_counts(cell) for cell in group.cells), ", ".join(group.studies))
            for group in groups
        ]
        typer.echo(results.printed_table((*HEAD, "Studies"), lines, markdown=markdown))
        if checks := checks_text([row for rows, _ in known for row in rows.checks]):
            typer.echo(f"\n{checks}")


def _answers(studies: list[dict[str, Any]], *, markdown: bool) -> Iterator[str]:
    """Question and answer of every study."""
    if markdown:
        linked = [
            (f"[{of['title'].partition(':')[0]}](docs/gallery/{of['study']}.pdf)", of["answer"])
            for of in studies
        ]
        yield results.printed_table(("Study", "Answer"), linked, markdown=True)
        return
    for of in studies:
        yield from textwrap.wrap(f"{of['study']}: {of['question']}", 96)
        yield from textwrap.wrap(of["answer"], 96, initial_indent="    ", subsequent_indent="    ")


def _study(study: str, answer: str, claims: list[dict[str, str]]) -> dict[str, Any]:
    """A study as ``--json`` prints it; one without a reference of its revision has no claims."""
    named = printed_names(study).model_dump(include={"title", "question"})
    return {"study": study, **named, "answer": answer, "claims": claims}


def _counted(group: TheoremCounts) -> dict[str, Any]:
    """The counts of a theorem as ``--json`` prints them."""
    columns = ("document", "corrected", "certificates")
    cells = {name: dict(cell) for name, cell in zip(columns, group.cells, strict=True)}
    return {"theorem": group.label, "name": group.name, "studies": group.studies, **cells}


def _of_results(
    root: Path, register: Register
) -> Iterator[tuple[StudyRows, Mapping[str, Registration]]]:
    """The rows of all results, with their registrations."""
    for study in results.judged_studies(root):
        verdicts = results.read_rows(root, study, register)
        records = results.judged_records(root, verdicts)
        yield verdicts, results.current_registrations(root, study, register, records)


def _counts(cell: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{number} {word}" for word, number in cell) or "–"
