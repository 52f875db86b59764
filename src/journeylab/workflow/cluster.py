"""Additions to snakemake's scheduler and to its SLURM executor."""

import re
import shutil
from collections.abc import Sequence
from typing import Any

from journeylab.config import UserError

DEFAULT_LIMIT = (100, 1)
"""The jobs that snakemake starts at most, in this many seconds, if nobody sets a limit."""


def prepare_cluster(workflow: Any) -> None:
    """Make the SLURM executor poll at the interval of its profile, also after an outage of SLURM.

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
    from journeylab.workflow.submission import keep_polling  # only this executor needs it

    keep_polling(workflow.scheduler._executor, seconds)


def submitted_studies(arguments: Sequence[str]) -> set[str]:
    """The studies in the wildcards of the command line with which snakemake starts a job on a node.

    Each job starts snakemake twice; reading all studies would take most of that time.
    """
    return set(re.findall(r"\bstudy=(?:search/)?(exp\d+)\b", " ".join(arguments)))


def lift_default_limit(scheduler: Any) -> None:
    """Remove snakemake's default limit of job starts; a limit that was chosen stays.

    As long as jobs are ready, a scheduler with a limit ends each of its passes by starting a timer
    for another pass. Each finished job adds such a chain of timers: after some hundred jobs they
    take a third of a core.
    """
    limiter = scheduler.job_rate_limiter
    if limiter is not None and (limiter.max_jobs, limiter.timespan) == DEFAULT_LIMIT:
        scheduler.job_rate_limiter = None
