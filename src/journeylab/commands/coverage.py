"""``journeylab coverage``: the checkable statements of the documents, with their claims."""

from collections.abc import Iterator, Mapping

import typer

from journeylab.claims.schema import Claim
from journeylab.claims.statements import Statement, read_statements
from journeylab.claims.theorems import read_theorems
from journeylab.commands.results import CLAIMS, current_register, printed_table
from journeylab.wording.verdicts import capital

HEAD = ("Section", "Statement", "Claims")
LEGEND = (
    "Every checkable statement of the source documents, with the claims that test it. D: judged as "
    "the document states it; the others are corrected. An s in the number: a secondary measurement."
)


def coverage() -> None:
    """List the checkable statements of the source documents with the claims that test them."""
    register, theorems = current_register(), read_theorems(CLAIMS)
    documents = read_statements(CLAIMS, register, theorems)
    typer.echo(f"# What the documents state, and what tests it\n\n{LEGEND}")
    for document, statements in documents.items():
        typer.echo(f"\n## {capital(theorems.documents[document].title)}\n")
        rows = [(s.section, s.says, "; ".join(_tests(s, register.by_id))) for s in statements]
        typer.echo(printed_table(HEAD, rows, markdown=True))


def _tests(statement: Statement, known: Mapping[str, Claim]) -> Iterator[str]:
    if statement.claims:
        yield ", ".join(f"{name}{_mark(known[name])}" for name in statement.claims)
    if statement.untested:
        yield f"not tested: {statement.untested}" if not statement.claims else statement.untested


def _mark(claim: Claim) -> str:
    return " D" if claim.primary and claim.source == "document" else ""
