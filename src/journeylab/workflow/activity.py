"""What the jobs of a workflow are doing, from files alone: plans, records, progress and logs.

Nothing here starts, stops or asks a process, so it works beside a workflow on this machine, on a
cluster with a shared file system, and after its end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from journeylab.config import UserError, build
from journeylab.records.files import read_json
from journeylab.records.live import JobProgress, is_fresh, read_progress
from journeylab.records.looks import FOLDER as LOOKS
from journeylab.records.looks import LookRecord, SeedRange
from journeylab.records.plans import Plan, read_plan
from journeylab.records.runs import RUN, START, read_run, read_start
from journeylab.records.stages import RUN_STAGES, plan_of_log
from journeylab.workflow.costs import training_steps
from journeylab.workflow.recovery import active_since

State = Literal["done", "running", "failed", "stopped", "waiting"]
STATES: tuple[State, ...] = ("done", "running", "failed", "stopped", "waiting")
_ERROR = re.compile(r"^error: ", re.MULTILINE)
_CRASH = re.compile(r"^Traceback \(most recent call last\)", re.MULTILINE)
_TAIL = 20_000
"""Bytes at the end of a log in which an error is searched."""


class JobActivity(NamedTuple):
    """A run of one variant on one chunk of seeds, and what its job is doing.

    `done`: its records are complete and of the current plan. `failed`: its log ends with an error.
    `running`: a file of it changed in the last two minutes; `stopped`: it began, and none did.
    `waiting`: it has not begun. `sign` is the time of its last file. `failures` are the reasons of
    seeds that failed, or the error of the job.
    """

    plan: Plan
    state: State
    progress: JobProgress | None = None
    sign: float | None = None
    failures: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """Training steps over all seeds and their worlds; 0 for a run that trains nothing."""
        if self.plan.stage != "train":
            return 0
        return training_steps(self.plan.settings, len(self.plan.seeds or ()))

    @property
    def steps(self) -> int:
        """Training steps that are done."""
        if self.state == "done":
            return self.total
        return self.progress.done if self.progress and self.state != "waiting" else 0

    @property
    def rate(self) -> float | None:
        """Steps per second of a running job; None if it is not known."""
        return self.progress.rate if self.progress and self.state == "running" else None


@dataclass
class Activity:
    """The jobs below a results root; `read` looks at all files again that changed.

    `project` is the folder in which snakemake runs.
    """

    root: Path
    project: Path = Path()
    _plans: dict[Path, tuple[int, Plan]] = field(default_factory=dict)
    _done: dict[Path, tuple[int, str, JobActivity]] = field(default_factory=dict)

    def read(self) -> dict[str, list[JobActivity]]:
        """The runs of every planned study, sorted by arm, variant and seeds.

        A chunk that waits for a look that has not asked for it is left out: it may never run.
        """
        since = active_since(self.project / ".snakemake")
        studies: dict[str, list[JobActivity]] = {}
        for stage in RUN_STAGES:
            for path in self.root.glob(f"plans/*/*/*/*/{stage}.json"):
                if (plan := self._plan(path, stage)) is not None:
                    studies.setdefault(plan.study, []).append(self._job(path, plan, since))
        ordered = sorted(studies, key=lambda name: (len(name), name))
        return {
            study: sorted(
                self._asked_for(study, studies[study]),
                key=lambda job: (job.plan.arm or "", job.plan.variant or "", job.plan.seeds or ()),
            )
            for study in ordered
        }

    def _asked_for(self, study: str, jobs: list[JobActivity]) -> list[JobActivity]:
        """The jobs that have begun, and those within the seeds that the looks have taken so far."""
        taken = self._taken(study)
        return [
            job
            for job in jobs
            if taken is None
            or job.state != "waiting"
            or job.plan.seeds is None
            or job.plan.seeds[-1] < taken.end(f"{job.plan.arm}/{job.plan.variant}")
        ]

    def _taken(self, study: str) -> SeedRange | None:
        """The seeds of the looks so far; None for a study without sequential looks."""
        taken = None
        plans = self.root.glob(f"plans/{study}/{LOOKS}/*.json")
        looks = [path for path in plans if path.stem.isdigit()]  # beside them are files of cost
        for path in sorted(looks, key=lambda path: int(path.stem)):
            plan = self._plan(path, "look")
            if plan is None or not plan.seeds:
                break
            taken = taken or SeedRange(first=plan.seeds[-1] + 1)
            try:
                record = self.root / "results" / study / LOOKS / path.name
                look = build(LookRecord, read_json(record, plan.key), str(record))
            except (OSError, UserError):  # missing, damaged, or of an older plan
                break
            taken = look.taken
            if not look.goes_on:
                break
        return taken

    def errors(self) -> dict[str, str]:
        """Log → error of jobs that are no runs: data, measurements, verdicts, reports."""
        errors = {}
        for log in sorted(self.root.glob("logs/**/*.log")):
            name = log.relative_to(self.root / "logs")
            if name.parts[0] in RUN_STAGES:
                continue
            plan = self.root / "plans" / plan_of_log(name.as_posix())
            if (error := _error(log, plan)) is not None:
                errors[str(log)] = error
        return errors

    def _plan(self, path: Path, stage: str) -> Plan | None:
        try:
            changed = path.stat().st_mtime_ns
            if self._plans.get(path, (0,))[0] != changed:
                self._plans[path] = changed, read_plan(path, stage)
            return self._plans[path][1]
        except (OSError, UserError):  # it was removed or is being replaced
            return None

    def _job(self, path: Path, plan: Plan, since: float | None) -> JobActivity:
        names = path.relative_to(self.root / "plans").parent.parts
        folder = self.root.joinpath("results", *names)
        if (done := self._complete(folder, plan)) is not None:
            return done
        log = self.root.joinpath("logs", plan.stage, *names).with_suffix(".log")
        read = read_progress(path)
        start = read_start(folder)
        if start is None or start.plan_key != plan.key:
            error = _error(log, path)
            return JobActivity(plan, "failed" if error else "waiting", failures=_tuple(error))
        began = _changed(folder / START) or 0.0
        signs = [_changed(log), read[1] if read else None]
        signs += [_changed(file) for file in folder.glob("*seed*")]
        sign = max([began, *(each for each in signs if each)])
        progress = read[0] if read and read[1] >= began else None
        error = _error(log, path)
        if error is not None:
            return JobActivity(plan, "failed", progress, sign, (error,))
        # a computed run may be silent for long: it runs as long as its workflow does
        silent = plan.stage == "compute" and since is not None and sign >= since
        state: State = "running" if is_fresh(sign) or silent else "stopped"
        return JobActivity(plan, state, progress, sign)

    def _complete(self, folder: Path, plan: Plan) -> JobActivity | None:
        """The activity of a run whose records are complete, with its failed seeds."""
        changed = _changed(folder / RUN)
        if changed is None:
            return None
        stamp = int(changed * 1e9)
        if self._done.get(folder, (0, ""))[:2] != (stamp, plan.key):
            try:
                run = read_run(folder, plan.key)
            except UserError:  # damaged, or of an older plan
                return None
            reasons = tuple(f"seed {each.seed}: {each.reason}" for each in run.seeds if each.reason)
            job = JobActivity(plan, "done", sign=changed, failures=reasons)
            self._done[folder] = stamp, plan.key, job
        return self._done[folder][2]


def remaining_seconds(jobs: list[JobActivity]) -> float | None:
    """Seconds until all steps of these jobs are done, at the present rate of those that run.

    None if no job that runs has a rate.
    """
    rate = sum(job.rate or 0.0 for job in jobs)
    left = sum(job.total - job.steps for job in jobs)
    return left / rate if rate else None


def _error(log: Path, plan: Path) -> str | None:
    """The error with which a log ends; None without one, or if its plan is gone or newer."""
    changed, planned = _changed(log), _changed(plan)
    if changed is None or planned is None or changed < planned:
        return None
    try:
        with log.open("rb") as file:
            file.seek(max(log.stat().st_size - _TAIL, 0))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return None
    lines = text.strip().splitlines()
    if lines and (_ERROR.match(lines[-1]) or _CRASH.search(text)):
        return lines[-1].removeprefix("error: ")
    return None


def _changed(path: Path) -> float | None:
    """When a file was written last; None if it does not exist."""
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def _tuple(error: str | None) -> tuple[str, ...]:
    return () if error is None else (error,)
