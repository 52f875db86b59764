"""The handler of snakemake's log records: our lines for jobs, snakemake's own for all else."""

from __future__ import annotations

import contextlib
import re
import sys
import threading
import time
from dataclasses import dataclass
from logging import INFO, LogRecord
from pathlib import Path
from typing import Any

from snakemake.logging import ColorizingTextHandler, DefaultFilter, DefaultFormatter
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_journeylab.dryrun import DryRun
from snakemake_logger_plugin_journeylab.training import TimeEstimate, Trainings, planned_steps
from snakemake_logger_plugin_journeylab.wording import (
    clock,
    cluster_message,
    count_verdicts,
    describe_look,
    name_job,
    why,
)

SECONDS_BETWEEN_READS, SECONDS_BETWEEN_LINES = 5.0, 30.0

_CHATTER = re.compile(
    r"Assuming unrestricted|host: |Building DAG|Using shell|Select jobs|Conda environments: ignored"
    r"|Singularity containers: ignored|Group jobs: inactive|Removing output files of failed"
    r"|Complete log|Elapsed time|Using (workflow specific )?profile|Will exit after finishing"
    r"|DAG of jobs will be updated|Updating checkpoint dependencies|The run involves checkpoint"
    r"|Trying to restart|SLURM run ID|Job \d+ has been submitted|Cleaning up SLURM log files"
)
_GUESSES = re.compile(  # about options that the profile sets or leaves commented out
    r"No SLURM account given|No account was given|Unable to guess SLURM account|MinJobAge \d+s \(>="
)
_REDUNDANT = re.compile(  # after the command of a job failed: its log holds the reason
    r"RuleException:\s+CalledProcessError"
    r"|Exiting because a job execution failed"
    r"|WorkflowError:\s+At least one job did not complete successfully"
)


@dataclass
class _Job:
    name: str
    began: float
    input: list[str]
    output: list[str]
    log: list[str]
    rule: str = ""

    @property
    def plan(self) -> str:
        """The plan of a training job; "" for other jobs."""
        return next((path for path in self.input if path.endswith("/train.json")), "")


class LogHandler(LogHandlerBase):
    """Plain lines about jobs by name, on a terminal and in a pipe alike."""

    def __post_init__(self) -> None:
        """Set up the state of a run before its first record."""
        settings = self.common_settings
        self.stream = sys.stdout if settings.stdout else sys.stderr
        self.quiet = set(settings.quiet or ())
        self.own = ColorizingTextHandler(
            nocolor=settings.nocolor,
            stream=self.stream,
            formatter=DefaultFormatter(self.quiet, settings.show_failed_logs),
            filter=DefaultFilter(
                self.quiet,
                settings.debug_dag,
                settings.verbose,
                settings.dryrun,
                settings.printshellcmds,
            ),
        )
        self.jobs: dict[int, _Job] = {}
        self.failed: dict[int, _Job] = {}
        self.total = self.finished = 0
        self.trainings = Trainings({})
        self.reports: list[_Job] = []
        self.closing = threading.Event()
        self.dry_run = DryRun()

    @property
    def writes_to_stream(self) -> bool:
        """The handler replaces snakemake's own lines."""
        return True

    @property
    def writes_to_file(self) -> bool:
        """Snakemake's own log file stays as it is."""
        return False

    @property
    def has_filter(self) -> bool:
        """The handler needs all records, also for its counts."""
        return True

    @property
    def has_formatter(self) -> bool:
        """The handler formats its own lines."""
        return True

    @property
    def needs_rulegraph(self) -> bool:
        """The handler needs records of jobs only."""
        return False

    def emit(self, record: LogRecord) -> None:
        """Print a record, or pass it to snakemake's own handler."""
        try:
            settings = self.common_settings
            if settings.verbose or (settings.dryrun and settings.printshellcmds):
                self.own.handle(record)
            elif settings.dryrun:
                self._preview(record)
            elif not self._print(record):
                self._pass_on(record)
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """Print the failed jobs and the new reports at the end."""
        if not self.closing.is_set():
            self.closing.set()
            with contextlib.suppress(OSError, ValueError):  # a pipe whose reader has gone
                self._sum_up()
        super().close()

    def _print(self, record: LogRecord) -> bool:
        """Handle a record about jobs; False for any other record."""
        event, about = getattr(record, "event", None), record.__dict__
        match event:
            case LogEvent.RUN_INFO:
                self._print_counts(about["stats"])
            case LogEvent.PROGRESS:
                self.total = max(self.total, about["total"] - 1)  # a look adds jobs
            case LogEvent.JOB_INFO:
                self._begin(about)
            case LogEvent.JOB_FINISHED:
                self._finish(about["job_id"], record.created)
            case LogEvent.JOB_ERROR:
                self._fail(about, record.created)
            case LogEvent.GROUP_ERROR | LogEvent.GROUP_INFO:
                pass  # each job of a group has a record of its own
            case LogEvent.WORKFLOW_STARTED | LogEvent.RESOURCES_INFO | LogEvent.JOB_STARTED:
                pass
            case _ if "outline" in about:
                pass  # for dry runs
            case _ if "training" in about:
                self._watch(about["training"])
            case _:
                return False
        return True

    def _preview(self, record: LogRecord) -> None:
        """Collect the jobs of a dry run; print them as a table before snakemake's last message."""
        about, text = record.__dict__, str(record.msg)
        event = about.get("event")
        if "outline" in about:
            self.dry_run.outline = about["outline"]
        elif event == LogEvent.JOB_INFO:
            self.dry_run.add(about)
        elif text.startswith("This was a dry-run"):
            self._say("\n".join(self.dry_run.lines()))
        elif event in (None, LogEvent.ERROR) and not text.startswith("Reasons:"):
            self._pass_on(record)

    def _pass_on(self, record: LogRecord) -> None:
        text = str(record.msg)
        chatter = record.levelno <= INFO and _CHATTER.match(text)
        redundant = _REDUNDANT.match(text) or _GUESSES.match(text)
        if not chatter and not redundant:
            self.own.handle(record)

    def _print_counts(self, stats: dict[str, int]) -> None:
        """Print how many jobs there are of each kind."""
        counts = {rule: n for rule, n in stats.items() if rule not in ("total", "all")}
        self.total = sum(counts.values())
        each = ", ".join(f"{n} {rule.partition('_')[0]}" for rule, n in counts.items())
        self._say(f"{self.total} jobs: {each}", Quietness.PROGRESS)

    def _begin(self, about: dict[str, Any]) -> None:
        job = _Job(
            name=name_job(about["rule_name"], about["wildcards"] or {}),
            began=about["created"],
            input=list(about["input"]),
            output=list(about["output"]),
            log=list(about["log"]),
            rule=about["rule_name"],
        )
        self.jobs[about["jobid"]] = job
        self.failed.pop(about["jobid"], None)  # a retry
        if job.plan:
            if job.plan not in self.trainings.totals:  # a later look
                self._watch({job.plan: planned_steps(job.plan)})
            self.trainings.start(job.plan)

    def _finish(self, jobid: int, now: float) -> None:
        job = self.jobs.pop(jobid, None)
        if job is None or not job.output:  # a target rule, which only collects files
            return
        self.finished += 1
        if job.plan in self.trainings.totals:
            self.trainings.finish(job.plan)
        if any(path.endswith(".pdf") for path in job.output):
            self.reports.append(job)
        self.total = max(self.total, self.finished + len(self.jobs))  # a look adds jobs
        count = f"[{self.finished}/{self.total}]"
        self._say(f"{count} {job.name} · {clock(now - job.began)}", Quietness.RULES)
        if job.rule == "look":
            self._say(describe_look(Path(job.output[0])), Quietness.PROGRESS)

    def _fail(self, about: dict[str, Any], now: float) -> None:
        job = self.jobs.pop(about["jobid"], None)
        if job is None:
            if about["jobid"] in self.failed:  # already printed
                return
            job = _Job(about["rule_name"], now, [], [], list(about["log"]))
        elif job.plan in self.trainings.totals:
            self.trainings.leave(job.plan)
        self.failed[about["jobid"]] = job
        lines = [f"failed: {job.name} · {clock(now - job.began)}"]
        lines += [f"  {line}" for line in cluster_message(about["rule_msg"] or "")]
        logs = job.log + [path for path in about["log"] if path not in job.log]
        began = any(Path(log).exists() for log in job.log)
        for log in logs:
            if log in job.log or not began:  # else the cluster's log repeats the job's log
                lines += [f"  {line}" for line in why(Path(log))]
            lines.append(f"  log: {log}")
        if not logs:
            reason = about["rule_msg"] or about["shellcmd"] or "it has no log"
            lines += [f"  {line}" for line in str(reason).strip().splitlines()]
        self._say("\n".join(lines))

    def _watch(self, totals: dict[str, int]) -> None:
        """Follow the progress of these training jobs, with their steps."""
        first = totals and not self.trainings.totals
        self.trainings.add(totals)
        if first:
            threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        """Print the progress of training until the run ends; errors here do not stop a job."""
        estimate, due, printed = TimeEstimate(self.trainings.total), 0.0, ""
        previous, at_work = time.monotonic(), 0.0
        while not self.closing.wait(SECONDS_BETWEEN_READS):
            with self.lock or contextlib.nullcontext():
                now, done = time.monotonic(), self.trainings.sum()
                estimate.total = self.trainings.total
                if self.trainings.at_work:  # time in which all jobs wait for a node does not count
                    at_work += now - previous
                previous = now
                line = estimate.line(done, at_work)
                if waiting := self.trainings.waiting:
                    line += f" · {waiting} of {len(self.trainings.running)} jobs have not begun"
                if self.trainings.running and now >= due and line != printed:
                    due, printed = now + SECONDS_BETWEEN_LINES, line
                    self._say(line, Quietness.PROGRESS)

    def _sum_up(self) -> None:
        if self.failed:
            self._say(f"{len(self.failed)} of {self.total} jobs failed:")
        for job in self.failed.values():
            self._say(f"  {job.name}" + "".join(f" · {log}" for log in job.log))
        for job in self.reports:
            self._say(f"{job.output[0]}: {_headline(job)}", Quietness.PROGRESS)

    def _say(self, text: str, kind: Quietness | None = None) -> None:
        if kind in self.quiet or Quietness.ALL in self.quiet:
            return
        self.stream.write(f"{text}\n")
        self.stream.flush()


def _headline(job: _Job) -> str:
    """The verdicts of a report's studies, counted."""
    verdicts = [Path(path) for path in job.input if path.endswith("/verdicts.json")]
    return count_verdicts(verdicts) if verdicts else "made"
