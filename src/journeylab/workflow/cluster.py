"""Additions to snakemake's scheduler and to its SLURM executor."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from typing import Any

from journeylab.config import UserError

DEFAULT_LIMIT = (100, 1)
"""The jobs that snakemake starts at most, in this many seconds, if nobody sets a limit."""


def prepare_cluster(workflow: Any) -> None:
    """Make the SLURM executor poll at the interval of its profile.

    Raises UserError if jobs are to be submitted to SLURM and the machine has none. Other executors
    stay as they are.
    """
    if workflow.executor_plugin.name != "slurm":
        return
    if shutil.which("sbatch") is None:
        raise UserError(
            "there is no SLURM on this machine (sbatch is missing); "
            "without --workflow-profile profiles/slurm jobs run here"
        )
    seconds = workflow.remote_execution_settings.seconds_between_status_checks
    poll_steadily(workflow.scheduler._executor, seconds)


def submitted_studies(arguments: Sequence[str]) -> set[str]:
    """The studies in the wildcards of the command line with which snakemake starts a job on a node.

    Each job starts snakemake twice; reading all studies would take most of that time.
    """
    return set(re.findall(r"\bstudy=(exp\d+)\b", " ".join(arguments)))


def poll_steadily(executor: Any, seconds: float) -> None:
    """Limit the time between two status checks to `seconds`.

    The executor extends the interval by 10 s whenever no job has ended, up to three minutes, and
    therefore notices the end of a long job late.
    """
    kind = type(executor)

    class Steady(kind):  # type: ignore[misc, valid-type]
        @property
        def next_seconds_between_status_checks(self) -> float:
            return min(float(kind.next_seconds_between_status_checks.fget(self)), seconds)

        @next_seconds_between_status_checks.setter
        def next_seconds_between_status_checks(self, value: float) -> None:
            kind.next_seconds_between_status_checks.fset(self, value)

    executor.__class__ = Steady


def lift_default_limit(scheduler: Any) -> None:
    """Remove snakemake's default limit of job starts; a limit that was chosen stays.

    As long as jobs are ready, a scheduler with a limit ends each of its passes by starting a timer
    for another pass. Each finished job adds such a chain of timers: after some hundred jobs they
    take a third of a core.
    """
    limiter = scheduler.job_rate_limiter
    if limiter is not None and (limiter.max_jobs, limiter.timespan) == DEFAULT_LIMIT:
        scheduler.job_rate_limiter = None
