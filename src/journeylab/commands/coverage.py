"""``journeylab coverage``: the checkable statements of the documents, with their claims."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

import typer

from journeylab.claims.schema import Claim
from journeylab.claims.theorems import Statement, read_statements, read_theorems
from journeylab.commands.results import CLAIMS, current_register
from journeylab.wording.verdicts import capital

LEGEND = (
    "The checkable statements of the source documents, by section, with the claims that test them. "
    "D: judged as the document states it; the others are corrected. An s in the number: a "
    "secondary measurement. Arguable: what can be held against a verdict."
)


def coverage() -> None:
    """List the checkable statements of the source documents with the claims that test them."""
    register, theorems = current_register(), read_theorems(CLAIMS)
    documents = read_statements(CLAIMS, register, theorems)
    typer.echo(f"# What the documents state, and what tests it\n\n{LEGEND}")
    for document, statements in documents.items():
        typer.echo(f"\n## {capital(theorems.documents[document].title)}\n")
        by_section = defaultdict(list)
        for statement in statements:
            tests = "; ".join(_tests(statement, register.by_id))
            by_section[statement.section].append(f"- {statement.says} ({tests})")
        parts = [f"**{section}**\n\n" + "\n".join(rows) for section, rows in by_section.items()]
        typer.echo("\n\n".join(parts))


def _tests(statement: Statement, known: Mapping[str, Claim]) -> Iterator[str]:
    if statement.claims:
        yield ", ".join(f"{name}{_mark(known[name])}" for name in statement.claims)
    if statement.untested:
        yield f"not tested: {statement.untested}"
    if statement.arguable:
        yield f"arguable: {statement.arguable}"


def _mark(claim: Claim) -> str:
    return " D" if claim.primary and claim.source == "document" else ""
