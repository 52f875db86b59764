"""``journeylab status``: the answers of all studies, and their verdicts counted by theorem."""

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from journeylab.catalogue import printed_names
from journeylab.claims.theorems import read_theorems
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
    found = [] if reference else results.judged_studies(root)
    known = [results.judged_rows(root, study, register, theorems)[0] for study in found]
    if not found:
        rows_of = (results.reference_rows(study, register, theorems) for study in register.studies)
        known = [rows for rows in rows_of if rows]
        if not reference:
            typer.echo(results.RECORDED, err=True)
    if not known:
        raise UserError(
            f"{results.REFERENCES}: no verdicts of this register; `make all` makes them"
        )
    judged = {rows.study: rows for rows in known}
    studies = [_study(study, judged.get(study)) for study in found or register.studies]
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


def _study(study: str, rows: StudyRows | None) -> dict[str, Any]:
    """A study as ``--json`` prints it; one without a reference of its revision has no claims."""
    named = printed_names(study).model_dump(include={"title", "question"})
    answer = results.answer_text(rows) if rows else f"{capital(UNJUDGED)}."
    claims = [{"id": row.id, "outcome": row.outcome} for row in rows.judged] if rows else []
    return {"study": study, **named, "answer": answer, "claims": claims}


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


def _counts(cell: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{number} {word}" for word, number in cell) or "–"
