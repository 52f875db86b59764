"""How much training a workflow has left, told while snakemake runs."""

import re
import sys
import threading
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from journeylab.config import chunk_seeds

SECONDS_BETWEEN, SECONDS_UNTIL_RATE = 15.0, 20.0
_STEP = re.compile(r": step (\d+)/(\d+),")


@dataclass(frozen=True)
class TrainingJob:
    """A training job that this run of snakemake has to do."""

    log: Path
    steps: int

    def done(self) -> int:
        """The steps that its log tells of, over all its seeds."""
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return 0
        told = [(int(step), int(steps)) for step, steps in _STEP.findall(text)]
        finished = sum(step for step, steps in told if step == steps)
        running = told[-1][0] if told and told[-1][0] != told[-1][1] else 0
        return min(finished + running, self.steps)


def tell_remaining(workflow: Any, steps_of: Any) -> None:
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
        if job.rule.name == "train_variant"
    ]
    if jobs:
        for job in jobs:
            job.log.unlink(missing_ok=True)
        threading.Thread(target=_tell, args=(jobs,), daemon=True).start()


def describe(done: int, total: int, seconds: float) -> str:
    """One line: the share that is done, the rate since the start, and the time left."""
    share = f"training: {100 * done // total} % of {total:,} steps"
    if not done or seconds < SECONDS_UNTIL_RATE:
        return f"{share}, starting"
    rate = done / seconds
    left = timedelta(seconds=round((total - done) / rate))
    return f"{share}, {rate:.0f} steps/s, {left} left"


def _tell(jobs: list[TrainingJob]) -> None:
    total, began = sum(job.steps for job in jobs), time.monotonic()
    done = 0
    while done < total:
        done = sum(job.done() for job in jobs)
        print(describe(done, total, time.monotonic() - began), file=sys.stderr, flush=True)
        time.sleep(SECONDS_BETWEEN)
