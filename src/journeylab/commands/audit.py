"""``journeylab audit``: the numbers, verdict words and figures of a manuscript."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from journeylab.commands.results import ROOT

if TYPE_CHECKING:
    from collections import Counter

    from journeylab.audit import Known

UNSEEN = (
    "not seen: numbers in figures; numbers written as words, except one to twenty, thirty, forty, "
    "fifty and hundred before “seeds”, “cases” or “failures”; whole numbers elsewhere; numbers "
    "with a unit; 0, 1, 0 % and 100 % without a claim beside them; code, citations, labels, years, "
    "dates, versions and numbers of sections; what "
    "a macro of your own prints; claims that are named by other words than their id, a macro or a "
    "\\ref; the claims of other sentences, except where one begins with “It” or “Its effect”"
)


def audit(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Manuscripts (.tex), response.yaml, .md. Default: all three kinds."),
    ] = None,
    strict: Annotated[
        bool, typer.Option(help="Exit code 1 if a number, word, macro or file is wrong.")
    ] = False,
    root: Annotated[Path, ROOT] = Path(),
) -> None:
    """Hold every number and verdict word of a manuscript against the current results."""
    from journeylab.audit import audit_files, read_known

    known = read_known(Path(), root)
    paths = files or [Path("paper/paper.tex"), Path("response.yaml"), Path("README.md")]
    audits = audit_files(paths, known)
    for audited in audits:
        for finding in audited.findings:
            typer.echo(str(finding))
    for audited in audits:
        typer.echo(f"{audited.path}: {_summary(audited.counts)}")
    typer.echo(_sources(known))
    typer.echo(UNSEEN)
    wrong = sum(finding.is_mistake for audited in audits for finding in audited.findings)
    if wrong:
        typer.echo(f"{wrong} to correct", err=True)
    raise typer.Exit(1 if strict and wrong else 0)


def _summary(counts: Counter[str]) -> str:
    """How many numbers are of each sort, in words."""
    words = {
        "macros": "by macro",
        "equal": "typed by hand and equal to a known number",
        "different": "typed by hand and different",
        "set": "settings, bounds or levels",
        "unknown": "unknown",
        "unchecked": "beside claims without a current number",
        "other": "no results",
    }
    listed = [f"{counts[sort]} {text}" for sort, text in words.items() if counts[sort]]
    return f"{sum(counts.values())} numbers" + (f": {', '.join(listed)}" if listed else "")


def _sources(known: Known) -> str:
    """Where the known numbers come from."""
    sources = []
    if known.drawn:
        quick = [study for study in known.drawn if known.numbers.get(f"{study}.scale") == "quick"]
        kind = f" ({', '.join(quick)}: quick runs, no evidence)" if quick else ""
        sources.append(f"{', '.join(known.drawn)} from {known.root / 'reports'}{kind}")
    if known.recorded:
        sources.append(f"{', '.join(known.recorded)} from reference/, which has claims only")
    missing = [study for study in known.register.studies if study not in known.studies]
    if missing:
        sources.append(
            f"none of {', '.join(missing)}: no report is drawn, and no reference is current"
        )
    return f"known numbers: {'; '.join(sources) or 'none'}"
