"""``journeylab compare A B``: which effects and verdicts differ between two sets of results."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from journeylab.claims.forms import printed_word
from journeylab.claims.reference import Reference, read_reference, reference_of
from journeylab.claims.schema import Claim
from journeylab.commands.results import REFERENCES, current_register, judged_studies, read_verdicts
from journeylab.config import UserError, build
from journeylab.records.git import ask_git
from journeylab.records.verdicts import Outcome
from journeylab.wording.typography import short

_CURRENT = re.compile(r"exp\d+\.json")
"""The reference of a study; others are of earlier revisions, or of costs and figures."""


def compare(
    first: Annotated[str, typer.Argument(help="A git revision, a folder or a reference file.")],
    second: Annotated[str, typer.Argument(help="The other; default ./results.")] = "results",
) -> None:
    """Show which effects and verdicts differ between two revisions, folders or references."""
    before, after = _references(first), _references(second)
    names, claims = _continued(before, after), current_register().by_id
    moved = 0
    for study in dict.fromkeys((*before, *after)):
        if study not in before or study not in after:
            typer.echo(f"{study}: only in {first if study in before else second}")
            continue
        old, new = before[study].claims, after[study].claims
        of_study = names.get(study, {row: row for row in new})
        for row, claim in new.items():
            name = of_study.get(row, "")
            if name not in old:
                typer.echo(f"{row}: only in {second}")
                continue
            if changes := _changes(old[name], claim, claims.get(row)):
                moved += 1
                renamed = f" (was {name})" if name != row else ""
                typer.echo(f"{row}{renamed}: {', '.join(changes)}")
        for row in old:
            if row not in of_study.values():
                typer.echo(f"{row}: only in {first}")
    typer.echo(f"{moved} {'claim' if moved == 1 else 'claims'} moved")


def _changes(old: Outcome, new: Outcome, row: Claim | None) -> list[str]:
    """The effect, the verdict and the seeds of looks, old → new, where they differ.

    Verdicts are in the words of the row's form, if the register has the row.
    """

    def printed(value: float | str | None) -> str:
        return "no number" if value is None else value if isinstance(value, str) else short(value)

    words = [
        (row and printed_word(each.verdict, row.form, row.evidence)) or each.word
        for each in (old, new)
    ]
    pairs = [("effect", old.effect, new.effect), ("verdict", *words)]
    if old.seeds and new.seeds:
        pairs.append(("seeds", old.seeds, new.seeds))
    return [f"{name} {printed(a)} → {printed(b)}" for name, a, b in pairs if a != b]


def _references(name: str) -> dict[str, Reference]:
    """The claims of every study in a file, in a folder or in a git revision."""
    path = Path(name)
    if path.is_file():
        known = [read_reference(path)]
    elif path.is_dir():
        root = path.parent if path.name == "results" else path
        known = [reference_of(read_verdicts(root, study)) for study in judged_studies(root)]
        known = known or [
            read_reference(file) for file in sorted(path.iterdir()) if _CURRENT.fullmatch(file.name)
        ]
    else:
        known = list(_in_git(name))
    if not known:
        raise UserError(
            f"{name!r}: no results; write a revision of git, a folder of results or references, "
            "or a reference such as reference/exp7-r1.json"
        )
    return {reference.study: reference for reference in known}


def _in_git(revision: str) -> Iterator[Reference]:
    """The references in a git revision."""
    here = Path.cwd()
    names = ask_git(here, "ls-tree", "--name-only", revision, f"{REFERENCES.as_posix()}/") or ""
    for name in names.split():
        if _CURRENT.fullmatch(Path(name).name):
            written = json.loads(ask_git(here, "show", f"{revision}:./{name}") or "{}")
            yield build(Reference, written, f"{revision}:{name}")


def _continued(
    before: Mapping[str, Reference], after: Mapping[str, Reference]
) -> dict[str, dict[str, str]]:
    """Row → the row that it continues, for studies whose sides are consecutive revisions.

    Rows of equal id may be different claims there. Before a study's revision is in the register, or
    between others, rows are compared by their ids.
    """
    return {
        study: {row.id: row.before for row in claims.claims if row.before is not None}
        for study, claims in current_register().studies.items()
        if study in before
        and study in after
        and before[study].revision == after[study].revision - 1 == claims.revision - 1
    }
