"""How much training a workflow has left, told while snakemake runs."""

import re
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from journeylab.config import chunk_seeds

SECONDS_BETWEEN, SECONDS_UNTIL_RATE = 10.0, 5.0
_BEGUN = re.compile(r": \d+ steps(?: of (\d+) seeds)?(?:, resumed after step (\d+))?$")
_STEP = re.compile(r": step (\d+)/\d+,")


class Done(NamedTuple):
    """Steps that are done, and how many of them were done before this run of snakemake."""

    steps: int
    before: int


@dataclass(frozen=True)
class TrainingJob:
    """A training job that this run of snakemake has to do."""

    log: Path
    steps: int

    def done(self) -> Done:
        """What its log tells, over all its seeds."""
        try:
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return Done(0, 0)
        resumed: list[int] = []
        reached: list[int] = []
        seeds = 1
        for line in lines:
            if begun := _BEGUN.search(line):
                seeds = int(begun[1] or 1)
                resumed.append(seeds * int(begun[2] or 0))
                reached.append(resumed[-1])
            elif reached and (step := _STEP.search(line)):
                reached[-1] = seeds * int(step[1])
        return Done(sum(reached), sum(resumed))


def tell_remaining(workflow: Any, steps_of: Callable[[Any], int]) -> None:
    """Start telling, on standard error, what share of the training is done and when it ends.

    ``workflow`` is snakemake's; ``steps_of(wildcards)`` gives the steps of one seed of a job. The
    thread ends with the process and never disturbs it.
    """
    jobs = [
        TrainingJob(
            log=Path(str(job.log[0])),
            steps=steps_of(job.wildcards) * len(chunk_seeds(job.wildcards.seeds)),
        )
        for job in workflow.dag.needrun_jobs()
        if job.rule.name == "train_run"
    ]
    if jobs:
        for job in jobs:
            job.log.unlink(missing_ok=True)
        threading.Thread(target=_tell, args=(jobs,), daemon=True).start()


def describe(done: Done, total: int, seconds: float) -> str:
    """One line: the share that is done, the rate since the start, and the time left."""
    share = f"training: {100 * done.steps // total} % of {total:,} steps"
    fresh = done.steps - done.before
    if not fresh or seconds < SECONDS_UNTIL_RATE:
        return f"{share}, starting"
    rate = fresh / seconds
    left = timedelta(seconds=round((total - done.steps) / rate))
    return f"{share}, {rate:.0f} steps/s, {left} left"


def _tell(jobs: list[TrainingJob]) -> None:
    total, began = sum(job.steps for job in jobs), time.monotonic()
    done = Done(0, 0)
    while done.steps < total:
        each = [job.done() for job in jobs]
        done = Done(sum(one.steps for one in each), sum(one.before for one in each))
        print(describe(done, total, time.monotonic() - began), file=sys.stderr, flush=True)
        time.sleep(SECONDS_BETWEEN)
