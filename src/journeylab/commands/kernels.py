"""``journeylab kernels``: measure on pilot seeds what other kernels change.

Each run is made twice on the same pilot seeds, which are never judged: with the kernels that torch
chooses on this processor, and with ``ATEN_CPU_CAPABILITY=default``, its kernels without vector
instructions, which round in another order. The differences of all measures of the register are
kept in ``evidence/<study>/kernels.json``; `journeylab reproduce` compares other processors with
them. A run that is measured again replaces its differences.
"""

import tempfile
from pathlib import Path, PurePath
from typing import Annotated

import numpy as np
import typer

from journeylab.claims.effects import Cell
from journeylab.claims.reading import CellValues
from journeylab.claims.schema import PILOT
from journeylab.claims.statistics import Values
from journeylab.commands.results import CONFIG, current_plan
from journeylab.config import check_known
from journeylab.records.files import MEASUREMENTS, read_table, write_json
from journeylab.records.plans import Plan
from journeylab.records.processor import KernelRun, StudyKernels, kernels_path, read_kernels
from journeylab.workflow.planning import WorkflowPlan
from journeylab.workflow.rerun import OTHER_KERNELS, Plans, data_plan, run_jobs

DIGITS = 4
"""Digits of a difference."""


def kernels(
    runs: Annotated[list[str], typer.Argument(help="Runs study/arm/variant.")],
    seeds: Annotated[int, typer.Option(min=1, help="Pilot seeds, trained at once.")] = 12,
    config: Annotated[Path, CONFIG] = Path("config.yaml"),
) -> None:
    """Make runs on pilot seeds with two kernel paths, and keep how their results differ."""
    workflow = current_plan(config, evidence="run", seeds_from=PILOT, seeds=seeds)
    plans, numbers = dict(workflow.plans()), tuple(range(PILOT, PILOT + seeds))
    evidence, data = Path(workflow.folder("evidence")), Path(workflow.folder("data"))
    made = {run: _jobs(run, workflow, plans, numbers) for run in runs}
    for run, jobs in made.items():
        study, _, name = run.partition("/")
        claims = workflow.register.claims_of(study)
        found: list[dict[str, Values]] = []
        for environment in ({}, OTHER_KERNELS):
            with tempfile.TemporaryDirectory(prefix="journeylab-") as folder:
                results = run_jobs(jobs, plans, Path(folder), data, environment)
                table = read_table(results / MEASUREMENTS)
            cell_values = CellValues(table, claims.measures)
            cells = {measure: Cell(run=name, measure=measure) for measure in claims.measures}
            found.append({m: cell_values.read(cell, numbers) for m, cell in cells.items()})
        differences = {
            measure: tuple(map(_rounded, values - found[1][measure]))
            for measure, values in found[0].items()
            if np.isfinite(values).any()
        }
        code = {plan.stage: plan.code for plan in jobs}
        measured = KernelRun(seeds=numbers, code=code, differences=differences)
        known = read_kernels(evidence, [study]).get(study, StudyKernels())
        write_json(kernels_path(evidence, study), StudyKernels(runs={**known.runs, name: measured}))
        sizes = (abs(value or 0.0) for each in differences.values() for value in each)
        typer.echo(
            f"{run}: {len(differences)} measures, largest difference {max(sizes, default=0)}"
        )


def _jobs(run: str, workflow: WorkflowPlan, plans: Plans, seeds: tuple[int, ...]) -> list[Plan]:
    """The jobs of a run on these seeds, which are one chunk. Raises UserError if there are none."""
    chunks = {
        f"{study}/{PurePath(folder).parent}": made
        for study in workflow.studies
        for folder, made in workflow.run_plans(study).items()
        if made[0].seeds == seeds
    }
    check_known(run, chunks, f"{run}: no run with {len(seeds)} seeds at once")
    made, measured = chunks[run]
    return [made] if made is measured else [data_plan(made, plans), made, measured]


def _rounded(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
