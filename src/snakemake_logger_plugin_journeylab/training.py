"""How much training is done, how fast it goes, and when it ends."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from snakemake_logger_plugin_journeylab.wording import roughly

WINDOW = 180.0
"""Seconds that a rate looks back."""
SETTLED = 20.0
"""Seconds of training before there is a rate."""


class Done(NamedTuple):
    """Steps that are done, and how many of them an earlier attempt did."""

    steps: int
    before: int


class Estimate:
    """The time that is left at the rate of the last few minutes."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.recent: deque[tuple[float, int]] = deque()

    def tell(self, done: Done, now: float) -> str:
        """One line at the time `now`, in seconds."""
        self.recent.append((now, done.steps - done.before))
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
        self.done = dict.fromkeys(self.totals, Done(0, 0))
        self.running: set[str] = set()

    @property
    def total(self) -> int:
        """The steps of all jobs, over all their seeds."""
        return sum(self.totals.values())

    def start(self, plan: str) -> None:
        """Say that a job runs."""
        self.running.add(plan)

    def finish(self, plan: str) -> None:
        """Say that a job is done; its file may be gone."""
        self.look(plan)
        self.running.discard(plan)
        self.done[plan] = Done(self.totals[plan], self.done[plan].before)

    def look(self, plan: str) -> None:
        """Read what a job wrote last; a file that is not there, or of no use, changes nothing."""
        try:
            told = json.loads(progress_file(plan).read_text(encoding="utf-8"))
            self.done[plan] = Done(int(told["done"]), int(told["before"]))
        except (OSError, ValueError, KeyError, TypeError):
            pass

    def sum(self) -> Done:
        """Where training is, of all jobs together."""
        for plan in self.running:
            self.look(plan)
        each = self.done.values()
        return Done(sum(one.steps for one in each), sum(one.before for one in each))


def progress_file(plan: str) -> Path:
    """Where the job of a plan says how far it is."""
    return Path(plan).with_suffix(".progress.json")
