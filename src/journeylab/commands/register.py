"""``journeylab register``: the lines of the ledger that judged rows and amendments need."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from journeylab.claims.ledger import AmendmentLine, Line, Reworded, RowLine, standings, written
from journeylab.claims.looks import looks_text
from journeylab.commands.results import CONFIG, current_plan, end
from journeylab.config import UserError, accepted
from journeylab.workflow.planning import WorkflowPlan


def register(
    studies: Annotated[list[str] | None, typer.Argument(help="Default: all.")] = None,
    config: Annotated[Path, CONFIG] = Path("config.yaml"),
    check: Annotated[bool, typer.Option(help="Write nothing; compare with git.")] = False,
) -> None:
    """Write what the ledger lacks of judged rows; commit it before their runs begin.

    A line holds hashes of all that decides the verdict of a row: its effect, region, gates,
    measures, α, looks and M, and the settings and code of its runs. With --check, lines that a
    commit has and the ledger has no more, and changes without a line, are named.
    """
    plan = current_plan(config)
    if plan.config.scale == "quick" and not check:
        raise UserError(f"{config}: scale: 'quick': quick runs are not judged; write full")
    for study in (named := studies or list(plan.register.studies)):
        if study not in plan.register.studies:
            raise UserError(f"{study!r} has no claims;{accepted(study, plan.register.studies)}")
    if check:
        problems = [f"error: {line}" for study in named for line in _problems(plan, study)]
        shallow = "this clone is shallow: whether lines were removed cannot be told"
        end([shallow] if plan.ledger.shallow else [], problems)
    taken: list[str] = []
    for study in named:
        claims, ledger = plan.register.studies[study], plan.ledger
        kept, lines, refused = _lines(plan, study)
        taken += refused
        if lines:
            ledger.write(study, [*kept, *lines])
        count = Counter(line.kind for line in lines)
        written = ", ".join(f"{n} {kind}" for kind, n in count.items())
        done = f"wrote {written}; commit {ledger.path(study)} before runs begin"
        first = claims.seeds_from
        typer.echo(
            f"{study}: revision {claims.revision}, seeds {first} to "
            f"{first + max(plan.register.sequential) - 1}; {looks_text(plan.register, claims)}; "
            f"{done if lines else 'nothing to write'}"
        )
    if taken:
        raise UserError("\nerror: ".join(taken))


def _lines(plan: WorkflowPlan, study: str) -> tuple[list[Line], list[Line], list[str]]:
    """The lines that stay, those that the ledger of a study lacks, and why rows get none.

    Lines that are not committed give way to those of the rows as they are now.
    """
    planned, entries = plan.planned_rows(study), plan.ledger.entries(study)
    known = standings(plan.ledger, plan.register, study, planned)
    refused = [f"{row}: {each.reason}" for row, each in known.items() if each.state == "taken"]
    rows = [row for name, row in planned.items() if known[name].state == "unwritten"]
    written = planned.keys() - {row.row for row in rows}
    kept = [
        entry.line
        for entry in entries
        if entry.commit or not isinstance(entry.line, RowLine) or entry.line.row in written
    ]
    return kept, [*rows, *_reworded(planned, kept), *_amendments(plan, study, kept)], refused


def _reworded(planned: Mapping[str, RowLine], known: Sequence[Line]) -> Iterator[Reworded]:
    """A line for every registered row whose words or form are new."""
    for row in planned.values():
        said = [
            line
            for line in known
            if line.kind in ("row", "reworded")
            and (line.row, line.revision) == (row.row, row.revision)
        ]
        if said and (said[-1].words, said[-1].form or row.form) != (row.words, row.form):
            yield Reworded(**row.model_dump(include=set(Reworded.model_fields) - {"kind"}))


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
    if new := [line.row for line in _reworded(planned, known)]:
        yield f"{path}: {', '.join(new)}: new words without a line; {writes}"
    for missing in _amendments(plan, study, known):
        yield f"{path}: an amendment of {missing.rows[0]} is missing; {writes}"
    said = {(each.rows, each.reason) for each in claims.amendments}
    for line in known:
        if line.kind == "amendment" and not line.remark and (line.rows, line.reason) not in said:
            yield (
                f"claims/{study}.yaml: an amendment of revision {line.revision} was removed or "
                f"changed: {line.reason[:60]}…"
            )
