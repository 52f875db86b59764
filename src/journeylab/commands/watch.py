"""``journeylab watch``: what a running workflow does, in a terminal and as one HTML page.

Both show the same `Page`, which is read from files alone.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from importlib.resources import files as resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from journeylab.config import UserError, build

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

    from journeylab.workflow.activity import Activity, JobActivity

HTML = typer.Option(help="Also write the page to this file.")
ONCE = typer.Option(help="Show the present state and end.")
_NUMBERS = ("steps", "steps/s", "time left", "loss", "last sign")


class Row(NamedTuple):
    """A study (`arm` is empty) or one of its arms: seeds, jobs by state, steps, and the time left.

    `judged` says how far the verdicts of a study are.
    """

    study: str
    arm: str
    seeds: str
    jobs: str
    share: float | None
    steps: str
    rate: str
    left: str
    judged: str = ""


class JobRow(NamedTuple):
    """A job that runs, or that began and stopped."""

    name: str
    state: str
    share: float | None
    steps: str
    loss: str
    rate: str
    left: str
    sign: str


class Page(NamedTuple):
    """All that is shown. `failures` are pairs of a job or log and its error."""

    title: str
    moment: str
    workflow: str
    rows: list[Row]
    jobs: list[JobRow]
    failures: list[tuple[str, str]]
    waiting: str


def watch(
    root: Annotated[Path, typer.Option(help="Folder with plans/ and results/.")] = Path(),
    html: Annotated[Path | None, HTML] = None,
    interval: Annotated[float, typer.Option(min=0.5, help="Seconds between two readings.")] = 2.0,
    once: Annotated[bool, ONCE] = False,
) -> None:
    """Show what a running workflow does: studies, arms, seeds, steps, time left, failures."""
    from rich.console import Console
    from rich.live import Live

    from journeylab.workflow.activity import Activity

    if not (root / "plans").is_dir():
        raise UserError(f"{root / 'plans'} is missing: no workflow has run here; write its --root")
    activity, console = Activity(root), Console()
    if once or not (console.is_terminal or html):
        page = read_page(activity)
        if html is not None:
            write_page(html, page)
        console.print(show(page))
        return
    page = read_page(activity)
    try:
        with Live(show(page), console=console, auto_refresh=False, transient=False) as live:
            while True:
                if html is not None:
                    write_page(html, page, refresh=max(1, round(interval)))
                live.update(show(page), refresh=True)
                time.sleep(interval)
                page = read_page(activity)
    except KeyboardInterrupt:
        return
    finally:
        if html is not None:
            write_page(html, page)  # without refresh: nobody updates it


def read_page(activity: Activity) -> Page:
    """Read all files that changed, and put together what is shown."""
    from journeylab.workflow.recovery import active_since
    from snakemake_logger_plugin_journeylab.wording import clock

    now = time.time()
    studies = activity.read()
    errors = activity.errors()
    since = active_since(activity.project / ".snakemake")
    active = {
        study: jobs
        for study, jobs in studies.items()
        if any(job.state != "waiting" for job in jobs)
    }
    waiting = [study for study in studies if study not in active]
    jobs = [job for each in active.values() for job in each]
    failures = [(job.plan.label, reason) for job in jobs for reason in job.failures]
    workflow = "no workflow is active on this machine"
    if since is not None:
        workflow = f"a workflow is active, since {clock(now - since)}"
    return Page(
        title=f"journeylab {activity.root}" if activity.root != Path() else "journeylab",
        moment=f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S}",
        workflow=workflow,
        rows=[row for study in active for row in _rows(activity.root, study, active[study])],
        jobs=[_job_row(job, now) for job in jobs if job.state in ("running", "stopped")],
        failures=failures + list(errors.items()),
        waiting=", ".join(waiting),
    )


def judged(root: Path, study: str) -> str:
    """How far the verdicts of a study are: “look 1, 12 seeds: 4 of 9 claims open, 6 runs go on”.

    The last look of a study with sequential looks, else its verdicts; "" before the first.
    """
    from journeylab.records.files import VERDICTS, read_json
    from journeylab.records.listing import find_files
    from journeylab.records.looks import FOLDER, LookRecord
    from journeylab.records.verdicts import StudyVerdicts

    results = root / "results" / study
    looks = sorted(find_files(results / FOLDER, "*.json"), key=lambda path: int(path.stem))
    path = looks[-1] if looks else results / VERDICTS
    if not path.exists():
        return ""
    try:
        if looks:
            return build(LookRecord, read_json(path), str(path)).summary
        verdicts = build(StudyVerdicts, read_json(path), str(path))
    except UserError:
        return f"{path} is damaged"
    rows = [row for row in verdicts.verdicts if row.primary and row.kind != "exact"]
    still_open = sum(row.verdict in (None, "inconclusive") for row in rows)
    return f"{verdicts.seeds} seeds: {still_open} of {len(rows)} claims open"


def show(page: Page) -> Group:
    """The page for a terminal."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    def table(*columns: str) -> Table:
        made = Table(box=None, pad_edge=False, header_style="dim")
        for column in columns:
            right = column in _NUMBERS
            # if the terminal is narrow, the widest of the others give way first
            whole = column in ("study", "seeds", "steps/s", "time left", "loss", "last sign")
            made.add_column(column, justify="right" if right else "left", no_wrap=whole)
        return made

    def cut(cell: str) -> Text:
        return Text(cell, no_wrap=True, overflow="ellipsis")

    def bar(share: float | None) -> ProgressBar | str:
        return "" if share is None else ProgressBar(total=1.0, completed=share, width=12)

    studies = table("study", "arm", "seeds", "jobs", "", "steps", "steps/s", "time left", "judged")
    for row in page.rows:
        named = (row.study if not row.arm else "", cut(row.arm), row.seeds, cut(row.jobs))
        numbers = (cut(row.steps), row.rate, row.left)
        style = "" if row.arm else "bold"
        studies.add_row(*named, bar(row.share), *numbers, row.judged, style=style)
    parts: list[RenderableType] = [
        Text(f"{page.title}   {page.moment}   {page.workflow}"),
        Text(),
        studies,
    ]
    if page.jobs:
        jobs = table("job", "state", "", "steps", "loss", "steps/s", "time left", "last sign")
        for job in page.jobs:
            cells = [cut(job.name), job.state, bar(job.share), cut(job.steps), *job[4:]]
            jobs.add_row(*cells, style="yellow" if job.state == "stopped" else "")
        parts += [Text(), jobs]
    if page.failures:
        parts += [Text(), Text("failures", style="bold red")]
        parts += [Text.assemble((name, "red"), f"  {reason}") for name, reason in page.failures]
    if page.waiting:
        parts += [Text(), Text(f"not begun: {page.waiting}", style="dim")]
    return Group(*parts)


def write_page(path: Path, page: Page, refresh: int | None = None) -> None:
    """Write the page as one HTML file without scripts; `refresh` is in seconds."""
    from jinja2 import Environment, StrictUndefined

    from journeylab.records.files import write_atomic

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = resources("journeylab.commands").joinpath("watch.html.jinja")
    text = environment.from_string(template.read_text(encoding="utf-8")).render(
        page=page, refresh=refresh
    )
    with write_atomic(path, durable=False) as partial:
        partial.write_text(text, encoding="utf-8")


def _rows(root: Path, study: str, jobs: list[JobActivity]) -> Iterator[Row]:
    """The row of a study, and of each of its arms while not all of them are done."""
    yield _row(study, "", jobs)._replace(judged=judged(root, study))
    arms: dict[str, list[JobActivity]] = {}
    for job in jobs:
        arms.setdefault(job.plan.arm or "", []).append(job)
    if any(job.state != "done" for job in jobs):
        for arm, members in arms.items():
            yield _row(study, arm, members)


def _row(study: str, arm: str, jobs: list[JobActivity]) -> Row:
    from journeylab.workflow.activity import STATES

    counts = Counter(job.state for job in jobs)
    total, steps = sum(job.total for job in jobs), sum(job.steps for job in jobs)
    known = {seed for job in jobs for seed in job.plan.seeds or ()}
    unfinished = {seed for job in jobs if job.state != "done" for seed in job.plan.seeds or ()}
    return Row(
        study=study,
        arm=arm,
        seeds=f"{len(known - unfinished)} of {len(known)}" if known else "–",
        jobs=", ".join(f"{counts[state]} {state}" for state in STATES if counts[state]),
        share=steps / total if total else None,
        steps=f"{steps:,} of {total:,}" if total else "–",
        rate=_rate(sum(job.rate or 0.0 for job in jobs)),
        left=_left(jobs),
    )


def _job_row(job: JobActivity, now: float) -> JobRow:
    progress, total = job.progress, job.total
    return JobRow(
        name=job.plan.label,
        state=job.state,
        share=job.steps / total if total else None,
        steps=f"{job.steps:,} of {total:,}" if total else "–",
        loss="–" if progress is None or progress.loss is None else f"{progress.loss:.4f}",
        rate=_rate(job.rate),
        left=_left([job]),
        sign="–" if job.sign is None else f"{max(now - job.sign, 0.0):.0f} s ago",
    )


def _rate(rate: float | None) -> str:
    return f"{rate:,.1f}" if rate else "–"


def _left(jobs: list[JobActivity]) -> str:
    from journeylab.workflow.activity import remaining_seconds
    from snakemake_logger_plugin_journeylab.wording import roughly

    seconds = remaining_seconds(jobs)
    return "–" if seconds is None else roughly(seconds)
