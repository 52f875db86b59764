"""``journeylab list``: the studies, their arms and variants, and how many runs are done."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from journeylab.commands.results import CONFIG, current_plan


def list_studies(config: Annotated[Path, CONFIG] = Path("config.yaml")) -> None:
    """List studies with their arms and variants, and how many of their runs are done."""
    from journeylab.catalogue import metrics_part
    from journeylab.records.runs import RUN

    plan = current_plan(config)
    for study in plan.studies:
        results = Path(plan.folder("results")) / study
        jobs = plan.jobs[study].values()
        done = sum((results / job.folder / RUN).exists() for job in jobs)
        seeds = plan.seeds(study)
        first = len(seeds.first.select(job.folder for job in jobs))
        most = f" at the first look and at most {len(jobs)}" if first < len(jobs) else ""
        typer.echo(f"{study}  {metrics_part(study).TITLE}")
        typer.echo(
            f"    {done} of {first} runs{most} done, seeds {seeds.all[0]} to {seeds.all[-1]}"
        )
        for arm, variants in plan.variants(study).items():
            typer.echo(f"    {arm}: {', '.join(variants)}")
