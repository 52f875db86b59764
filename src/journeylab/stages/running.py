"""Run a stage: check its code against the plan, measure its cost, refuse any further import."""

import gc
import importlib
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from journeylab import catalogue
from journeylab.config import UserError, build
from journeylab.records.cost import Cost, start_counting
from journeylab.records.files import read_json, sha256, write_json
from journeylab.records.fingerprint import closure, hash_module, hash_modules, hash_source
from journeylab.records.plans import REGISTER, Plan, read_plan
from journeylab.records.processor import this_processor
from journeylab.records.runs import (
    RUN,
    START,
    RegisterState,
    RunHost,
    RunStart,
    SeedOutcome,
    begin_run,
    scheduler,
)
from journeylab.stages import imports


@dataclass(frozen=True)
class Call:
    """The arguments of a stage: its plan, the file that it writes, and the files that it reads.

    `files` holds the latter by the names of the options, as :data:`STAGES` lists them.
    """

    plan: Plan
    output: Path
    start: RunStart
    cost: Callable[[], Cost]
    files: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    progress: Path | None = None
    """The file in which a long job reports its progress."""

    def file(self, name: str) -> Path:
        """The file or folder of an option. Raises UserError if it is not given."""
        given = self.files.get(name, ())
        if len(given) != 1:
            raise UserError(f"{self.plan.label}: --{name}: write one path")
        return given[0]

    def by_study(self, name: str) -> dict[str, Path]:
        """The files of an option that has one in the folder of each study, by study."""
        return {path.parent.name: path for path in self.files.get(name, ())}

    def host(
        self, outcomes: Sequence[SeedOutcome], timings: Mapping[str, float] | None = None
    ) -> RunHost:
        """Where and when this job ran, and its cost so far."""
        return RunHost(
            **dict(self.start),
            finished=datetime.now(UTC),
            seconds={outcome.seed: outcome.seconds for outcome in outcomes},
            host=platform.node(),
            cost=self.cost(),
            scheduler=scheduler(os.environ),
            timings=timings or {},
        )


def run_stage(stage: str, plan: Path, output: Path, **files: Path | Sequence[Path]) -> None:
    """Do one job with these input files, and write its cost beside its plan.

    Raises UserError for a plan that is missing or damaged, code that differs from the planned code,
    and the errors of the stage.
    """
    started = datetime.now(UTC)
    planned = read_plan(plan, stage)
    start = RunStart(plan_key=planned.key, started=started, processor=this_processor())
    if output.name == RUN:
        start = begin_run(output.parent, _registered(start, plan, planned.study))
    _load(stage, planned)
    progress = plan.with_suffix(".progress.json")
    resumed = start.started != started
    counted = start_counting(_spent(progress, output.parent / START) if resumed else None)
    module = importlib.import_module(f"journeylab.stages.{stage}")
    given = {name: [each] if isinstance(each, Path) else each for name, each in files.items()}
    module.run(Call(planned, output, start, counted, given, progress))
    write_json(plan.with_suffix(".cost.json"), counted(), sealed=False)


def _spent(progress: Path, start: Path) -> Cost | None:
    """The cost of earlier attempts at a run, from what they wrote since it began; else None."""
    try:
        if progress.stat().st_mtime < start.stat().st_mtime:
            return None
        return Cost.model_validate(read_json(progress, sealed=False)["cost"])
    except (OSError, UserError, KeyError, ValueError):  # missing or damaged
        return None


def _registered(start: RunStart, plan: Path, study: str) -> RunStart:
    """The start of a run, with commit and register of the time of planning."""
    folders = (folder for folder in plan.absolute().parents if folder.name == study)
    path = next(folders, plan.parent) / REGISTER
    known = build(RegisterState, read_json(path), str(path)) if path.exists() else RegisterState()
    return start.model_copy(update=dict(known))


def _load(stage: str, plan: Plan) -> None:
    """Import all code of the stage, compare code and assets with the plan, refuse later imports."""
    with _without_garbage_collection():
        for module in closure(catalogue.stage_roots(stage, plan.study)):
            importlib.import_module(module)
    loaded: dict[str, str] = {}
    finder = imports.installed()
    if finder is not None:  # None in tests, which call stages from Python
        loaded = {name: hash_source(text) for name, text in finder.texts.items()}
        finder.close(plan.label)
    # Modules that were imported before the finder was installed are hashed from disk.
    modules = catalogue.key_modules(stage, plan.study)
    code = hash_modules(modules, lambda name: loaded.get(name) or hash_module(name))
    if code != plan.code:
        raise UserError(f"{plan.label}: the code changed since it was planned; run snakemake again")
    found = catalogue.assets(stage, plan.study)
    for name, planned in plan.assets.items():
        if name not in found or sha256(found[name]) != planned:
            raise UserError(
                f"{plan.label}: {name} changed since it was planned; run snakemake again"
            )


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Exclude all objects made in the block from garbage collection.

    Imported modules live as long as the process: scanning them, and freeing them at its end, only
    costs time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if enabled:
            gc.enable()
