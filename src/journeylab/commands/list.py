"""``journeylab list``: the studies, their arms and variants, and how many runs are done."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from journeylab.catalogue import printed_names
from journeylab.commands.results import CONFIG, current_plan
from journeylab.config import UserError
from journeylab.records.runs import read_run
from journeylab.workflow.planning import WorkflowPlan


def list_studies(config: Annotated[Path, CONFIG] = Path("config.yaml")) -> None:
    """List studies with their arms and variants, and how many of their runs are done."""
    plan = current_plan(config)
    for study in plan.studies:
        jobs, seeds = plan.jobs[study], plan.seeds(study)
        taken = plan.taken_so_far(study).seeds.select(jobs)
        most = f", at most {len(jobs)} if claims stay open" if len(taken) < len(jobs) else ""
        typer.echo(f"{study}  {printed_names(study).title}")
        typer.echo(
            f"    {_done(plan, study, taken)} of {len(taken)} runs done{most}, "
            f"seeds {seeds.all[0]} to {seeds.all[-1]}"
        )
        for arm, variants in plan.variants(study).items():
            typer.echo(f"    {arm}: {', '.join(variants)}")


def _done(plan: WorkflowPlan, study: str, taken: Sequence[str]) -> int:
    """How many of these runs are done with the current plan."""
    results = Path(plan.folder("results")) / study
    if not results.is_dir():  # plan keys take a while
        return 0
    planned, done = plan.run_plans(study), 0
    for folder in taken:
        with suppress(UserError):  # missing, damaged, or of another plan
            read_run(results / folder, planned[folder][0].key)
            done += 1
    return done
