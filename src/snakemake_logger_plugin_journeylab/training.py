"""Progress of training: steps done, steps per second, and the time left."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from snakemake_logger_plugin_journeylab.wording import roughly

WINDOW = 180.0
"""Seconds over which the rate is averaged."""
SETTLED = 20.0
"""Seconds of training before the first rate."""


class Done(NamedTuple):
    """``steps`` that are done, and steps ``worked`` on since the run began.

    They differ: an earlier run may have done some steps, and a retry repeats steps of a failed
    attempt.
    """

    steps: int
    worked: int


class TimeEstimate:
    """The time left at the rate of the last few minutes."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.recent: deque[tuple[float, int]] = deque()

    def line(self, done: Done, now: float) -> str:
        """The progress in one line; `now` counts the seconds in which any job was training."""
        self.recent.append((now, done.worked))
        while len(self.recent) > 2 and now - self.recent[1][0] >= WINDOW:
            self.recent.popleft()
        share = f"training: {100 * done.steps // self.total} % of {self.total:,} steps"
        rate = self.rate()
        if rate is None or done.steps >= self.total:
            return share
        left = roughly((self.total - done.steps) / rate)
        return f"{share} · {rate:,.{0 if rate >= 10 else 1}f} steps/s · {left} left"

    def rate(self) -> float | None:
        """Recent steps per second; None in the first seconds, or if no steps were trained."""
        # The window starts at its first step: time before training began would lower the rate.
        idle = sum(worked == self.recent[0][1] for _, worked in self.recent)
        began, start = self.recent[max(idle - 1, 0)]
        now, reached = self.recent[-1]
        if now - began < SETTLED or reached <= start:
            return None
        return (reached - start) / (now - began)


class Trainings:
    """The training jobs of a run: planned steps, and the steps done by their progress files."""

    def __init__(self, totals: Mapping[str, int]) -> None:
        self.totals: dict[str, int] = {}
        self.steps: dict[str, int] = {}
        self.before: dict[str, int] = {}
        self.add(totals)
        self.worked = 0
        self.running: set[str] = set()
        self.at_work: set[str] = set()

    def add(self, totals: Mapping[str, int]) -> None:
        """Add training jobs with their planned steps."""
        self.totals |= totals
        self.steps |= dict.fromkeys(totals, 0)
        self.before |= dict.fromkeys(totals, 0)

    @property
    def total(self) -> int:
        """The planned steps of all jobs, over all their seeds."""
        return sum(self.totals.values())

    @property
    def waiting(self) -> int:
        """How many jobs do not train yet: they import libraries, or wait in a cluster's queue."""
        return len(self.running - self.at_work)

    def start(self, plan: str) -> None:
        """Note that a job was submitted; drop the progress file of an earlier attempt."""
        self.running.add(plan)
        with suppress(OSError):
            progress_file(plan).unlink(missing_ok=True)

    def finish(self, plan: str) -> None:
        """Note that a job is done; its progress file may be gone."""
        self.read(plan)
        self.leave(plan)
        self.worked += self.totals[plan] - self.steps[plan]
        self.steps[plan] = self.totals[plan]

    def leave(self, plan: str) -> None:
        """Note that a job no longer runs."""
        self.running.discard(plan)
        self.at_work.discard(plan)

    def read(self, plan: str) -> None:
        """Read the progress file of a job; a missing or damaged file changes nothing."""
        try:
            progress = json.loads(progress_file(plan).read_text(encoding="utf-8"))
            steps, before = int(progress["done"]), int(progress["before"])
        except (OSError, ValueError, KeyError, TypeError):
            return
        resumed = before != self.before[plan] or steps < self.steps[plan]
        self.worked += steps - (before if resumed else self.steps[plan])
        self.steps[plan], self.before[plan] = steps, before
        self.at_work.add(plan)

    def sum(self) -> Done:
        """The progress of all jobs together."""
        for plan in self.running:
            self.read(plan)
        return Done(sum(self.steps.values()), self.worked)


def progress_file(plan: str) -> Path:
    """The file in which the job of a plan writes its progress."""
    return Path(plan).with_suffix(".progress.json")


def planned_steps(plan: str) -> int:
    """The training steps of a plan, over all its seeds; 0 if it cannot be read."""
    from journeylab.workflow.costs import training_steps  # the Snakefile has loaded it

    try:
        content = json.loads(Path(plan).read_text(encoding="utf-8"))
        return training_steps(content["settings"], len(content["seeds"]))
    except (OSError, ValueError, KeyError, TypeError):
        return 0
