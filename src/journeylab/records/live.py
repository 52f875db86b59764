"""What the jobs of a workflow are doing, from files alone: plans, records, progress and logs.

Nothing here starts, stops or asks a process, so it works beside a workflow on this machine, on a
cluster with a shared file system, and after its end. A training job replaces a small progress file
beside its plan every few seconds.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from journeylab.config import Frozen, UserError, build
from journeylab.records.cost import Cost
from journeylab.records.files import read_json
from journeylab.records.looks import FOLDER as LOOKS
from journeylab.records.looks import LookRecord, SeedRange, seeds_taken
from journeylab.records.plans import Plan, read_plan
from journeylab.records.runs import RUN, START, read_run, read_start
from journeylab.records.stages import RUN_STAGES, plan_of_log

FRESH = 120.0
"""Seconds after which a job of which no file changed counts as dead."""
State = Literal["done", "running", "failed", "stopped", "waiting"]
STATES: tuple[State, ...] = ("done", "running", "failed", "stopped", "waiting")
_CRASH = re.compile(r"^Traceback \(most recent call last\)", re.MULTILINE)
_TAIL = 20_000
"""Bytes at the end of a log in which an error is searched."""


class JobProgress(Frozen):
    """How far a training job is.

    `done` and `total` are steps over all its seeds; `before` of these were done by an earlier
    attempt. This attempt has trained for `seconds`. It trains `seeds` seeds at once, and has taken
    `step` steps with them; `loss` is their mean loss since the last point of the curve. `step` is
    0 and `loss` None between seeds. `cost` is that of all attempts so far. `written` is the time of
    the file.
    """

    done: int
    before: int
    total: int
    seconds: float = 0.0
    seeds: int = 1
    step: int = 0
    loss: float | None = None
    cost: Cost | None = None
    written: float = 0.0

    @property
    def rate(self) -> float | None:
        """Mean steps per second of this attempt; None before its first step."""
        worked = self.done - self.before
        return worked / self.seconds if worked > 0 and self.seconds > 0 else None


class Job(NamedTuple):
    """What the job of a run is doing: one variant on one chunk of seeds, in `folder`.

    `done`: its records are complete and of the current plan. `failed`: its log ends with an error.
    `running`: a file of it changed in the last two minutes; `stopped`: it began, and none did.
    `waiting`: it has not begun. `sign` is the time of its last file. `failures` are the reasons of
    seeds that failed, or the error of the job.
    """

    plan: Plan
    folder: Path
    state: State
    progress: JobProgress | None = None
    sign: float | None = None
    failures: tuple[str, ...] = ()

    @property
    def pace(self) -> Pace:
        """The training steps of this job, over all its seeds and their worlds."""
        if self.plan.stage != "train":
            return Pace(0, 0, 0.0)
        total = training_steps(self.plan.settings, len(self.plan.seeds or ()))
        if self.state == "done":
            return Pace(total, total, 0.0)
        if self.progress is None or self.state == "waiting":
            return Pace(0, total, 0.0)
        running = self.state == "running"
        return Pace(self.progress.done, total, (self.progress.rate or 0.0) if running else 0.0)


class Pace(NamedTuple):
    """Training steps of one or more jobs: done, all of them, and per second."""

    done: int
    total: int
    rate: float

    @property
    def left(self) -> float | None:
        """Seconds until all steps are done if as many jobs train as now; None if none does."""
        return (self.total - self.done) / self.rate if self.rate else None


def add_up(paces: Iterable[Pace]) -> Pace:
    """The steps of several jobs together."""
    parts = list(paces)
    return Pace(sum(p.done for p in parts), sum(p.total for p in parts), sum(p.rate for p in parts))


def training_steps(settings: Mapping[str, Any], seeds: int) -> int:
    """The steps of a training job over all its seeds and their worlds."""
    worlds = settings.get("data", {}).get("worlds", 1)
    return int(settings["training"]["steps"]) * seeds * int(worlds)


@dataclass
class Activity:
    """The jobs below a results root; `read` looks at all files again that changed."""

    root: Path
    _plans: dict[Path, tuple[int, Plan]] = field(default_factory=dict)
    _done: dict[Path, tuple[float, str, Job]] = field(default_factory=dict)

    def read(self, study: str = "*", since: float | None = None) -> dict[str, list[Job]]:
        """The runs of every planned study, or of one, sorted by arm, variant and seeds.

        `since` is when the workflow began that is active. A chunk that waits for a look that has
        not asked for it is left out: it may never run.
        """
        studies: dict[str, list[Job]] = {}
        for stage in RUN_STAGES:
            for path in self.root.glob(f"plans/{study}/*/*/*/{stage}.json"):
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

    def _asked_for(self, study: str, jobs: list[Job]) -> list[Job]:
        """The jobs that have begun, and those within the seeds that the looks have taken so far."""
        if (taken := self._taken(study)) is None:
            return jobs
        named = [("/".join(job.folder.parts[-3:]), job) for job in jobs]
        asked = taken.select(name for name, _ in named)
        return [job for name, job in named if job.state != "waiting" or name in asked]

    def _taken(self, study: str) -> SeedRange | None:
        """The seeds of the looks so far; None for a study without looks."""
        paths = self.root.glob(f"plans/{study}/{LOOKS}/*.json")
        files = {int(path.stem): path for path in paths if path.stem.isdigit()}  # others are costs
        looks = sorted(files)
        first = self._plan(files[looks[0]], "look") if looks else None
        if first is None or not first.seeds:
            return None

        def read(n: int, _: SeedRange) -> LookRecord | None:
            record = self.root / "results" / study / LOOKS / f"{n}.json"
            try:
                plan = self._plan(files[n], "look")
                return build(LookRecord, read_json(record, plan.key), str(record)) if plan else None
            except (OSError, UserError):  # missing, damaged, or of an older plan
                return None

        return seeds_taken(looks, SeedRange(first=first.seeds[-1] + 1), read)

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

    def _job(self, path: Path, plan: Plan, since: float | None) -> Job:
        names = path.relative_to(self.root / "plans").parent.parts
        folder = self.root.joinpath("results", *names)
        if (done := self._complete(folder, plan)) is not None:
            return done
        log = self.root.joinpath("logs", plan.stage, *names).with_suffix(".log")
        error = _error(log, path)
        failures = (error,) if error is not None else ()
        start = read_start(folder)
        if start is None or start.plan_key != plan.key:
            return Job(plan, folder, "failed" if failures else "waiting", failures=failures)
        began = _changed(folder / START) or 0.0
        progress = read_progress(path)
        if progress is not None and progress.written < began:
            progress = None
        written = [progress.written] if progress else []
        written += [_changed(file) or 0.0 for file in (log, *folder.glob("*seed*"))]
        sign = max(began, *written)
        if failures:
            return Job(plan, folder, "failed", progress, sign, failures)
        # a computed run may be silent for long: it runs as long as its workflow does
        silent = plan.stage == "compute" and since is not None and sign >= since
        alive = silent or time.time() - sign < FRESH
        return Job(plan, folder, "running" if alive else "stopped", progress, sign)

    def _complete(self, folder: Path, plan: Plan) -> Job | None:
        """The activity of a run whose records are complete, with its failed seeds."""
        changed = _changed(folder / RUN)
        if changed is None:
            return None
        if self._done.get(folder, (0.0, ""))[:2] != (changed, plan.key):
            try:
                run = read_run(folder, plan.key)
            except UserError:  # damaged, or of an older plan
                return None
            reasons = tuple(f"seed {each.seed}: {each.reason}" for each in run.seeds if each.reason)
            job = Job(plan, folder, "done", sign=changed, failures=reasons)
            self._done[folder] = changed, plan.key, job
        return self._done[folder][2]


def read_progress(plan: Path) -> JobProgress | None:
    """The progress of the training job of a plan; None if its file is missing or damaged."""
    path = plan.with_suffix(".progress.json")
    try:
        written = path.stat().st_mtime
        progress = JobProgress.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    return progress.model_copy(update={"written": written})


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
    if lines and (lines[-1].startswith("error: ") or _CRASH.search(text)):
        return lines[-1].removeprefix("error: ")
    return None


def _changed(path: Path) -> float | None:
    """When a file was written last; None if it does not exist."""
    try:
        return path.stat().st_mtime
    except OSError:
        return None
