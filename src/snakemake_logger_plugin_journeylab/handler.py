"""The handler of snakemake's log records: our lines for jobs, snakemake's own for all else."""

import contextlib
import re
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from logging import LogRecord
from pathlib import Path
from typing import Any, NamedTuple

from snakemake.logging import ColorizingTextHandler, DefaultFilter, DefaultFormatter
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from journeylab.records.live import Pace, read_progress
from journeylab.records.stages import STAGES
from journeylab.wording.costs import Outline
from journeylab.wording.typography import clock, roughly
from snakemake_logger_plugin_journeylab import wording
from snakemake_logger_plugin_journeylab.dryrun import summary

SECONDS_BETWEEN_LINES = 30.0
_NOISE = re.compile(
    r"Assuming unrestricted|host: |Building DAG|Using shell|Select jobs|Conda environments: ignored"
    r"|Singularity containers: ignored|Group jobs: inactive|Removing output files of failed"
    r"|Complete log|Elapsed time|Using (workflow specific )?profile|Will exit after finishing"
    r"|DAG of jobs will be updated|Updating checkpoint dependencies|The run involves checkpoint"
    r"|Trying to restart|SLURM run ID|Job \d+ has been submitted|Cleaning up SLURM log files"
    # about options that the profile sets or leaves commented out
    r"|No SLURM account given|No account was given|Unable to guess SLURM account"
    r"|MinJobAge \d+s \(>="
    # its line has been printed
    r"|journeylab\.workflow\.submission\.StoppedError|Exception in run_job for rule"
    # after the command of a job failed: its log holds the reason
    r"|RuleException:\s+CalledProcessError|Exiting because a job execution failed"
    r"|WorkflowError:\s+At least one job did not complete successfully"
)
_SILENT = (
    *(LogEvent.WORKFLOW_STARTED, LogEvent.RESOURCES_INFO, LogEvent.JOB_STARTED),
    *(LogEvent.GROUP_INFO, LogEvent.GROUP_ERROR),  # each job of a group has a record of its own
)


class _Job(NamedTuple):
    name: str
    rule: str
    began: float
    input: list[str]
    output: list[str]
    log: list[str]


def training_line(totals: dict[str, int], ended: Iterable[str], running: Collection[str]) -> str:
    """The progress of all training jobs together; `totals` are the steps of their plans."""
    begun = {plan: progress for plan in running if (progress := read_progress(Path(plan)))}
    totals |= {plan: progress.total for plan, progress in begun.items()}  # also of later looks
    done = sum(totals.get(plan, 0) for plan in ended) + sum(each.done for each in begun.values())
    rate = sum(each.rate or 0.0 for each in begun.values())
    pace = Pace(done, sum(totals.values()), rate)
    line = f"training: {100 * pace.done // max(pace.total, 1)} % of {pace.total:,} steps"
    if pace.left:
        digits = 0 if pace.rate >= 10 else 1
        line += f" · {pace.rate:,.{digits}f} steps/s · {roughly(pace.left)} left"
    if waiting := len(running) - len(begun):
        line += f" · {waiting} of {len(running)} jobs have not begun"
    return line


class LogHandler(LogHandlerBase):
    """Plain lines about jobs by name, on a terminal and in a pipe alike."""

    writes_to_stream = has_filter = has_formatter = True
    writes_to_file = needs_rulegraph = False

    def __post_init__(self) -> None:
        """Set up the state of a run before its first record."""
        settings = self.common_settings
        self.stream = sys.stdout if settings.stdout else sys.stderr
        self.quiet = set(settings.quiet or ())
        shown = (settings.debug_dag, settings.verbose, settings.dryrun, settings.printshellcmds)
        self.own = ColorizingTextHandler(
            nocolor=settings.nocolor,
            stream=self.stream,
            formatter=DefaultFormatter(self.quiet, settings.show_failed_logs),
            filter=DefaultFilter(self.quiet, *shown),
        )
        self.jobs: dict[int, _Job] = {}
        self.failed: dict[int, _Job] = {}
        self.reports: list[_Job] = []
        self.total = self.finished = 0
        self.steps: dict[str, int] = {}
        self.trained: set[str] = set()
        self.planned: list[Mapping[str, Any]] = []
        self.outline: Callable[[], Mapping[str, Outline]] = dict
        self.closing = threading.Event()

    def emit(self, record: LogRecord) -> None:
        """Print a record, or pass it to snakemake's own handler."""
        settings, text = self.common_settings, str(record.msg)
        try:
            if settings.verbose or (settings.dryrun and settings.printshellcmds):
                self.own.handle(record)
                return
            handled = self._preview if settings.dryrun else self._print
            if not handled(record.__dict__, text) and not _NOISE.match(text):
                self.own.handle(record)
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """Print the failed jobs and the new reports at the end."""
        if not self.closing.is_set():
            self.closing.set()
            with contextlib.suppress(OSError, ValueError):  # a pipe whose reader has gone
                self._sum_up()
        super().close()

    def _preview(self, about: Mapping[str, Any], text: str) -> bool:
        """Collect the jobs of a dry run; print them as a table before snakemake's last message."""
        event = about.get("event")
        if "outline" in about:
            self.outline = about["outline"]
        elif event == LogEvent.JOB_INFO:
            self.planned.append(about)
        elif text.startswith("This was a dry-run"):
            self._say("\n".join(summary(self.planned, self.outline())))
        else:
            return event not in (None, LogEvent.ERROR) or text.startswith("Reasons:")
        return True

    def _print(self, about: Mapping[str, Any], text: str) -> bool:
        """Handle a record about jobs; False for any other record."""
        match about.get("event"):
            case LogEvent.RUN_INFO:
                counts = {
                    rule: n
                    for rule, n in about["stats"].items()
                    if rule.partition("_")[0] in STAGES
                }
                self.total = sum(counts.values())
                each = ", ".join(f"{n} {rule.partition('_')[0]}" for rule, n in counts.items())
                self._say(f"{self.total} jobs: {each}", Quietness.PROGRESS)
            case LogEvent.PROGRESS:
                self.total = max(self.total, about["total"] - 1)  # a look adds jobs
            case LogEvent.JOB_INFO:
                self._begin(about)
            case LogEvent.JOB_FINISHED:
                self._finish(about)
            case LogEvent.JOB_ERROR:
                self._fail(about)
            case _ if about.get("training"):
                self.steps = dict(about["training"])
                threading.Thread(target=self._follow, daemon=True).start()
            case event:
                return event in _SILENT or "training" in about or "outline" in about
        return True

    def _begin(self, about: Mapping[str, Any]) -> None:
        rule, files = about["rule_name"], [list(about[each]) for each in ("input", "output", "log")]
        name = wording.name_job(rule, about["wildcards"] or {})
        self.jobs[about["jobid"]] = _Job(name, rule, about["created"], *files)
        self.failed.pop(about["jobid"], None)  # a retry
        if rule == "train":
            with contextlib.suppress(OSError):  # the progress of an earlier attempt
                Path(files[0][0]).with_suffix(".progress.json").unlink(missing_ok=True)

    def _finish(self, about: Mapping[str, Any]) -> None:
        job = self.jobs.pop(about["job_id"], None)
        if job is None or not job.output:  # a target rule, which only collects files
            return
        self.finished += 1
        if job.rule == "train":
            self.trained.add(job.input[0])
        if any(path.endswith(".pdf") for path in job.output):
            self.reports.append(job)
        self.total = max(self.total, self.finished + len(self.jobs))  # a look adds jobs
        count, took = f"[{self.finished}/{self.total}]", clock(about["created"] - job.began)
        self._say(f"{count} {job.name} · {took}", Quietness.RULES)
        if job.rule in ("look", "choose"):
            self._say(wording.describe(job.rule, Path(job.output[0])), Quietness.PROGRESS)

    def _fail(self, about: Mapping[str, Any]) -> None:
        jobid, given, now = about["jobid"], list(about["log"]), about["created"]
        if jobid in self.failed and jobid not in self.jobs:  # already printed
            return
        unknown = _Job(about["rule_name"], about["rule_name"], now, [], [], given)
        job = self.failed[jobid] = self.jobs.pop(jobid, unknown)
        lines = [f"failed: {job.name} · {clock(now - job.began)}"]
        lines += [f"  {line}" for line in wording.cluster_message(about["rule_msg"] or "")]
        if wording.was_refused(about["rule_msg"] or ""):
            self.failed[jobid] = job._replace(log=[])
            self._say("\n".join(lines))
            return
        # a cluster's log repeats the job's log, unless SLURM ended the job before it wrote a line
        others = [log for log in given if log not in job.log]
        logs = [log for log in job.log if not others or wording.has_text(Path(log))]
        self.failed[jobid] = job._replace(log=logs or others)
        for log in logs:
            lines += [*(f"  {line}" for line in wording.why(Path(log))), f"  log: {log}"]
        for log in others:
            said = wording.cluster_errors(Path(log)) or ([] if logs else wording.why(Path(log)))
            lines += [*(f"  {line}" for line in said), f"  log: {log}"]
        if not logs and not others:
            reason = about["rule_msg"] or about["shellcmd"] or "it has no log"
            lines += [f"  {line}" for line in str(reason).strip().splitlines()]
        self._say("\n".join(lines))

    def _follow(self) -> None:
        """Print the progress of training until the run ends; errors here do not stop a job."""
        printed = ""
        while not self.closing.wait(SECONDS_BETWEEN_LINES):
            with self.lock or contextlib.nullcontext():
                running = [job.input[0] for job in self.jobs.values() if job.rule == "train"]
                line = training_line(self.steps, self.trained, running)
                if running and line != printed:
                    printed = line
                    self._say(line, Quietness.PROGRESS)

    def _sum_up(self) -> None:
        if self.failed:
            self._say(f"{len(self.failed)} of {self.total} jobs failed:")
        for job in self.failed.values():
            self._say(f"  {job.name}" + "".join(f" · {log}" for log in job.log))
        for job in self.reports:
            verdicts = [Path(path) for path in job.input if path.endswith("/verdicts.json")]
            found = wording.count_verdicts(verdicts) if verdicts else "made"
            self._say(f"{job.output[0]}: {found}", Quietness.PROGRESS)

    def _say(self, text: str, kind: Quietness | None = None) -> None:
        if kind not in self.quiet and Quietness.ALL not in self.quiet:
            self.stream.write(f"{text}\n")
            self.stream.flush()
