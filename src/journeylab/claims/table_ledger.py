"""The ledger beside a claims file: what was registered before a table, and what it was judged by.

Its lines are those of the register (:mod:`journeylab.claims.ledger`), without settings and code.
"""

import hashlib
from pathlib import Path

import pandas as pd

from journeylab.claims.claims_file import TableClaims
from journeylab.claims.ledger import (
    Judgement,
    Ledger,
    Line,
    digest,
    missing_lines,
    planned_rows,
    standings,
)
from journeylab.claims.tables import MLFLOW, first_start
from journeylab.config import UserError
from journeylab.records.files import sha256
from journeylab.records.git import ask_git
from journeylab.records.verdicts import Registration, StudyVerdicts


def register_rows(of: TableClaims) -> tuple[Path, list[Line]]:
    """Write the lines that the ledger lacks of judged rows; its file, and the new lines.

    Raises UserError for a row whose seeds another line has registered.
    """
    ledger = Ledger(of.path.parent)
    planned = planned_rows(of.register, of.study, {})
    kept, lines, refused = missing_lines(ledger, of.register, of.study, planned)
    if refused:
        raise UserError(refused[0])
    if lines:
        ledger.write(of.study, [*kept, *lines])
    return ledger.path(of.study), lines


def registrations_before(of: TableClaims, source: str) -> dict[str, Registration]:
    """Whether the ledger's line of each judged row was committed before the table was.

    Of an MLflow experiment, whether it was committed before the first run began.
    """
    ledger = Ledger(of.path.parent)
    known = standings(ledger, of.register, of.study, planned_rows(of.register, of.study, {}))
    lines = {digest(entry.line): entry.commit for entry in ledger.entries(of.study)}
    began = first_start(source.removeprefix(MLFLOW)) if source.startswith(MLFLOW) else None
    first = "" if began else _first_commit(source)
    states = {}
    for row, standing in known.items():
        commit, reason = lines.get(standing.digest, ""), standing.reason
        if of.path.stem != of.study:
            reason = reason.replace(f"register {of.study}", f"register {of.path}")
        if not reason and began:
            stamp = ask_git(of.path.parent, "show", "--no-patch", "--format=%ct", commit) or "inf"
            late = float(stamp) >= began
            reason = f"a run began before its line in {ledger.path(of.study)}" if late else ""
        elif not reason and not first:
            reason = f"{source} is in no commit"
        elif not reason and (commit == first or not ledger.is_before(commit, first)):
            reason = f"{source} was committed before its line in {ledger.path(of.study)}"
        states[row] = Registration(exploratory=bool(reason), remark=reason or standing.remark)
    return states


def skipped_looks(of: TableClaims, verdicts: StudyVerdicts) -> dict[str, int]:
    """The first look that was left out between two judgements of a row, by the ledger; by row."""
    judged = {row.id: {row.n} for row in verdicts.verdicts if row.primary}
    for line in (entry.line for entry in Ledger(of.path.parent).entries(of.study)):
        if line.kind == "judged" and line.revision == verdicts.revision and line.row in judged:
            judged[line.row] |= {line.seeds or 0}
    skipped = {}
    for row, seeds in judged.items():
        taken = seeds.intersection(of.looks)
        between = (n for n in of.looks if min(taken, default=n) < n < max(taken, default=n))
        if left := next((n for n in between if n not in taken), None):
            skipped[row] = left
    return skipped


def remember(of: TableClaims, source: str, table: pd.DataFrame, verdicts: StudyVerdicts) -> None:
    """Add the verdicts to a ledger that has lines of these rows, unless it has them already."""
    ledger = Ledger(of.path.parent)
    known = [entry.line for entry in ledger.entries(of.study)]
    if not known:
        return
    rows = hashlib.sha256(table.to_csv().encode()).hexdigest()
    content = sha256(Path(source)) if Path(source).is_file() else rows
    lines = [
        Judgement(
            row=row.id,
            revision=verdicts.revision,
            seeds=row.n,
            verdict=row.word,
            measurements=content,
            commits=(),
        )
        for row in verdicts.verdicts
        if row.primary
    ]
    if new := [line for line in lines if line not in known]:
        ledger.write(of.study, [*known, *new])


def _first_commit(source: str) -> str:
    """The first commit that has a table; "" if none has."""
    path = Path(source).resolve()
    log = ("log", "--reverse", "--topo-order", "--full-history", "--format=%H", "--", path.name)
    return (ask_git(path.parent, *log) or "").partition("\n")[0]
