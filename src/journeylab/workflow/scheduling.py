"""Additions to snakemake's scheduler."""

from __future__ import annotations

from typing import Any

DEFAULT_LIMIT = (100, 1)
"""The jobs that snakemake starts at most, in this many seconds, if nobody sets a limit."""


def lift_default_limit(scheduler: Any) -> None:
    """Remove snakemake's default limit of job starts; a limit that was chosen stays.

    As long as jobs are ready, a scheduler with a limit ends each of its passes by starting a timer
    for another pass. Each finished job adds such a chain of timers: after some hundred jobs they
    take a third of a core.
    """
    limiter = scheduler.job_rate_limiter
    if limiter is not None and (limiter.max_jobs, limiter.timespan) == DEFAULT_LIMIT:
        scheduler.job_rate_limiter = None
