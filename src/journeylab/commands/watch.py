"""``journeylab watch``: what a running workflow does, in a terminal, read from files alone."""

import contextlib
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from journeylab.commands.results import judged_studies, read_verdicts
from journeylab.config import UserError, build
from journeylab.records.files import find_files, read_json
from journeylab.records.live import STATES, Activity, Job, Pace, add_up
from journeylab.records.looks import FOLDER, LookRecord
from journeylab.wording.typography import clock, roughly
from journeylab.workflow.recovery import active_since

ONCE = typer.Option(help="Show the present state and end.")
_STUDIES = ("study", "arm", "seeds", "jobs", "", "steps", "steps/s", "time left", "judged")
_JOBS = ("job", "state", "", "steps", "loss", "steps/s", "time left", "last sign")
_NUMBERS = {"steps", "steps/s", "time left", "loss", "last sign"}
_CUT = {"arm", "jobs", "job", "steps", "judged"}
"""If the terminal is narrow, these columns give way first."""


def watch(
    root: Annotated[Path, typer.Option(help="Folder with plans/ and results/.")] = Path(),
    interval: Annotated[float, typer.Option(min=0.5, help="Seconds between two readings.")] = 2.0,
    once: Annotated[bool, ONCE] = False,
) -> None:
    """Show what a running workflow does: studies, arms, seeds, steps, time left, failures."""
    if not (root / "plans").is_dir():
        raise UserError(f"{root / 'plans'} is missing: no workflow has run here; write its --root")
    activity, console = Activity(root), Console()
    if once or not console.is_terminal:
        console.print(show(activity))
        return
    with until_ended(), Live(show(activity), console=console, auto_refresh=False) as live:
        while True:
            time.sleep(interval)
            live.update(show(activity), refresh=True)


@contextlib.contextmanager
def until_ended() -> Iterator[None]:
    """Run the block until SIGINT or SIGTERM ends it, which is no error.

    Python drops an exception that is raised while a finaliser runs; such an interrupt is repeated.
    """

    def repeat(dropped: "sys.UnraisableHookArgs") -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
        else:
            reported(dropped)

    reported, sys.unraisablehook = sys.unraisablehook, repeat
    ending = (signal.SIGTERM, signal.SIGALRM)
    before = [signal.signal(each, signal.default_int_handler) for each in ending]
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        sys.unraisablehook = reported
        for each, handler in zip(ending, before, strict=True):
            signal.signal(each, handler)


def show(activity: Activity, project: Path = Path()) -> Group:
    """Read all files that changed: studies, jobs and failures; snakemake runs in `project`."""
    now, since = time.time(), active_since(project / ".snakemake")
    studies = activity.read(since=since)
    active = {
        study: jobs
        for study, jobs in studies.items()
        if any(job.state != "waiting" for job in jobs)
    }
    jobs = [job for each in active.values() for job in each]
    workflow = "no workflow is active on this machine"
    if since is not None:
        workflow = f"a workflow is active, since {clock(now - since)}"
    name = f"journeylab {activity.root}" if activity.root != Path() else "journeylab"
    rows = [row for study in active for row in _rows(activity.root, study, active[study])]
    parts: list[RenderableType] = [
        Text(f"{name}   {datetime.now().astimezone():%Y-%m-%d %H:%M:%S}   {workflow}"),
        _table(_STUDIES, rows),
    ]
    begun = [_job_row(job, now) for job in jobs if job.state in ("running", "stopped")]
    if begun:
        parts.append(_table(_JOBS, begun))
    failures = [(job.plan.label, reason) for job in jobs for reason in job.failures]
    failures += activity.errors().items()
    if failures:
        lines = [Text.assemble((each, "red"), f"  {why}\n") for each, why in failures]
        parts.append(Text.assemble(("failures\n", "bold red"), *lines))
    if waiting := [study for study in studies if study not in active]:
        parts.append(Text(f"not begun: {', '.join(waiting)}", style="dim"))
    return Group(*(line for part in parts for line in (part, Text())))


def judged(root: Path, study: str) -> str:
    """How far the verdicts of a study are: “look 1, 12 seeds: 4 of 9 claims open, 6 runs go on”.

    The last look of a study with looks, else its verdicts; "" before the first.
    """
    looks = find_files(root / "results" / study / FOLDER, "*.json")
    try:
        if looks:
            last = max(looks, key=lambda path: int(path.stem))
            return build(LookRecord, read_json(last), str(last)).summary
        if study not in judged_studies(root):
            return ""
        verdicts = read_verdicts(root, study)
    except UserError as error:
        return str(error).partition(";")[0]
    rows = [row for row in verdicts.verdicts if row.primary and row.k is not None]
    still_open = sum(row.verdict in (None, "inconclusive") for row in rows)
    return f"{verdicts.seeds} seeds: {still_open} of {len(rows)} claims open"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str | Pace]]) -> Table:
    """A table without lines; the pace of a row becomes a bar."""

    def cell(column: str, content: str | Pace) -> Text | ProgressBar | str:
        if not isinstance(content, str):
            share = content.done / content.total if content.total else None
            return "" if share is None else ProgressBar(1.0, share, width=12)
        return Text(content, no_wrap=True, overflow="ellipsis") if column in _CUT else content

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in columns:
        numeric = column in _NUMBERS
        table.add_column(column, justify="right" if numeric else "left", no_wrap=column not in _CUT)
    for row in rows:
        table.add_row(*map(cell, columns, row))
    return table


def _rows(root: Path, study: str, jobs: list[Job]) -> Iterator[list[str | Pace]]:
    """The row of a study, and of each of its arms while not all of them are done."""
    yield [study, "", *_counts(jobs), judged(root, study)]
    arms: dict[str, list[Job]] = {}
    for job in jobs:
        arms.setdefault(job.plan.arm or "", []).append(job)
    if any(job.state != "done" for job in jobs):
        for arm, members in arms.items():
            yield ["", arm, *_counts(members), ""]


def _counts(jobs: list[Job]) -> list[str | Pace]:
    """Seeds, jobs by state, and the steps of these jobs."""
    counts = Counter(job.state for job in jobs)
    known = {seed for job in jobs for seed in job.plan.seeds or ()}
    unfinished = {seed for job in jobs if job.state != "done" for seed in job.plan.seeds or ()}
    seeds = f"{len(known - unfinished)} of {len(known)}" if known else "–"
    states = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
    bar, steps, rate, left = _steps(add_up(job.pace for job in jobs))
    return [seeds, states, bar, steps, rate, left]


def _job_row(job: Job, now: float) -> list[str | Pace]:
    progress = job.progress
    loss = "–" if progress is None or progress.loss is None else f"{progress.loss:.4f}"
    sign = "–" if job.sign is None else f"{max(now - job.sign, 0.0):.0f} s ago"
    bar, steps, rate, left = _steps(job.pace)
    return [job.plan.label, job.state, bar, steps, loss, rate, left, sign]


def _steps(pace: Pace) -> tuple[Pace, str, str, str]:
    """Cells: the bar, the steps, the steps per second, and the time left."""
    steps = f"{pace.done:,} of {pace.total:,}" if pace.total else "–"
    rate = f"{pace.rate:,.1f}" if pace.rate else "–"
    return pace, steps, rate, "–" if pace.left is None else roughly(pace.left)
