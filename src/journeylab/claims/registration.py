"""Whether a claim was registered before the runs that judge it: recorded by each, shown by git.

Each run notes, when it first begins, the commit and a hash of every row of its study's register
(:class:`~journeylab.records.runs.RunStart`). A claim is *registered before these runs* if all runs
that it reads began under the row by which it is judged now, and git had that row. Otherwise it is
*exploratory*. Where the commit is at hand, what it holds decides, so that a record cannot claim
more than the repository shows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

import yaml

from journeylab.claims.register import (
    LOOKS,
    Looks,
    Register,
    StudyClaims,
    is_read,
    row_hashes,
)
from journeylab.config import Frozen, UserError, build
from journeylab.records.files import read_json
from journeylab.records.git import ask_git
from journeylab.records.runs import RunRecord, RunStart
from journeylab.records.verdicts import Registration

Place = Literal["here", "experiment", "elsewhere", "rewritten", "shallow", "absent"]
Hashes = Mapping[str, tuple[str, str]]

_PLACES: dict[Place, str] = {
    "here": "",
    "experiment": "in an experiment of DVC, which is not on this branch",
    "elsewhere": "on another branch than this one",
    "rewritten": "in a commit that is in no branch any more (squash or rebase)",
    "shallow": "by their own records: this clone is shallow, and does not reach their commit",
    "absent": "by their own records: their commit is not in this repository",
}


class History:
    """What a repository knows of the commits that runs began at, and of the register in them."""

    def __init__(self, repository: Path, claims: Path) -> None:
        self._repository, self._claims = repository, claims
        self._rows: dict[tuple[str, str], Hashes | None] = {}
        self._places: dict[str, Place] = {}

    def place(self, commit: str) -> Place:
        """Where a commit is."""
        if commit not in self._places:
            self._places[commit] = self._find(commit)
        return self._places[commit]

    def rows(self, commit: str, study: str) -> Hashes | None:
        """The hashes of a study's rows in a commit; None where it cannot be read any more."""
        if (commit, study) not in self._rows:
            self._rows[commit, study] = self._read(commit, study)
        return self._rows[commit, study]

    def _find(self, commit: str) -> Place:
        if self._git("cat-file", "-e", f"{commit}^{{commit}}") is None:
            return "shallow" if self._shallow else "absent"
        if self._git("merge-base", "--is-ancestor", commit, "HEAD") is not None:
            return "here"
        refs = (
            self._git("for-each-ref", "--contains", commit, "--format=%(refname)") or ""
        ).split()
        if any(ref.startswith("refs/exps/") for ref in refs):
            return "experiment"
        return "elsewhere" if refs else "rewritten"

    def _read(self, commit: str, study: str) -> Hashes | None:
        texts = [
            self._git("show", f"{commit}:./{self._claims.as_posix()}/{name}")
            for name in (f"{study}.yaml", LOOKS)
        ]
        try:
            own, looks = (yaml.safe_load(text) if text else None for text in texts)
            claims = build(StudyClaims, own, commit)
            found = Register(**dict(build(Looks, looks, commit)), studies={study: claims})
        except (UserError, yaml.YAMLError):
            return None
        return row_hashes(found, study)

    @cached_property
    def _shallow(self) -> bool:
        return (self._git("rev-parse", "--is-shallow-repository") or "").strip() == "true"

    def _git(self, *arguments: str) -> str | None:
        return ask_git(self._repository, *arguments)


def registrations(
    register: Register,
    study: str,
    runs: Sequence[tuple[RunRecord, RunStart]],
    history: History | RecordedHistory,
) -> dict[str, Registration]:
    """Of every row of a study, whether it was registered before the runs that it reads.

    A study without a register has no rows.
    """
    if study not in register.studies:
        return {}
    claims, hashes = register.studies[study], row_hashes(register, study)
    found = {}
    for claim in claims.claims:
        starts = [start for run, start in runs if is_read(claims, claim, run.arm, run.variant)]
        told = [_of_run(claim.id, study, hashes[claim.id], start, history) for start in starts]
        worst = max(told, key=lambda one: one.exploratory, default=_NOTHING)
        remarks = dict.fromkeys(one.remark for one in told if one.remark)
        if worst.exploratory:
            found[claim.id] = worst
        else:
            found[claim.id] = Registration(exploratory=False, remark="; ".join(remarks))
    return found


_NOTHING = Registration(exploratory=True, remark="nothing that it reads was run")


def _of_run(
    row: str, study: str, now: tuple[str, str], start: RunStart, history: History | RecordedHistory
) -> Registration:
    """What one run's beginning says of one row."""

    def exploratory(why: str) -> Registration:
        return Registration(exploratory=True, remark=why)

    if start.commit is None:
        return exploratory("its runs began outside git, which could show when it was registered")
    if row not in start.rows:
        return exploratory("it was not in the register when its runs began")
    if not start.registered:
        return exploratory("the register was not committed when its runs began")
    place = history.place(start.commit)
    shown = None if place in ("shallow", "absent") else history.rows(start.commit, study)
    then = start.rows if shown is None else shown
    if row not in then:
        return exploratory("the commit that its runs began at does not hold it")
    judged, worded = then[row]
    if judged != now[0]:
        return exploratory("it was to be judged otherwise when its runs began")
    remarks = [_PLACES[place]] if _PLACES[place] else []
    if worded != now[1]:
        remarks.append("worded otherwise then")
    if start.dirty:
        remarks.append("with uncommitted changes beside the register")
    return Registration(exploratory=False, remark="; ".join(remarks))


class CommitState(Frozen):
    """What git knows of a commit: where it is, and the row hashes of a study's register in it."""

    place: Place
    rows: Hashes | None


class RecordedHistory(Frozen):
    """The states of all commits at which runs of a study began, as planning wrote them.

    A commit that is not recorded counts as absent from the repository.
    """

    commits: Mapping[str, CommitState] = {}

    def place(self, commit: str) -> Place:
        """Where a commit is."""
        known = self.commits.get(commit)
        return known.place if known else "absent"

    def rows(self, commit: str, study: str) -> Hashes | None:
        """The row hashes of the register in a commit; None if it cannot be read."""
        known = self.commits.get(commit)
        return known.rows if known else None


def record_history(
    history: History, study: str, commits: Collection[str], known: Mapping[str, Hashes]
) -> RecordedHistory:
    """The states of `commits`; `known` holds row hashes that need not be read from git again."""
    return RecordedHistory(
        commits={
            commit: CommitState(
                place=history.place(commit),
                rows=known.get(commit) or history.rows(commit, study),
            )
            for commit in sorted(commits)
        }
    )


def read_history(path: Path) -> RecordedHistory:
    """Read the history that planning wrote; empty if there is none, as in a call from Python."""
    if not path.exists():
        return RecordedHistory()
    return build(RecordedHistory, read_json(path), str(path))
