"""``journeylab status``: the answers of all studies, and their verdicts counted by theorem."""

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from journeylab.catalogue import printed_names
from journeylab.claims.schema import Register
from journeylab.claims.theorems import Theorems, read_theorems
from journeylab.commands import results
from journeylab.config import UserError
from journeylab.reports.numbers import UNJUDGED
from journeylab.reports.summary import HEAD, TheoremCounts, count_outcomes
from journeylab.wording.rows import StudyRows
from journeylab.wording.verdicts import capital, checks_text

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
    theorems = read_theorems(results.CLAIMS)
    known = [] if reference else list(_of_results(root, register, theorems))
    recorded = not known
    if not known:
        rows_of = (results.reference_rows(study, register) for study in register.studies)
        known = [rows.completed({}, theorems) for rows in rows_of if rows]
        if not reference:
            typer.echo(results.RECORDED, err=True)
    if not known:
        raise UserError(
            f"{results.REFERENCES}: no verdicts of this register; `make all` makes them"
        )
    judged = {of["study"]: of for of in _studies(known)}
    names = register.studies if recorded else judged
    studies = [judged.get(study) or _study(study, f"{capital(UNJUDGED)}.", []) for study in names]
    if json:
        results.print_json("status", studies=studies, theorems=_counted(known))
        return
    if only != "theorems":
        typer.echo("\n".join(_answers(studies, markdown=markdown)))
    if only is None:
        typer.echo()
    if only != "answers":
        typer.echo("\n".join(_theorems(known, markdown=markdown)))


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


def _studies(known: list[StudyRows]) -> Iterator[dict[str, Any]]:
    """Every study with results."""
    for rows in known:
        claims = [{"id": row.id, "outcome": row.outcome} for row in rows.judged]
        yield _study(rows.study, results.answer_text(rows), claims)


def _counted(known: list[StudyRows]) -> list[dict[str, Any]]:
    """The counts by theorem as ``--json`` prints them."""
    columns = ("document", "corrected", "certificates")
    return [
        {"theorem": group.label, "name": group.name, "studies": group.studies}
        | {name: dict(cell) for name, cell in zip(columns, group.cells, strict=True)}
        for group in _groups(known)
    ]


def _groups(known: list[StudyRows]) -> list[TheoremCounts]:
    return count_outcomes(row for rows in known for row in rows.judged)


def _theorems(known: list[StudyRows], *, markdown: bool) -> Iterator[str]:
    """The counts of outcomes by theorem, and the checks of code apart."""
    lines = [
        (group.name, *(_counts(cell) for cell in group.cells), ", ".join(group.studies))
        for group in _groups(known)
    ]
    yield results.printed_table((*HEAD, "Studies"), lines, markdown=markdown)
    if checks := checks_text([row for rows in known for row in rows.checks]):
        yield ""
        yield checks


def _of_results(root: Path, register: Register, theorems: Theorems) -> Iterator[StudyRows]:
    """The rows of all results, with their registrations."""
    for study in results.judged_studies(root):
        verdicts = results.read_rows(root, study, register)
        records = results.judged_records(root, verdicts)
        registered = results.current_registrations(root, study, register, records)
        yield verdicts.completed(registered, theorems)


def _counts(cell: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{number} {word}" for word, number in cell) or "–"
