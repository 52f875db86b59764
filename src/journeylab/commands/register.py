"""``journeylab register``: the lines of the ledger that judged rows and amendments need."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from journeylab.claims.claims_file import read_claims
from journeylab.claims.ledger import AmendmentLine, Line, missing_lines, reworded, written
from journeylab.claims.looks import looks_text
from journeylab.claims.table_ledger import register_rows
from journeylab.commands.results import CONFIG, current_plan, end
from journeylab.config import UserError, check_known
from journeylab.workflow.planning import WorkflowPlan


def register(
    studies: Annotated[
        list[str] | None, typer.Argument(help="Studies, or a claims file; default: all studies.")
    ] = None,
    config: Annotated[Path, CONFIG] = Path("config.yaml"),
    check: Annotated[bool, typer.Option(help="Write nothing; compare with git.")] = False,
    amendments: Annotated[
        bool, typer.Option(help="Write amendments only, before settings are final.")
    ] = False,
) -> None:
    """Write what the ledger lacks of judged rows; commit it before their runs begin.

    A line holds hashes of all that decides the verdict of a row: its effect, region, gates,
    measures, α, looks and M, and the settings and code of its runs; the first for its seeds counts.
    With --check, lines that a commit has and the ledger has no more, and changes without a line,
    are named.
    """
    if studies and studies[0].endswith((".yaml", ".yml")):
        for name in studies:
            path, lines = register_rows(read_claims(Path(name)))
            typer.echo(f"{name}: {_done(path, lines)}")
        return
    plan = current_plan(config)
    if plan.config.scale == "quick" and not check:
        raise UserError(f"{config}: scale: 'quick': quick runs are not judged; write full")
    for study in (named := studies or list(plan.register.studies)):
        check_known(study, plan.register.studies, f"{study!r} has no claims")
    if check:
        problems = [f"error: {line}" for study in named for line in _problems(plan, study)]
        shallow = "this clone is shallow: whether lines were removed cannot be told"
        end([shallow] if plan.ledger.shallow else [], problems)
    taken: list[str] = []
    for study in named:
        claims, ledger = plan.register.studies[study], plan.ledger
        planned = plan.planned_rows(study)
        kept, lines, refused = missing_lines(ledger, plan.register, study, planned)
        if amendments:
            lines, refused = [], []
        elif any(line.kind == "row" for line in lines) and (search := plan.searches.get(study)):
            for remark in search.remarks():  # its settings may change, no row may
                typer.echo(f"warning: {remark}", err=True)
        lines += _amendments(plan, study, kept)
        taken += refused
        if lines:
            ledger.write(study, [*kept, *lines])
        first = claims.seeds_from
        typer.echo(
            f"{study}: revision {claims.revision}, seeds {first} to "
            f"{first + max(plan.register.sequential) - 1}; {looks_text(plan.register, claims)}; "
            f"{_done(ledger.path(study), lines)}"
        )
    if taken:
        raise UserError("\nerror: ".join(taken))


def _done(path: Path, lines: Sequence[Line]) -> str:
    """What was written into a ledger."""
    count = Counter(line.kind for line in lines)
    written = ", ".join(f"{n} {kind}" for kind, n in count.items())
    return f"wrote {written}; commit {path} before runs begin" if lines else "nothing to write"


def _amendments(plan: WorkflowPlan, study: str, known: Sequence[Line]) -> Iterator[AmendmentLine]:
    """A line for every amendment that has none."""
    claims = plan.register.studies[study]
    said = {(line.rows, line.reason) for line in known if line.kind == "amendment"}
    for each in claims.amendments:
        if (each.rows, each.reason) not in said:
            yield AmendmentLine(revision=claims.revision, rows=each.rows, reason=each.reason)


def _problems(plan: WorkflowPlan, study: str) -> Iterator[str]:
    """What is wrong with the ledger of a study: lines that were removed or changed, or are missing.

    Rows that are not registered are exploratory, which is no mistake.
    """
    ledger, claims = plan.ledger, plan.register.studies[study]
    path = ledger.path(study)
    entries = ledger.entries(study)
    for entry in ledger.lost(study, entries):
        text = written(entry.line)
        yield (
            f"{path}: a line of commit {entry.commit[:10]} was removed or changed; write it back: "
            f"{text}"
        )
    known = [entry.line for entry in entries]
    planned = plan.planned_rows(study)
    for line in known:
        if line.kind == "row" and line.revision > claims.revision:
            yield f"claims/{study}.yaml: revision {claims.revision}: {path} has {line.revision}"
            break
        if line.kind == "row" and line.revision == claims.revision and line.row not in planned:
            yield f"claims/{study}.yaml: {line.row} was registered and is no judged row any more"
    writes = f"`journeylab register {study}` writes the line"
    if new := [line.row for line in reworded(planned, known)]:
        yield f"{path}: {', '.join(new)}: new words without a line; {writes}"
    for missing in _amendments(plan, study, known):
        yield f"{path}: an amendment of {missing.rows[0]} is missing; {writes}"
    said = {(each.rows, each.reason) for each in claims.amendments}
    for line in known:
        if line.kind != "amendment" or line.remark or line.revision < claims.revision:
            continue  # those of an earlier revision are kept in the ledger
        if (line.rows, line.reason) not in said:
            yield (
                f"claims/{study}.yaml: an amendment of revision {line.revision} was removed or "
                f"changed: {line.reason[:60]}…"
            )
