"""Units of the recorded evidence, rerun from nothing.

A unit is the smallest part of the evidence that gives the same numbers when it is rerun: one seed
of a run; a whole run that is computed once; or all seeds of a chunk that were trained at once,
because such a seed depends on the others of its batch up to rounding.
"""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from journeylab.config import UserError
from journeylab.records.evidence import CURVES, SUFFIX, RunEvidence, read_evidence
from journeylab.records.files import MEASUREMENTS, find_files, parse_table, read_table
from journeylab.records.plans import Plan, write_plan
from journeylab.records.runs import RUN, RunRecord, read_run
from journeylab.records.stages import STAGES
from journeylab.workflow.plans import EXTERNAL, file_name

COMMAND = (sys.executable, "-P", "-m", "journeylab")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
OTHER_KERNELS = {"ATEN_CPU_CAPABILITY": "default"}
"""The variable with which torch rounds in another order, as it may on another processor."""
Plans = Mapping[str, Plan]
"""All plans of the workflow by their paths."""


class Unit(NamedTuple):
    """A unit; `folder` is that of its run below the results, `seed` is None for a whole run."""

    folder: str
    seed: int | None
    evidence: RunEvidence

    @property
    def name(self) -> str:
        """`<study>/<arm>/<variant>/seed-<seed>`, or the folder of a whole run."""
        path = PurePath(self.folder)
        return str(path if self.seed is None else path.with_name(f"seed-{self.seed}"))

    @property
    def study(self) -> str:
        """Its study."""
        return self.evidence.run.study

    @property
    def run(self) -> str:
        """Its run, arm/variant."""
        return f"{self.evidence.run.arm}/{self.evidence.run.variant}"

    def jobs(self, plans: Plans) -> list[Plan]:
        """The plans that make this unit alone, on the same engine and kind of device as before."""
        made, measured, run = self.evidence.plan, self.evidence.measured, self.evidence.run
        seeds: dict[str, Any] = {"seeds": made.seeds if self.seed is None else (self.seed,)}
        if run.kind == "computed":
            return [made.model_copy(update=seeds)]
        generate = data_plan(made, plans).model_copy(update=seeds)
        where = {"engine": run.engine, "device": "cpu" if run.device == "cpu" else made.device}
        inputs = {"data": generate.key}
        train = made.model_copy(update=seeds | where | {"inputs": inputs})
        measure = measured.model_copy(update=seeds | {"inputs": inputs | {"run": train.key}})
        return [generate, train, measure]


def data_plan(made: Plan, plans: Plans) -> Plan:
    """The plan of the data that a run is trained on."""
    [plan] = [plan for plan in plans.values() if plan.key == made.inputs["data"]]
    return plan


class Result(NamedTuple):
    """The record of a run, and its measurements and curves."""

    run: RunRecord
    tables: tuple[pd.DataFrame, ...]

    def exact(self, unit: Unit) -> dict[str, float | str]:
        """Outcomes of seeds and the cost of training: no processor changes these."""
        values: dict[str, float | str] = {
            f"status (seed {each.seed})": each.status
            for each in self.run.seeds
            if unit.seed in (None, each.seed)
        }
        recorded = unit.evidence.run.seeds
        # A run records the training cost of its last seed only.
        if self.run.training and unit.seed in (None, recorded[-1].seed):
            values |= {name: float(cost) for name, cost in dict(self.run.training).items()}
        return values

    def values(self, unit: Unit) -> dict[str, float | str]:
        """Everything about a unit that is compared, by its printed name."""
        values = self.exact(unit)
        counts: Counter[str] = Counter()
        for table in self.tables:
            rows = table if unit.seed is None else table[table["seed"] == unit.seed]
            for row in rows.drop(columns=["study", "arm", "variant"]).to_dict("records"):
                metric, value = str(row.pop("metric")), float(row.pop("value"))
                factors = {str(name): level for name, level in row.items() if not pd.isna(level)}
                name = f"{metric} ({', '.join(_levels(factors))})" if factors else metric
                counts[name] += 1
                values[name if counts[name] == 1 else f"{name}, row {counts[name]}"] = value
        return values


def find_units(plans: Plans, folder: Path) -> tuple[list[Unit], list[str]]:
    """All units of the current plans, and the files of older keys. Raises UserError for damage."""
    units: list[Unit] = []
    older = []
    for path in find_files(folder, f"*/*/*/*{SUFFIX}"):
        evidence, run = read_evidence(path), str(path.relative_to(folder).with_suffix(""))
        made = (evidence.plan, evidence.measured)
        current = [plans.get(f"{run}/{plan.stage}.json") for plan in made]
        if [plan and plan.key for plan in current] != [plan.key for plan in made]:
            older.append(str(path))
            continue
        together = evidence.run.engine == "batched"
        seeds = (None,) if together else evidence.plan.seeds or (None,)
        units += [Unit(run, seed, evidence) for seed in seeds]
    return units, older


def read_recorded(evidence: RunEvidence) -> Result:
    """The record and the tables that evidence holds."""
    return Result(evidence.run, tuple(map(parse_table, _tables(evidence).values())))


def rerun(unit: Unit, plans: Plans, folder: Path, data: Path) -> Result:
    """Compute a unit, or generate, train and measure it, each in a process, in an empty `folder`.

    External files are taken from the folder `data`, or fetched. Raises UserError if a job fails.
    """
    results = run_jobs(unit.jobs(plans), plans, folder / unit.folder, data)
    tables = (read_table(results / name) for name in _tables(unit.evidence))
    return Result(read_run(results), tuple(tables))


def run_jobs(
    jobs: Iterable[Plan],
    plans: Plans,
    folder: Path,
    data: Path,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Path:
    """Do the jobs of one run in an empty `folder`; the folder of its record and measurements."""
    results, dataset = folder / "results", folder / "data.parquet"
    for plan in jobs:
        files = {"data": dataset, "run": results / RUN}
        if plan.stage == "generate":
            files = {}
            if "file" in plan.inputs:
                name = f"{EXTERNAL}/{file_name(plan.inputs['file'])}"
                files["data"] = data / name
                if not files["data"].exists():
                    files["data"] = folder / name
                    _run(plans[f"{name}.json"], folder, files["data"], {}, {})
        output = {"generate": dataset, "measure": results / MEASUREMENTS}.get(plan.stage)
        _run(plan, folder, output or results / RUN, files, environment)
    return results


def _run(
    plan: Plan,
    folder: Path,
    output: Path,
    files: Mapping[str, Path],
    environment: Mapping[str, str],
) -> None:
    path = folder / f"{plan.stage}.json"
    write_plan(path, plan)
    reads = STAGES[plan.stage].reads
    given = [word for name in reads if name in files for word in (f"--{name}", str(files[name]))]
    command = [*COMMAND, plan.stage, "--plan", str(path), "--output", str(output), *given]
    variables = {**(os.environ | ONE_THREAD), **environment}
    done = subprocess.run(
        command, env=variables, capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    if done.returncode:
        reason = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
        raise UserError(f"{plan.label}: {reason.removeprefix('error: ')}")


def _tables(evidence: RunEvidence) -> dict[str, bytes]:
    """Measurements and, of a trained run, curves."""
    names = (MEASUREMENTS, CURVES)
    return {name: evidence.contents[name] for name in names if name in evidence.contents}


def _levels(factors: Mapping[str, Any]) -> list[str]:
    """Factors with their levels; a column of integers with gaps holds floats."""
    return [
        f"{name} {int(level) if isinstance(level, float) and level.is_integer() else level}"
        for name, level in sorted(factors.items())
    ]
