"""``journeylab list``: the studies, their arms and variants, and how many runs are done."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from journeylab.catalogue import printed_names
from journeylab.commands.results import CONFIG, JSON, current_plan, print_json
from journeylab.config import UserError
from journeylab.records.runs import read_run
from journeylab.workflow.planning import WorkflowPlan


def list_studies(
    config: Annotated[Path, CONFIG] = Path("config.yaml"), json: Annotated[bool, JSON] = False
) -> None:
    """List studies with their arms and variants, and how many of their runs are done."""
    plan = current_plan(config)
    if json:
        print_json("list", studies=[_described(plan, study) for study in plan.studies])
        return
    for study in plan.studies:
        of = _described(plan, study)
        runs, (first, last) = of["runs"], of["seeds"]
        more = runs["needed"] < runs["most"]
        most = f", at most {runs['most']} if claims stay open" if more else ""
        typer.echo(f"{study}  {of['title']}")
        typer.echo(
            f"    {runs['done']} of {runs['needed']} runs done{most}, seeds {first} to {last}"
        )
        for arm, variants in of["arms"].items():
            typer.echo(f"    {arm}: {', '.join(variants)}")


def _described(plan: WorkflowPlan, study: str) -> dict[str, Any]:
    """A study as ``--json`` prints it; ``most`` runs are needed if claims stay open."""
    jobs, seeds = plan.jobs(study), plan.seeds(study)
    arms: dict[str, list[str]] = {}
    for arm, variant in dict.fromkeys((job.run.arm, job.run.variant) for job in jobs.values()):
        arms.setdefault(arm, []).append(variant)
    taken = plan.taken_so_far(study).seeds.select(jobs)
    return {
        "study": study,
        "title": printed_names(study).title,
        "seeds": (seeds.all[0], seeds.all[-1]),
        "runs": {"done": _done(plan, study, taken), "needed": len(taken), "most": len(jobs)},
        "arms": arms,
    }


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
