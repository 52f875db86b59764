"""Whether a claim was registered before the runs that judge it.

When a run starts it records the commit and a hash of every row of its study's register
(:class:`~journeylab.records.runs.RunStart`). A claim is *registered before these runs* if the
ledger (:mod:`journeylab.claims.ledger`) has a line of it as it is judged now, no other line had
registered its seeds before, and that line was committed when each of its runs started; where the
row was judged before there was a ledger, the register in the commit of the runs has it as it is
now. Otherwise the claim is *exploratory*. If the commit is in the repository, its content decides
and not the record, so that a record cannot claim more than the repository shows.

:func:`registrations` computes; only :class:`History` runs git.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, PositiveInt

from journeylab.claims.hashes import FORM, row_hashes
from journeylab.claims.ledger import Ledger, RowLine, Standing, standings
from journeylab.claims.schema import LOOKS, Looks, Register, StudyClaims, is_read
from journeylab.config import Frozen, UserError, build, parse_yaml
from journeylab.records.files import read_json
from journeylab.records.runs import RunRecord, RunStart
from journeylab.records.verdicts import Registration

Location = Literal["here", "experiment", "elsewhere", "rewritten", "shallow", "absent"]
Hashes = Mapping[str, tuple[str, str]]
T = TypeVar("T", bound=BaseModel)

_REMARKS: dict[Location, str] = {
    "here": "",
    "experiment": "in a DVC experiment that is not on this branch",
    "elsewhere": "on another branch",
    "rewritten": "in a commit that is on no branch any more (squash or rebase)",
    "shallow": "according to the runs' records: this clone is shallow and lacks their commit",
    "absent": "according to the runs' records: their commit is not in this repository",
}


class _EarlierLooks(Looks):
    """``looks.yaml`` of any commit: an earlier one has fixed looks, with their shares of α."""

    looks: Mapping[PositiveInt, float] | None = None


class EarlierClaims(StudyClaims):
    """The claims of a study in any commit: an earlier one chooses between two kinds of looks."""

    looks: Literal["fixed", "sequential"] = "fixed"


class History(Ledger):
    """The ledgers of a folder, and what git knows of commits and of the register in each."""

    def __init__(self, claims: Path) -> None:
        super().__init__(claims)
        self.location = cache(self._locate)
        self.rows = cache(self._rows)

    def claims(self, commit: str, study: str) -> EarlierClaims | None:
        """The claims of a study in a commit; None without a file, or if it cannot be read."""
        return _parsed(EarlierClaims, self._show(commit, f"{study}.yaml"))

    def _locate(self, commit: str) -> Location:
        """Where a commit is, seen from the commit that is checked out."""
        if self._git("cat-file", "-e", f"{commit}^{{commit}}") is None:
            return "shallow" if self.shallow else "absent"
        if self.is_before(commit, "HEAD"):
            return "here"
        refs = self._git("for-each-ref", "--contains", commit, "--format=%(refname)") or ""
        if any(ref.startswith("refs/exps/") for ref in refs.split()):
            return "experiment"
        return "elsewhere" if refs else "rewritten"

    def _rows(self, commit: str, study: str) -> Hashes | None:
        """The hashes of a study's rows in a commit: empty without a file, None if unreadable."""
        if self._show(commit, f"{study}.yaml") is None:
            return {}
        claims = self.claims(commit, study)
        looks = _parsed(_EarlierLooks, self._show(commit, LOOKS) or "{}")
        if claims is None or looks is None:
            return None
        register = Register(**looks.model_dump(exclude={"looks"}), studies={study: claims})
        return row_hashes(register, study, looks.looks if claims.looks == "fixed" else None)


def _parsed(model: type[T], text: str | None) -> T | None:
    """A file of the register; None if it is missing or cannot be read."""
    try:
        return build(model, parse_yaml(text or ""), "")
    except UserError:
        return None


class CommitState(Frozen):
    """The location of a commit, and what it has of a study: hashes of rows, lines of the ledger."""

    location: Location
    rows: Hashes | None
    lines: tuple[str, ...] | None = None


class RecordedHistory(Frozen):
    """What the ledger says of the rows of a study, and the commits at which its runs started.

    Planning writes it. A commit that is not recorded counts as absent from the repository. ``form``
    is the form of the hashes (:data:`~journeylab.claims.hashes.FORM`).
    """

    form: int = FORM
    rows: Mapping[str, Standing] = {}
    commits: Mapping[str, CommitState] = {}


def registrations(
    register: Register,
    study: str,
    runs: Sequence[tuple[RunRecord, RunStart]],
    history: RecordedHistory,
) -> dict[str, Registration]:
    """The registration of every row of a study, by its id; empty if the study has no register."""
    if study not in register.studies:
        return {}
    claims, hashes = register.studies[study], row_hashes(register, study)
    by_row = {}
    for claim in claims.claims:
        starts = [start for run, start in runs if is_read(claims, claim, run.arm, run.variant)]
        standing = history.rows.get(claim.id, _UNKNOWN if claim.primary else _NOT_JUDGED)
        of_runs = [
            _of_run(claim.id, hashes[claim.id], standing, start, history.commits)
            for start in starts
        ]
        worst = max(of_runs, key=lambda state: state.exploratory, default=_NO_RUNS)
        if not worst.exploratory:
            remarks = dict.fromkeys(state.remark for state in of_runs if state.remark)
            worst = Registration(exploratory=False, remark="; ".join(remarks))
        by_row[claim.id] = worst
    return by_row


_UNKNOWN = Standing(reason="planning did not compare it with the ledger; run snakemake again")
_NOT_JUDGED = Standing(recorded=True)
_NO_RUNS = Registration(exploratory=True, remark="none of the runs that it reads is there")
_ABSENT = CommitState(location="absent", rows=None)


def _of_run(
    row: str,
    now: tuple[str, str],
    standing: Standing,
    start: RunStart,
    commits: Mapping[str, CommitState],
) -> Registration:
    """The registration of a row as far as one run's start shows it."""

    def exploratory(reason: str) -> Registration:
        return Registration(exploratory=True, remark=reason)

    if start.commit is None:
        return exploratory("its runs started outside git, which would show when it was registered")
    if standing.reason:
        return exploratory(standing.reason)
    state = commits.get(start.commit, _ABSENT)
    unknown = state.location in ("shallow", "absent")
    remarks = [_REMARKS[state.location]]
    worded = now[1]
    if standing.digest not in (state.lines or ()):
        late = state.lines is not None and standing is not _NOT_JUDGED
        if late or not (standing.recorded or unknown):
            return exploratory("its line in the ledger was not committed when its runs started")
        if row not in start.rows:
            return exploratory("it was not in the register when its runs started")
        if not start.registered:
            return exploratory("the register was not committed when its runs started")
        then = start.rows if unknown or state.rows is None else state.rows
        if row not in then:
            return exploratory("the commit of its runs does not contain it")
        judged, worded = then[row]
        if judged != now[0]:
            return exploratory(
                "what decides its verdict changed after its runs started (effect, region, "
                "measures, gates, first seed, α, looks or M)"
            )
        if not unknown and state.rows is None:
            remarks.append(
                "according to the runs' records: the register in their commit is unreadable"
            )
    remarks.append(standing.remark or ("" if worded == now[1] else "reworded since"))
    if start.dirty:
        remarks.append("with uncommitted changes outside the register")
    return Registration(exploratory=False, remark="; ".join(filter(None, remarks)))


def record_history(
    history: History,
    register: Register,
    study: str,
    planned: Mapping[str, RowLine],
    commits: Collection[str],
    known: Mapping[str, Hashes],
) -> RecordedHistory:
    """What the ledger and git know of the rows of a study, as they are `planned`.

    `commits` are those at which its runs started; `known` holds hashes of rows that need not be
    read from git again.
    """
    return RecordedHistory(
        rows=standings(history, register, study, planned),
        commits={
            commit: CommitState(
                location=history.location(commit),
                rows=known.get(commit) or history.rows(commit, study),
                lines=history.rows_at(commit, study),
            )
            for commit in sorted(commits)
        },
    )


def read_history(path: Path) -> RecordedHistory:
    """Read the history that planning wrote; empty if there is none, as in a call from Python."""
    if not path.exists():
        return RecordedHistory()
    return build(RecordedHistory, read_json(path), str(path))


def recorded_rows(path: Path) -> dict[str, Hashes]:
    """The row hashes of the commits in an earlier history file: a commit never changes."""
    try:
        recorded = RecordedHistory.model_validate(read_json(path))
    except (UserError, ValueError):
        return {}
    if recorded.form != FORM:
        return {}
    return {commit: state.rows for commit, state in recorded.commits.items() if state.rows}
