"""How much training is done, how fast it goes, and when it ends."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from snakemake_logger_plugin_journeylab.wording import roughly

WINDOW = 180.0
"""Seconds that a rate looks back."""
SETTLED = 20.0
"""Seconds of training before there is a rate."""


class Done(NamedTuple):
    """Steps that are done, and steps that were worked on since the run began.

    An earlier run did steps that this one need not; an attempt that failed did some that are done
    again.
    """

    steps: int
    worked: int


class Estimate:
    """The time that is left at the rate of the last few minutes."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.recent: deque[tuple[float, int]] = deque()

    def tell(self, done: Done, now: float) -> str:
        """One line at the time `now`: seconds in which anything was at work."""
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
        """Steps per second of late; None until there is one, and where nothing was trained."""
        # What was done when training began is no work of the window's: it starts at the first step.
        idle = sum(fresh == self.recent[0][1] for _, fresh in self.recent)
        began, fresh = self.recent[max(idle - 1, 0)]
        now, reached = self.recent[-1]
        if now - began < SETTLED or reached <= fresh:
            return None
        return (reached - fresh) / (now - began)


class Trainings:
    """The training jobs of a run: what they are to do, and what their files say is done."""

    def __init__(self, totals: Mapping[str, int]) -> None:
        self.totals = dict(totals)
        self.steps = dict.fromkeys(self.totals, 0)
        self.before = dict.fromkeys(self.totals, 0)
        self.worked = 0
        self.running: set[str] = set()
        self.at_work: set[str] = set()

    @property
    def total(self) -> int:
        """The steps of all jobs, over all their seeds."""
        return sum(self.totals.values())

    @property
    def waiting(self) -> int:
        """How many jobs have not begun: they import, or wait in a cluster's queue."""
        return len(self.running - self.at_work)

    def start(self, plan: str) -> None:
        """Say that a job is handed on; what an earlier attempt of it told is no news."""
        self.running.add(plan)
        with suppress(OSError):
            progress_file(plan).unlink(missing_ok=True)

    def finish(self, plan: str) -> None:
        """Say that a job is done; its file may be gone."""
        self.look(plan)
        self.leave(plan)
        self.worked += self.totals[plan] - self.steps[plan]
        self.steps[plan] = self.totals[plan]

    def leave(self, plan: str) -> None:
        """Say that a job no longer runs."""
        self.running.discard(plan)
        self.at_work.discard(plan)

    def look(self, plan: str) -> None:
        """Read what a job wrote last; a file that is not there, or of no use, changes nothing."""
        try:
            told = json.loads(progress_file(plan).read_text(encoding="utf-8"))
            steps, before = int(told["done"]), int(told["before"])
        except (OSError, ValueError, KeyError, TypeError):
            return
        resumed = before != self.before[plan] or steps < self.steps[plan]
        self.worked += steps - (before if resumed else self.steps[plan])
        self.steps[plan], self.before[plan] = steps, before
        self.at_work.add(plan)

    def sum(self) -> Done:
        """Where training is, of all jobs together."""
        for plan in self.running:
            self.look(plan)
        return Done(sum(self.steps.values()), self.worked)


def progress_file(plan: str) -> Path:
    """Where the job of a plan says how far it is."""
    return Path(plan).with_suffix(".progress.json")
