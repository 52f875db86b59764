"""``journeylab status``: the verdicts of all studies, counted by theorem."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from journeylab.commands.results import (
    REFERENCES,
    ROOT,
    current_register,
    judged_records,
    judged_studies,
    printed_table,
    printed_theorems,
    read_rows,
)
from journeylab.config import UserError

if TYPE_CHECKING:
    from journeylab.claims.schema import Register
    from journeylab.reports.summary import Judged


def status(
    root: Annotated[Path, ROOT] = Path(),
    reference: Annotated[bool, typer.Option(help="Count the references instead.")] = False,
    markdown: Annotated[bool, typer.Option(help="Print a Markdown table.")] = False,
) -> None:
    """Count the verdicts by theorem: claims over seeds, and certificates."""
    from journeylab.reports.summary import HEAD, count_outcomes

    register = current_register()
    rows = list(_of_references(register) if reference else _of_results(root, register))
    if not rows:
        where = REFERENCES if reference else root / "results"
        raise UserError(f"{where}: no verdicts of this register; `make all` makes them")
    lines = [
        (group.name, *(_counts(cell) for cell in group.cells), ", ".join(group.studies))
        for group in count_outcomes(rows, printed_theorems())
    ]
    typer.echo(printed_table((*HEAD, "Studies"), lines, markdown=markdown))
    if checks := [word for row, word in rows if row.form == "check"]:
        counted = ((checks.count(word), word) for word in dict.fromkeys(checks))
        counts = ", ".join(
            f"{n} {word if n == 1 else word.removesuffix('s')}" for n, word in counted
        )
        typer.echo(f"\nChecks of code, in no count: {counts}.")


def _of_results(root: Path, register: Register) -> Iterator[Judged]:
    """The primary rows of all results."""
    from journeylab.claims.registration import read_history, registrations
    from journeylab.records.plans import HISTORY
    from journeylab.wording.verdicts import outcome

    for study in judged_studies(root):
        verdicts = read_rows(root, study, register)
        pairs = [(run, host) for _, run, host in judged_records(root, verdicts)]
        history = read_history(root / "plans" / study / HISTORY)
        registered = registrations(register, study, pairs, history)
        for row in verdicts.verdicts:
            if row.primary:
                yield row, outcome(row, registered)


def _of_references(register: Register) -> Iterator[Judged]:
    """The primary rows of the register with the verdicts of the references of this revision."""
    from journeylab.claims.forms import printed_word
    from journeylab.claims.reference import read_reference

    for study, claims in register.studies.items():
        path = REFERENCES / f"{study}.json"
        known = read_reference(path) if path.exists() else None
        if known is None or known.revision != claims.revision:
            continue
        for claim in claims.claims:
            if claim.primary and claim.id in known.claims:
                outcome = known.claims[claim.id]
                yield (
                    claim,
                    printed_word(outcome.verdict, claim.form, claim.evidence) or outcome.word,
                )


def _counts(cell: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{number} {word}" for word, number in cell) or "–"
