"""What ``evidence/`` holds of the planned runs of a study, and which runs it can restore."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

from journeylab.claims.ledger import Judgement
from journeylab.claims.schema import Register, is_read
from journeylab.config import Scale, UserError
from journeylab.records.evidence import (
    RunEvidence,
    changes,
    collect_evidence,
    evidence_path,
    find_evidence,
    read_evidence,
)
from journeylab.records.files import MEASUREMENTS
from journeylab.records.git import ask_git
from journeylab.records.looks import LookRecord, SeedRange, seeds_taken
from journeylab.records.plans import plan_key
from journeylab.records.stages import run_folder
from journeylab.workflow.plans import Plans
from journeylab.workflow.seeds import StudySeeds

State = Literal["current", "of an older key", "damaged", "missing", "no longer planned"]
OLDER = ("of an older key", "no longer planned")
LISTED = 4
"""The number of changes that a warning names."""


class Recorded(NamedTuple):
    """The state of the evidence of a run; `reasons` say what is damaged, or what changed."""

    state: State
    evidence: RunEvidence | None = None
    reasons: tuple[str, ...] = ()

    @property
    def current(self) -> RunEvidence | None:
        """The evidence if it is current."""
        return self.evidence if self.state == "current" else None


def read_recorded(root: Path, study: str, planned: Mapping[str, Plans]) -> dict[str, Recorded]:
    """The state of the evidence of all runs that are planned or have evidence, by folder."""
    paths = find_evidence(root, study)
    missing = {folder: Recorded("missing") for folder in planned}
    return missing | {
        folder: _read(path, planned.get(folder)) for folder, path in sorted(paths.items())
    }


class _Look(NamedTuple):
    """The runs that a study needs up to a look, and whether all of them have evidence."""

    seeds: int
    needed: list[str]
    complete: bool


class StudyEvidence:
    """The evidence of the runs of a study, and which of them it can restore."""

    def __init__(
        self, root: Path, planned: Mapping[str, Plans], seeds: StudySeeds, register: Register
    ) -> None:
        self.root, self.planned, self.seeds, self.register = root, planned, seeds, register
        self.study = seeds.study
        self.recorded = read_recorded(root, self.study, planned)

    @cached_property
    def looks(self) -> list[_Look]:
        """The looks up to the last one that is needed, or whose evidence is not complete.

        Evidence decides: a run of a later look is needed if the looks before, judged by their
        evidence, leave a claim open that reads it. Where the evidence of a look is not complete,
        only the runs up to this look are known to be needed.
        """
        seeds = self.seeds
        looks = []
        tables: dict[str, Any] = {}

        def judged(n: int, taken: SeedRange) -> LookRecord | None:
            needed = taken.select(self.planned)
            evidence = {folder: self.recorded[folder].current for folder in needed}
            complete = None not in evidence.values()
            looks.append(_Look(n, needed, complete))
            if n == seeds.looks[-1] or not complete:
                return None
            from journeylab.claims.judging import judge_look  # loads pandas and scipy

            table = _table(evidence, tables)
            return judge_look(table, self.study, self.register, seeds.all[:n], needed)

        seeds_taken(seeds.looks, seeds.first, judged)
        return looks

    @property
    def needed(self) -> list[str]:
        """The planned runs that the study needs."""
        return self.looks[-1].needed

    @property
    def current(self) -> int:
        """How many of the needed runs have current evidence."""
        return sum(self.recorded[folder].state == "current" for folder in self.needed)

    @property
    def complete(self) -> bool:
        """Whether every needed run has current evidence."""
        return self.looks[-1].complete

    @property
    def last(self) -> _Look | None:
        """The last look that has all its runs."""
        return next((look for look in reversed(self.looks) if look.complete), None)

    @property
    def end(self) -> int | None:
        """The number of seeds that evidence reaches; None if it has all, or no whole look."""
        return self.last.seeds if self.last and not self.complete else None

    @cached_property
    def older(self) -> list[Path]:
        """The files of runs that are planned with other keys, or not any more, if no look is whole.

        Quick if all evidence is current.
        """
        older = [
            evidence_path(self.root, self.study, folder)
            for folder, known in self.recorded.items()
            if known.state in OLDER
        ]
        return [] if older and self.last else older

    def check(self) -> None:
        """Raise UserError if the evidence of a planned run is damaged."""
        for folder in self.planned:
            if self.recorded[folder].state == "damaged":
                raise UserError(self.recorded[folder].reasons[0])

    @cached_property
    def _elsewhere(self) -> dict[str, Recorded]:
        """The planned runs that have evidence and were not finished here.

        A run that was finished here is not restored: its record names this machine, and its weights
        belong to it.
        """
        return {
            folder: self.recorded[folder]
            for folder, plans in self.planned.items()
            if self.recorded[folder].evidence
            and not is_finished(run_folder(self.root, self.study, folder), plans)
        }

    @property
    def restored(self) -> dict[str, RunEvidence]:
        """The runs that their evidence restores, by folder."""
        return {folder: run.current for folder, run in self._elsewhere.items() if run.current}

    @property
    def outdated(self) -> list[tuple[str, ...]]:
        """What changed of each run that has evidence of an older key."""
        return [run.reasons for run in self._elsewhere.values() if not run.current]

    def judgements(self, scale: Scale) -> Iterator[Judgement]:
        """The verdicts on the rows, up to the last look whose runs all have evidence."""
        from journeylab.claims.judging import judge

        if self.last is None:
            return
        register, seeds = self.register, self.seeds
        evidence = {folder: self.recorded[folder].current for folder in self.last.needed}
        taken = seeds.all[: self.last.seeds]
        table = _table(evidence, {})
        verdicts = judge(table, self.study, register, taken, scale, self.planned)
        claims = register.studies[self.study]
        for verdict in verdicts.verdicts:
            if not verdict.primary or verdict.word == "not judged" or verdict.state == "open":
                continue
            read = {
                folder: known
                for folder, known in evidence.items()
                if known and is_read(claims, register.by_id[verdict.id], *folder.split("/")[:2])
            }
            yield Judgement(
                row=verdict.id,
                revision=claims.revision,
                seeds=verdict.n if verdict.state else None,
                verdict=verdict.word,
                measurements=plan_key({folder: known.digest for folder, known in read.items()}),
                commits=tuple(sorted({known.host.commit or "" for known in read.values()})),
            )


def _table(evidence: Mapping[str, RunEvidence | None], tables: dict[str, Any]) -> Any:
    """The measurements of runs; ``tables`` keeps those that were read."""
    from journeylab.chunks.tables import joined
    from journeylab.records.files import parse_table

    for run, of_run in evidence.items():
        if of_run and run not in tables:
            tables[run] = parse_table(of_run.contents[MEASUREMENTS])
    return joined([tables[run] for run in evidence])


def is_finished(folder: Path, plans: Plans) -> bool:
    """Whether the results of a run are whole, of the current plan, and not restored."""
    try:
        return not collect_evidence(folder, *plans).host.restored
    except UserError:
        return False


def drawn_studies(evidence: Mapping[str, StudyEvidence]) -> dict[str, int | None]:
    """The studies that `evidence=only` makes, and the number of seeds if it cannot take all.

    Where evidence is missing, these are the seeds of the last look that has all its runs. Raises
    UserError if no look has.
    """
    ends = {study: known.end for study, known in evidence.items() if known.last}
    if not ends:
        raise UserError(
            "evidence=only: no study has evidence of a whole look; journeylab evidence check lists "
            "what is missing"
        )
    return ends


def evidence_warnings(evidence: Mapping[str, StudyEvidence], mode: str) -> Iterator[str]:
    """A line about runs with evidence of an older key per study, and about studies left out."""
    left, ended = [], []
    for study, known in evidence.items():
        if known.outdated:
            reasons = list(dict.fromkeys(part for each in known.outdated for part in each))
            more = f" and {len(reasons) - LISTED} more" if len(reasons) > LISTED else ""
            yield (
                f"{study}: the evidence of {len(known.outdated)} runs is of an older key and is "
                f"not used; changed: {', '.join(reasons[:LISTED])}{more}"
            )
        have = f"{study} ({known.current} of {len(known.needed)} runs)"
        if known.older:
            continue  # a line of its own says where it is drawn
        if not known.last:
            left.append(have)
        elif known.end:
            ended.append(f"{have} at {known.end} seeds")
    if mode == "only" and left:
        yield f"left out, since no look has evidence of all its runs: {', '.join(left)}"
    if mode == "only" and ended:
        yield f"taken to the last look with evidence of all its runs: {', '.join(ended)}"


def moved_on_line(study: str, older: Sequence[Path], repository: Path, *, anonymous: bool) -> str:
    """Where a study is drawn whose settings, code or seeds are newer than its evidence.

    That is the last commit that changed the `older` files: evidence is recorded while it is
    current. Of a blind review, and where git cannot tell, no commit is named.
    """
    line = f"{study} is not drawn: its settings, code or seeds are newer than its evidence"
    if anonymous:
        return line
    files = [os.path.relpath(path, repository) for path in older]
    commit = (ask_git(repository, "log", "-1", "--format=%H", "--", *files) or "").strip()[:12]
    if not commit:
        return f"{line}, which no commit has"
    if (ask_git(repository, "rev-parse", "--is-shallow-repository") or "").strip() == "true":
        return f"{line}; git fetch --unshallow, which names the commit at which it was current"
    at = f"build/{commit}"
    return (
        f"{line}, which was current at commit {commit}. To draw it: "
        f"git worktree add {at} {commit}; make -C {at} setup; make -C {at} recorded"
    )


def _read(path: Path, plans: Plans | None) -> Recorded:
    try:
        evidence = read_evidence(path)
    except UserError as error:
        return Recorded("damaged", reasons=(str(error),))
    if plans is None:
        return Recorded("no longer planned", evidence)
    if evidence.keys == tuple(plan.key for plan in plans):
        return Recorded("current", evidence)
    return Recorded("of an older key", evidence, tuple(changes(evidence, *plans)))
