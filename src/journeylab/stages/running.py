"""Run a stage: with the code of its plan, counted, and nothing imported that the plan lacks."""

from __future__ import annotations

import gc
import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, cast

from journeylab import catalogue, imports
from journeylab.config import UserError, build
from journeylab.records.cost import Cost, start_counting
from journeylab.records.files import read_json, sha256, write_json
from journeylab.records.fingerprint import (
    closure,
    fingerprint,
    hash_module,
    hash_modules,
    hash_source,
)
from journeylab.records.plans import REGISTER, Plan, read_plan
from journeylab.records.runs import (
    RUN,
    RegisterState,
    RunHost,
    RunStart,
    SeedOutcome,
    begin_run,
    describe_host,
    git_state,
    is_committed,
    scheduler,
)


@dataclass(frozen=True)
class Call:
    """What a stage is called with: its plan, the files it reads, and the file that it writes.

    `results` is the folder of the study's results, or of all results for a stage of all studies.
    """

    plan: Plan
    output: Path
    start: RunStart
    cost: Callable[[], Cost]
    data: Path | None = None
    run: Path | None = None
    results: Path | None = None
    progress: Path | None = None
    """Where a job that takes long says how far it is."""

    @property
    def read_from(self) -> Path:
        """The folder of results; raises UserError where it is not given."""
        if self.results is None:
            raise UserError(f"{self.plan.label}: --results is missing")
        return self.results

    def host(
        self, outcomes: Sequence[SeedOutcome], timings: Mapping[str, float] | None = None
    ) -> RunHost:
        """Where and when this job ran, and its cost so far."""
        return describe_host(
            start=self.start,
            finished=datetime.now(UTC),
            outcomes=outcomes,
            cost=self.cost(),
            scheduler=scheduler(os.environ),
            timings=timings,
        )


class StageModule(Protocol):
    """A module of this package that is a stage."""

    def run(self, call: Call) -> None:
        """Do the work of one job."""
        ...


def run_stage(
    stage: catalogue.Stage,
    plan: Path,
    output: Path,
    *,
    data: Path | None = None,
    run: Path | None = None,
    results: Path | None = None,
) -> None:
    """Do one job, and write what it cost beside its plan.

    Raises UserError for a plan that is missing or damaged, code that is not the one planned, and
    whatever the stage refuses.
    """
    started = datetime.now(UTC)
    planned = read_plan(plan, stage)
    start = RunStart(plan_key=planned.key, started=started)
    if output.name == RUN:
        start = begin_run(output.parent, _registered(start, plan.absolute().parents[3] / REGISTER))
    _load(stage, planned)
    counted = start_counting()
    module = cast(StageModule, importlib.import_module(f"journeylab.stages.{stage}"))
    progress = plan.with_suffix(".progress.json")
    module.run(Call(planned, output, start, counted, data, run, results, progress))
    write_json(plan.with_suffix(".cost.json"), counted(), sealed=False)


def _registered(start: RunStart, path: Path) -> RunStart:
    """The start of a run, with the commit and the register it begins under."""
    here = Path.cwd()
    known = build(RegisterState, read_json(path), str(path)) if path.exists() else RegisterState()
    git = git_state(here)
    return start.model_copy(
        update={
            "commit": git.commit,
            "dirty": git.dirty,
            "rows": known.rows,
            "registered": is_committed(here, known.files) if known.files else None,
        }
    )


def _load(stage: catalogue.Stage, plan: Plan) -> None:
    """Import all code of the stage, hold it against the plan, and refuse any other from then on.

    Prose and style sheets are held against the plan as well.
    """
    roots = catalogue.stage_roots(stage, plan.study)
    modules = closure(roots)
    with _kept_from_the_collector():
        for module in modules:
            importlib.import_module(module)
    finder = imports.installed()
    if finder is None:  # called from Python, by a test: what is on disk is all there is to know
        found = fingerprint(roots)
    else:
        loaded = {name: hash_source(text) for name, text in finder.texts.items()}
        # The package itself holds a docstring, and was there before the finder.
        found = hash_modules(modules, lambda name: loaded.get(name) or hash_module(name))
        finder.close(plan.label)
    if found != plan.code:
        raise UserError(f"{plan.label}: the code changed since it was planned; run snakemake again")
    for name, planned in plan.assets.items():
        if sha256(catalogue.PACKAGE / name) != planned:
            raise UserError(f"{plan.label}: {name} changed since it was planned; run it again")


@contextmanager
def _kept_from_the_collector() -> Iterator[None]:
    """Leave what is made here out of garbage collection, which would look at it over and over.

    Imported modules last as long as the process: it need not free them to end, either.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if enabled:
            gc.enable()
