"""``journeylab status``: the answers of all studies, and their verdicts counted by theorem."""

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import typer

from journeylab.catalogue import printed_names
from journeylab.claims.schema import Register
from journeylab.commands.results import (
    RECORDED,
    REFERENCES,
    ROOT,
    answer_text,
    current_register,
    current_registrations,
    judged_records,
    judged_studies,
    printed_table,
    printed_theorems,
    read_rows,
    reference_rows,
)
from journeylab.config import UserError
from journeylab.records.verdicts import Registration
from journeylab.reports.summary import HEAD, count_outcomes
from journeylab.wording.rows import StudyRows
from journeylab.wording.verdicts import checks_text, outcome

Part = Literal["answers", "theorems"]


class _Known(NamedTuple):
    rows: StudyRows
    registered: Mapping[str, Registration]


def status(
    root: Annotated[Path, ROOT] = Path(),
    reference: Annotated[bool, typer.Option(help="Show the references instead.")] = False,
    only: Annotated[Part | None, typer.Option(help="One of the two parts.")] = None,
    markdown: Annotated[bool, typer.Option(help="Print Markdown tables.")] = False,
) -> None:
    """Show the answer of every study, and count its verdicts by theorem."""
    register = current_register()
    known = [] if reference else list(_of_results(root, register))
    if not known:
        known = list(_of_references(register))
        if not reference:
            typer.echo(RECORDED, err=True)
    if not known:
        raise UserError(f"{REFERENCES}: no verdicts of this register; `make all` makes them")
    if only != "theorems":
        typer.echo("\n".join(_answers(known, markdown=markdown)))
    if only is None:
        typer.echo()
    if only != "answers":
        typer.echo("\n".join(_theorems(known, markdown=markdown)))


def _answers(known: list[_Known], *, markdown: bool) -> Iterator[str]:
    """Question and answer of every study."""
    theorems = printed_theorems()
    lines = []
    for rows, registered in known:
        study = rows.study
        text = answer_text(rows, registered, theorems)
        words = printed_names(study)
        lines.append((study, words.title, words.question, text))
    if markdown:
        linked = [
            (f"[{title.partition(':')[0]}](docs/gallery/{study}.pdf)", text)
            for study, title, _, text in lines
        ]
        yield printed_table(("Study", "Answer"), linked, markdown=True)
        return
    for study, _, question, text in lines:
        yield from textwrap.wrap(f"{study}: {question}", 96)
        yield from textwrap.wrap(text, 96, initial_indent="    ", subsequent_indent="    ")


def _theorems(known: list[_Known], *, markdown: bool) -> Iterator[str]:
    """The counts of outcomes by theorem, and the checks of code apart."""
    rows = [(row, outcome(row, each.registered)) for each in known for row in each.rows.judged]
    lines = [
        (group.name, *(_counts(cell) for cell in group.cells), ", ".join(group.studies))
        for group in count_outcomes(rows, printed_theorems())
    ]
    yield printed_table((*HEAD, "Studies"), lines, markdown=markdown)
    if checks := checks_text([row for each in known for row in each.rows.checks]):
        yield ""
        yield checks


def _of_results(root: Path, register: Register) -> Iterator[_Known]:
    """The rows of all results, with their registrations."""
    for study in judged_studies(root):
        verdicts = read_rows(root, study, register)
        records = judged_records(root, verdicts)
        yield _Known(verdicts, current_registrations(root, study, register, records))


def _of_references(register: Register) -> Iterator[_Known]:
    """The rows of the references that are of this revision."""
    for study in register.studies:
        if rows := reference_rows(study, register):
            yield _Known(rows, {})


def _counts(cell: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{number} {word}" for word, number in cell) or "–"
