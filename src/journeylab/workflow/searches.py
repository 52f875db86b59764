"""The searches of studies: trials, their plans, and where config.yaml has other settings."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

from journeylab.catalogue import printed_names, runs_of, trained_job
from journeylab.config import (
    Config,
    RunSettings,
    Search,
    StudySettings,
    TrainedArm,
    Trial,
    UserError,
    accepted,
    check_known,
    chunks,
    leaves,
    read_setting,
    same_values,
    with_values,
    without_values,
)
from journeylab.records.evidence import differences
from journeylab.records.files import MEASUREMENTS, read_origin
from journeylab.records.plans import Plan
from journeylab.records.searches import (
    PrintedSearch,
    Searched,
    SearchRecord,
    evidence_of_search,
    read_search,
)
from journeylab.records.stages import SEARCH, output_path, plan_path, run_folder
from journeylab.workflow.plans import Job, job_plans, make_plan
from journeylab.workflow.seeds import FindRecord


def search_of(place: str) -> str | None:
    """The study of ``search/<study>``; None for a study itself."""
    return PurePath(place).name if place.startswith(f"{SEARCH}/") else None


@dataclass(frozen=True)
class StudySearch:
    """The search of one study: every trial that it may make, and the plans of its jobs."""

    study: str
    settings: StudySettings
    config: Config
    search: Search

    @property
    def root(self) -> Path:
        """The folder with results and evidence."""
        return Path(self.config.root)

    @cached_property
    def runs(self) -> dict[str, RunSettings]:
        """The searched runs by name, ``arm/variant``."""
        named = {f"{run.arm}/{run.variant}": run for run in runs_of(self.study, self.settings)}
        return {
            name: run
            for name, run in named.items()
            if not run.computed and {run.arm, name} & {*self.search.arms}
        }

    @cached_property
    def trials(self) -> dict[str, tuple[Job, str, Trial]]:
        """Every trial that a run may need: its job, run and point, by folder.

        The folder is ``<arm>.<variant>/<point>/<seeds>``. The grid does not grow beyond what a
        setting may be. Raises UserError for any other trial with settings that are refused.
        """
        [seeds] = chunks(self.search.pilots, len(self.search.pilots))
        start, trials = {point for point, _ in self.search.reachable(1)}, {}
        for name, run in self.runs.items():
            for trial in self.search.reachable(self.search.last):
                settings = with_values(run.settings, self.search.values(trial.point))
                training = settings["training"]
                steps = max(1, round(training["steps"] * trial.budget))
                settings["training"] = training | {"steps": steps}
                try:
                    job = trained_job(self.study, settings)
                except ValueError as error:
                    if trial.point not in start:
                        continue
                    at = f"config.yaml: studies.{self.study}.search"
                    raise UserError(f"{at}: {self.search.name(trial)} of {name}: {error}") from None
                tried = run._replace(settings=job.model_dump(mode="json"))
                folder = f"{run.arm}.{run.variant}/{self.search.name(trial)}/{seeds}"
                trials[folder] = Job(folder, seeds, tried), name, trial
        return trials

    def plans(self) -> Iterator[tuple[str, Plan]]:
        """Every plan by its path below ``plans``, in the order in which data flow."""
        measured: dict[str, str] = {}
        jobs = [job for job, _, _ in self.trials.values()]
        for job, path, plan in job_plans(self.study, jobs, self.config, f"{SEARCH}/{self.study}"):
            if plan.stage == "measure":
                measured[job.folder] = plan.key
            yield path, plan
        rounds: dict[str, str] = {}
        for number in range(1, self.search.last + 1):
            read, named = (set(self.search.reachable(each)) for each in (number, number + 1))
            trials = {
                folder: (run, *trial)
                for folder, (_, run, trial) in self.trials.items()
                if trial in named  # a round may ask for those of the next one
            }
            plan = make_plan(
                "choose",
                study=self.study,
                seeds=tuple(self.search.pilots),
                settings={
                    "search": self.search.model_dump(mode="json"),
                    "round": number,
                    "trials": trials,
                    "basis": self.basis,
                },
                inputs=dict(rounds),
                runs=tuple(
                    (folder, measured[folder])
                    for folder, (_, _, trial) in self.trials.items()
                    if trial in read
                ),
            )
            path = plan_path("choose", study=self.study, round=number)
            rounds[PurePath(path).stem] = plan.key
            yield path, plan

    @cached_property
    def basis(self) -> dict[str, Any]:
        """What trials depend on beside the searched settings, by name: code, versions, settings."""
        basis: dict[str, Any] = {}
        for stage in ("generate", "train", "measure"):
            plan = make_plan(stage, study=self.study)
            basis[f"code of {stage}"] = plan.code
            basis |= {f"{name} of {stage}": version for name, version in plan.versions.items()}
        grid, runs = self.search.grid, self.runs.items()
        kept = {name: without_values(run.settings, grid) for name, run in runs}
        settings = {"evaluation": self.settings.evaluated, "engine": self.config.engine, **kept}
        return basis | {".".join(path): value for path, value in leaves(settings)}

    def check(self) -> None:
        """Refuse runs, settings and a metric that the study does not have; raises UserError."""
        at = f"config.yaml: studies.{self.study}.search"
        trained = [
            f"{name}/{variant}"  # also those that are switched off
            for name, arm in self.settings.arms.items()
            for variant in (arm.variants if isinstance(arm, TrainedArm) else ())
        ]
        known = [*dict.fromkeys(name.split("/")[0] for name in trained), *trained]
        for name in self.search.arms:
            check_known(name, known, f"{at}.arms: {name!r}: no such trained run")
        metrics = printed_names(self.study).metrics
        for name, run in self.runs.items():
            for place, measured in self.search.measured.items():
                try:
                    metric, _ = measured.of(run.arm)
                except ValueError as error:
                    raise UserError(f"{at}{place}.{error}") from None
                unmeasured = f"{at}{place}.metric: {metric!r} is not measured after training"
                check_known(metric, metrics, unmeasured)
            for setting in self.search.grid:
                try:
                    read_setting(run.settings, setting)
                except (KeyError, TypeError):
                    numbers = [
                        ".".join(path)
                        for path, value in leaves(run.settings)
                        if path[0] in ("model", "training") and isinstance(value, int | float)
                    ]
                    raise UserError(
                        f"{at}.grid: {setting!r}: {name} has no such number;"
                        f"{accepted(setting, numbers)}"
                    ) from None

    def taken(self, find: FindRecord, before: int | None = None) -> tuple[list[str], list[str]]:
        """The folders of the trials of the rounds up to one, and the files of those before it.

        Without one, those of all rounds, up to one that asks for no trial.
        """
        start = {*self.search.reachable(1)}
        asked = {folder for folder, (_, _, trial) in self.trials.items() if trial in start}
        files = []
        for number in range(1, before or self.search.last + 1):
            files.append(path := find(self.study, number))
            asked.update(further := read_search(Path(path)).asked)
            if not further:
                break
        return [folder for folder in self.trials if folder in asked], files

    def in_use_trials(self) -> list[Path]:
        """The folders of the finished trials that have the settings of config.yaml."""
        used = self.in_use()
        folders = (
            run_folder(self.root, f"{SEARCH}/{self.study}", folder)
            for folder, (_, run, trial) in self.trials.items()
            if trial.budget == 1.0 and same_values(self.search.values(trial.point), used[run])
        )
        return [folder for folder in folders if (folder / MEASUREMENTS).exists()]

    @cached_property
    def recorded(self) -> SearchRecord | None:
        """The search that evidence keeps. Raises UserError if its file is damaged."""
        path = evidence_of_search(self.root, self.study)
        return read_search(path) if path.exists() else None

    def finished(self) -> Path | None:
        """The last round of the search that was made with the current plans."""
        rounds = (plan for _, plan in self.plans() if plan.stage == "choose")
        for number, plan in enumerate(rounds, 1):
            path = output_path(self.root, "choose", study=self.study, round=number)
            origin = read_origin(path) if path.exists() else None
            if origin is None or origin.plan_key != plan.key:
                return None
            if not read_search(path, plan.key).asked:
                return path
        return None

    def printed(self) -> PrintedSearch | None:
        """What evidence keeps of the search, and what changed since; None without evidence."""
        if (record := self.recorded) is None:
            return None
        kept = {name: getattr(record, name) for name in Searched.model_fields}
        return PrintedSearch(**kept, outdated=self._outdated(record), in_use=self.in_use())

    def remarks(self) -> list[str]:
        """Where config.yaml is not what the search chose, and what changed since, a line each."""
        if (record := self.recorded) is None:
            made = f"snakemake --cores 2 search_{self.study}; journeylab evidence add {self.study}"
            return [f"{self.study}: no search is recorded: {made}"]
        lines = self._outdated(record)
        if differing := list(self._differing(record)):
            count = f"{len(differing)} of {len(self.runs)} runs"
            lines.append(f"{self.study}: {count} have not what its search chose, as {differing[0]}")
        return lines

    def _outdated(self, record: SearchRecord) -> list[str]:
        """A line about what changed since a search; none if nothing did."""
        changed = list(differences(record.basis, self.basis))
        if not changed:
            return []
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        return [f"{self.study}: its search is older; changed: {', '.join(changed[:3])}{more}"]

    def in_use(self) -> dict[str, dict[str, float]]:
        """The values of the searched settings in config.yaml, by run."""
        return {
            name: {setting: read_setting(run.settings, setting) for setting in self.search.grid}
            for name, run in self.runs.items()
        }

    def _differing(self, record: SearchRecord) -> Iterator[str]:
        """The runs that have not what was chosen: “degree/sum: model.spread 0.3, chosen 0.1”."""
        for name, used in self.in_use().items():
            choice = record.choices.get(name)
            if choice is None:
                yield f"{name} was not searched"
                continue
            others = (
                f"{setting} {used.get(setting, math.nan):g}, chosen {value:g}"
                for setting, value in choice.values.items()
                if not math.isclose(used.get(setting, math.nan), value)
            )
            if line := "; ".join(others):
                yield f"{name}: {line}"


def find_searches(config: Config) -> dict[str, StudySearch]:
    """The searches of all configured studies that have one."""
    return {
        study: StudySearch(study, settings, config, settings.search)
        for study, settings in config.studies.items()
        if settings.search is not None
    }
