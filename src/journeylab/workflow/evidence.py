"""What ``evidence/`` holds of the planned runs of a study, and which runs it can restore."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from journeylab.claims.ledger import Judgement
from journeylab.claims.schema import Register, is_read
from journeylab.config import UserError
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
from journeylab.records.looks import LookRecord, SeedRange, seeded_runs, seeds_taken
from journeylab.records.plans import plan_key
from journeylab.records.stages import run_folder
from journeylab.workflow.plans import Plans
from journeylab.workflow.seeds import StudySeeds

if TYPE_CHECKING:
    from journeylab.workflow.planning import WorkflowPlan

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


class StudyEvidence(NamedTuple):
    """What the evidence of a study can restore.

    `restored` maps the folders of runs to their evidence. `outdated` says of each run that has
    evidence of an older key what changed. `current` of the `needed` runs have current evidence.
    `look` is the number of seeds of the last look that has all its runs; 0 if none has. Then
    `older` are the files of runs that are planned with other keys, or not any more.
    """

    restored: Mapping[str, RunEvidence]
    outdated: Sequence[tuple[str, ...]]
    current: int
    needed: int
    look: int
    older: Sequence[Path] = ()

    @property
    def complete(self) -> bool:
        """Whether every needed run has current evidence."""
        return self.current == self.needed


def read_recorded(root: Path, study: str, planned: Mapping[str, Plans]) -> dict[str, Recorded]:
    """The state of the evidence of all runs that are planned or have evidence, by folder."""
    paths = find_evidence(root, study)
    missing = {folder: Recorded("missing") for folder in planned}
    return missing | {
        folder: _read(path, planned.get(folder)) for folder, path in sorted(paths.items())
    }


def needed_runs(
    seeds: StudySeeds, register: Register, planned: Iterable[str], recorded: Mapping[str, Recorded]
) -> list[str]:
    """The planned runs that a study needs.

    With looks, evidence decides: a run of a later look is needed if the looks before,
    judged by their evidence, leave a claim open that reads it. Where the evidence of a look is not
    complete, only the runs up to this look are known to be needed.
    """
    return _looks(seeds, register, list(planned), recorded)[-1].needed


class _Look(NamedTuple):
    """The runs that a study needs up to a look, and whether all of them have evidence."""

    seeds: int
    needed: list[str]
    complete: bool


def _looks(
    seeds: StudySeeds, register: Register, planned: list[str], recorded: Mapping[str, Recorded]
) -> list[_Look]:
    """The looks up to the last one that is needed, or whose evidence is not complete."""
    ends = seeds.looks or (len(seeds.all),)
    looks = []
    tables: dict[str, Any] = {}

    def judged(n: int, taken: SeedRange) -> LookRecord | None:
        needed = taken.select(planned)
        evidence = [recorded[folder].current for folder in needed]
        looks.append(_Look(n, needed, None not in evidence))
        if n == ends[-1] or None in evidence:
            return None
        from journeylab.claims.judging import judge_look  # loads pandas and scipy

        taken_runs = dict(zip(needed, evidence, strict=True))
        table = _table(taken_runs, tables)
        return judge_look(table, seeds.study, register, seeds.all[:n], seeded_runs(taken_runs))

    seeds_taken(ends, seeds.first, judged)
    return looks


def _table(evidence: Mapping[str, RunEvidence | None], tables: dict[str, Any]) -> Any:
    """The measurements of runs; ``tables`` keeps those that were read."""
    from journeylab.chunks.tables import joined
    from journeylab.records.files import parse_table

    for run, of_run in evidence.items():
        if of_run and run not in tables:
            tables[run] = parse_table(of_run.contents[MEASUREMENTS])
    return joined([tables[run] for run in evidence])


def judgements(plan: WorkflowPlan, study: str) -> Iterator[Judgement]:
    """The verdicts on the rows of a study, up to the last look whose runs all have evidence."""
    from journeylab.claims.judging import judge

    register, seeds, planned = plan.register, plan.seeds(study), plan.run_plans(study)
    recorded = read_recorded(Path(plan.config.root), study, planned)
    complete = [look for look in _looks(seeds, register, list(planned), recorded) if look.complete]
    if not complete:
        return
    evidence = {folder: recorded[folder].current for folder in complete[-1].needed}
    taken = seeds.all[: complete[-1].seeds] if seeds.looks else seeds.all
    table = _table(evidence, {})
    verdicts = judge(table, study, register, taken, plan.config.scale, planned)
    claims = register.studies[study]
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


def find_restorable(
    root: Path, planned: Mapping[str, Plans], seeds: StudySeeds, register: Register
) -> StudyEvidence:
    """What the evidence of a study can restore.

    A run that was finished here is not restored: its record names this machine, and its weights
    belong to it. Raises UserError if the evidence of a planned run is damaged.
    """
    study = seeds.study
    recorded = read_recorded(root, study, planned)
    restored: dict[str, RunEvidence] = {}
    outdated: list[tuple[str, ...]] = []
    for folder, plans in planned.items():
        state, evidence, reasons = recorded[folder]
        if state == "damaged":
            raise UserError(reasons[0])
        if evidence is None or is_finished(run_folder(root, study, folder), plans):
            continue
        if state == "current":
            restored[folder] = evidence
        else:
            outdated.append(reasons)
    looks = _looks(seeds, register, list(planned), recorded)
    needed = looks[-1].needed
    current = sum(recorded[folder].state == "current" for folder in needed)
    look = max((look.seeds for look in looks if look.complete), default=0)
    older = [] if look else _older(root, study, recorded)
    return StudyEvidence(restored, outdated, current, len(needed), look, older)


def find_older(
    root: Path, planned: Mapping[str, Plans], seeds: StudySeeds, register: Register
) -> Sequence[Path]:
    """The same of one study, `StudyEvidence.older`; quick if all evidence is current."""
    recorded = read_recorded(root, seeds.study, planned)
    older = _older(root, seeds.study, recorded)
    if older and any(look.complete for look in _looks(seeds, register, list(planned), recorded)):
        return []
    return older


def _older(root: Path, study: str, recorded: Mapping[str, Recorded]) -> list[Path]:
    return [
        evidence_path(root, study, folder)
        for folder, (state, *_) in recorded.items()
        if state in OLDER
    ]


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
    ends = {
        study: None if known.complete else known.look
        for study, known in evidence.items()
        if known.look
    }
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
        have = f"{study} ({known.current} of {known.needed} runs)"
        if known.older:
            continue  # a line of its own says where it is drawn
        if not known.look:
            left.append(have)
        elif not known.complete:
            ended.append(f"{have} at {known.look} seeds")
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
