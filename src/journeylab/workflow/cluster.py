"""What a run on a SLURM cluster needs besides snakemake's executor for it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from typing import Any

from journeylab.config import UserError


def prepare_cluster(workflow: Any) -> None:
    """Make the executor of a workflow ask SLURM as often as its profile says.

    Raises UserError where jobs are to go to SLURM and there is none. Does nothing elsewhere.
    """
    if workflow.executor_plugin.name != "slurm":
        return
    if shutil.which("sbatch") is None:
        raise UserError(
            "there is no SLURM on this machine (sbatch is missing); "
            "without --workflow-profile profiles/slurm jobs run here"
        )
    seconds = workflow.remote_execution_settings.seconds_between_status_checks
    ask_steadily(workflow.scheduler._executor, seconds)


def submitted_studies(arguments: Sequence[str]) -> set[str]:
    """The studies of the jobs that snakemake's command line on a node names, by their wildcards.

    A job starts snakemake twice, and reading every study takes it longer than all else.
    """
    return set(re.findall(r"\bstudy=(exp\d+)\b", " ".join(arguments)))


def ask_steadily(executor: Any, seconds: float) -> None:
    """Let no more than `seconds` pass between two looks at the jobs.

    The executor waits 10 s longer whenever nothing has ended, up to three minutes, and so takes
    that long to notice the end of a job that trained for long.
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
