"""The executor of jobs on SLURM, so that a workflow outlives what its plugin does not.

When one poll fails, the plugin forgets all jobs, and the workflow waits for ever. Its polls grow
rarer while no job ends, and a job that sbatch could not hand over fails; here it is sent later.
"""

import asyncio
import re
import shlex
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
from snakemake_executor_plugin_slurm import Executor  # type: ignore[import-untyped]
from snakemake_executor_plugin_slurm.job_status_query import (  # type: ignore[import-untyped]
    query_job_status_sacct,
    query_job_status_squeue,
)
from snakemake_executor_plugin_slurm.utils import get_job_wildcards  # type: ignore[import-untyped]
from snakemake_interface_executor_plugins.executors.base import (  # type: ignore[import-untyped]
    SubmittedJobInfo,
)

from journeylab.wording.typography import roughly
from journeylab.workflow.recovery import held_job, is_held, lacks_nodes

FAILED = (
    *("BOOT_FAIL", "CANCELLED", "DEADLINE", "ERROR", "FAILED", "NODE_FAIL"),
    *("OUT_OF_MEMORY", "TIMEOUT"),
)
AWAY = re.compile(
    r"(?i)contact slurm|connect|timed out|munge|authenticat|temporarily|socket|Zero Bytes"
)
"""What sbatch says if SLURM may take the same job later."""
SECONDS_TO_ANSWER = 60.0
SECONDS_TO_END = 4.0
"""How long a command of SLURM may take while the workflow is being ended."""
SECONDS_BETWEEN_ATTEMPTS = 60.0
SECONDS_OF_CLOCKS = 60.0
"""How far the clocks of nodes and of the file server may be behind."""


class StoppedError(Exception):
    """The workflow stops, for a reason that was printed."""


def keep_polling(executor: Executor, seconds: float) -> None:
    """Make a SLURM executor poll every `seconds`, and outlive times when SLURM does not answer."""
    vars(executor).update(seconds=seconds, sent={}, ended=set(), unsent=[], waits=set(), reasons={})
    executor.__class__ = _Persistent


class _Persistent(Executor):  # type: ignore[misc]
    """The executor, with polls, submissions and an end of our own."""

    sent: dict[str, float]  # when each job was submitted
    ended: set[str]
    unsent: list[Any]
    waits: set[str]  # what was said of jobs that wait for somebody
    failures = 0  # polls in a row without an answer
    since: float
    reasons: dict[str, str]  # why jobs wait, where sacct tells states
    next_reasons = 0.0
    stopped = warned = False

    def report_job_submission(self, job: Any, register_job: bool = True) -> None:
        self.sent[job.external_jobid] = time.time()
        super().report_job_submission(job, register_job)

    def _report_job_error_threadsafe(self, job: Any, msg: str) -> None:
        if job.external_jobid is None and AWAY.search(msg):
            self.unsent.append(job.job)
        else:
            super()._report_job_error_threadsafe(job, msg)

    async def check_active_jobs(self, active: list[Any]) -> AsyncIterator[Any]:
        """Report the jobs that ended, yield the others; all if SLURM does not answer."""
        states = await self._read_states() if active or self.unsent else {}
        waits = set()
        for job in active:
            state, reason = (states or {}).get(job.external_jobid, ("", ""))
            if states is None or not self._ends(job, state):
                if is_held(reason):
                    waits.add(f"{job.job.output[0]}: {held_job(job.external_jobid, reason)}")
                elif lacks_nodes(reason):
                    waits.add(f"jobs wait, SLURM says: {reason}; sinfo -R says why")
                yield job
            else:
                self.ended.add(job.external_jobid)
        if states is not None:
            for text in sorted(waits - self.waits):
                self.logger.warning(text)
            self.waits = waits

    def _ends(self, job: Any, state: str) -> bool:
        """Whether a job has ended in this state, which is then reported."""
        number, settings = job.external_jobid, self.workflow.executor_settings
        log = job.aux["slurm_logfile"]
        # squeue forgets a job MinJobAge seconds after its end; accounting learns of it late
        gone = not state and self.get_status_command() == "squeue"
        if state == "COMPLETED" or (gone and self._has_made(job)):
            if not settings.keep_successful_logs:
                with suppress(OSError):
                    log.unlink(missing_ok=True)
            self.report_job_success(job)
        elif gone or (state in FAILED and not (state == "NODE_FAIL" and settings.requeue)):
            how = f"SLURM status is: '{state}'" if state else "it left the queue without results"
            text = f"SLURM-job '{number}' failed, {how}. "
            self.report_job_error(job, msg=text, aux_logs=[str(log)])
        else:
            return False
        return True

    def _has_made(self, job: Any) -> bool:
        """Whether all files of a job are there, and none is older than its submission."""
        sent = self.sent[job.external_jobid] - SECONDS_OF_CLOCKS
        files = map(Path, job.job.output)
        return all(file.exists() and file.stat().st_mtime > sent for file in files)

    async def _read_states(self) -> dict[str, tuple[str, str]] | None:
        """The state and the reason to wait of each job; None if they cannot be read."""
        by_accounting = self.get_status_command() == "sacct"
        command = (
            query_job_status_sacct(self.run_uuid)
            if by_accounting
            else query_job_status_squeue(self.run_uuid).replace("%T", "%T|%r")
        )
        rows, error = queue, _ = await self._ask(command)
        if rows is not None and self.unsent:
            comments = query_job_status_squeue(self.run_uuid).replace("%T", "%k")
            queue, error = await self._ask(comments)
        if queue is None:
            self._count_failure(error)
        elif self.failures:
            self.logger.warning(f"SLURM answers again, after {roughly(time.time() - self.since)}")
        elif queue is not rows:  # what was sent before the last failure is in the queue by now
            self._send_again(
                {row[1]: row[0] for row in queue if len(row) == 2 and row[0] not in self.sent}
            )
        if queue is not None:
            self.failures, self._next_seconds_between_status_checks = 0, self.seconds
        if rows is None:
            return None
        if not by_accounting:
            return {row[0]: (row[1], row[2]) for row in rows if len(row) == 3}
        # CANCELLED by 1000
        states = {row[0]: row[1].partition(" ")[0] for row in rows if len(row) == 2}
        if not {*states.values()} <= {"RUNNING", "COMPLETED", *FAILED}:
            await self._read_reasons()
        return {job: (state, self.reasons.get(job, "")) for job, state in states.items()}

    async def _read_reasons(self) -> None:
        """Ask squeue now and then why jobs wait: sacct does not know which jobs SLURM holds."""
        if time.monotonic() > self.next_reasons:
            self.next_reasons = time.monotonic() + SECONDS_BETWEEN_ATTEMPTS
            rows, _ = await self._ask(query_job_status_squeue(self.run_uuid).replace("%T", "%r"))
            if rows is not None:
                self.reasons = {row[0]: row[1] for row in rows if len(row) == 2}

    async def _ask(self, command: str) -> tuple[list[list[str]] | None, str]:
        """The fields of each line that a command of SLURM prints, or None and its error."""
        words = shlex.split(command)
        process = await asyncio.create_subprocess_exec(
            *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        reading, began = asyncio.create_task(process.communicate()), time.monotonic()
        while not reading.done():
            patience = SECONDS_TO_END if self._ending() else SECONDS_TO_ANSWER
            if time.monotonic() - began > patience or not self.wait:
                with suppress(ProcessLookupError):
                    process.kill()
            await asyncio.wait({reading}, timeout=0.5)
        out, err = (text.decode(errors="replace").strip() for text in reading.result())
        if process.returncode:
            return None, (err.splitlines() or [f"no answer to {words[0]}"])[-1]
        return [line.split("|") for line in out.splitlines()], ""

    def _count_failure(self, error: str) -> None:
        """Ask again later and later; stop if asked to, or after the attempts of the profile."""
        self.failures += 1
        if self.failures == 1:
            self.since = time.time()
            self.logger.warning(
                f"SLURM does not answer since {time.strftime('%H:%M:%S')} ({error}); "
                "its jobs go on, and snakemake asks again"
            )
        delay = self.seconds * 2 ** min(self.failures - 1, 10)
        self._next_seconds_between_status_checks = min(delay, SECONDS_BETWEEN_ATTEMPTS)
        attempts = self.workflow.executor_settings.status_attempts
        if self.wait and (self._ending() or self.failures >= attempts):
            since = time.strftime("%H:%M:%S", time.localtime(self.since))
            self.logger.error(
                f"error: SLURM does not answer since {since}; {self._left()}; then continue: "
                f"{shlex.join(['snakemake', *sys.argv[1:]])}"
            )
            self.stopped = True
            self.workflow.scheduler.executor_error_callback(StoppedError())

    def _send_again(self, unknown: dict[str, str]) -> None:
        """Submit again what SLURM did not take; adopt a job that it took without a word."""
        jobs, self.unsent = self.unsent, []
        for job in jobs:
            wildcards = get_job_wildcards(job)
            number = unknown.get(f"rule_{job.name}" + f"_wildcards_{wildcards}" * bool(wildcards))
            if self._ending():
                text = "It was not submitted: the workflow ends. "
                super()._report_job_error_threadsafe(SubmittedJobInfo(job), text)
            elif number is None:
                self._job_submission_executor.submit(self.run_job, job)
            else:
                log = self.slurm_logdir / f"rule_{job.name}" / wildcards / f"{number}.log"
                aux = {"slurm_logfile": log}
                info = SubmittedJobInfo(job, external_jobid=number, aux=aux)
                self._report_job_submission_threadsafe(info)

    async def sleep(self) -> None:
        """Wait for the next poll, or until the workflow ends; SIGTERM asks for one at once."""
        until = time.monotonic() + self.next_seconds_between_status_checks
        while self.wait and time.monotonic() < until:
            if self._ending() and not self.warned:
                self.warned = True
                if not self.failures and (jobs := self._running()):
                    numbers = " ".join(jobs)
                    text = f"Waiting for its SLURM jobs; to end them: scancel {numbers}"
                    self.logger.info(text)
                return
            await asyncio.sleep(0.5)

    def _ending(self) -> bool:
        return self.workflow.scheduler._user_kill is not None

    def _running(self) -> list[str]:
        return [number for number in list(self.sent) if number not in self.ended]

    def _left(self) -> str:
        numbers = " ".join(self._running())
        return f"wait for its jobs or end them: scancel {numbers}" if numbers else "no job is left"

    def cancel(self) -> None:
        """End all jobs, or name them if SLURM does not take the order."""
        self.stopped = True
        if jobs := self._running():
            command = [
                "scancel",
                *["--clusters=all"] * bool(self._submitted_job_clusters),
                *jobs,
            ]
            try:
                subprocess.run(command, capture_output=True, timeout=SECONDS_TO_END, check=True)
            except (OSError, subprocess.SubprocessError):
                text = f"error: SLURM does not answer; {self._left()}"
                self.logger.error(text)  # noqa: TRY400
        self.shutdown()

    def shutdown(self) -> None:
        if self.stopped:
            self._job_submission_executor.shutdown(wait=False, cancel_futures=True)
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):
                    if process.name() == "sbatch":
                        process.kill()
        super().shutdown()
