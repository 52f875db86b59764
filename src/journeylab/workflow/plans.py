"""The plans of all jobs of one study, and of the stages that cover all studies."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from journeylab.catalogue import assets, key_modules, prose, runs_of
from journeylab.claims.schema import Register, is_named, named_runs
from journeylab.config import (
    ONCE,
    Config,
    ExternalFile,
    FromFile,
    Frozen,
    RunSettings,
    StudySettings,
    UserError,
    chunk_seeds,
)
from journeylab.records.evidence import RunEvidence
from journeylab.records.files import sha256
from journeylab.records.fingerprint import hash_module, hash_modules
from journeylab.records.looks import SeedRange
from journeylab.records.plans import LOOK, Plan
from journeylab.records.runs import versions
from journeylab.records.stages import STAGES, plan_path
from journeylab.wording.queries import cited
from journeylab.workflow.seeds import StudySeeds

Plans = tuple[Plan, Plan]
"""The plan of a run and that of its measurements; they are equal for a computed run."""
EXTERNAL = "external"
"""The folder of external files below ``data``, and of their plans below ``plans``."""


class Job(NamedTuple):
    """A run on a chunk of seeds: its folder below the study's results, and its settings."""

    folder: str
    seeds: str
    run: RunSettings


def list_jobs(
    study: str, settings: StudySettings, seeds: StudySeeds, register: Register
) -> Iterator[Job]:
    """Every run of a study on every chunk of seeds that its looks could take.

    Only runs that primary claims read can go on after the first look.
    """
    named = named_runs(register.claims_of(study))
    chunks = seeds.chunks(settings.chunk)
    first = seeds.first.select(chunks)
    for run in runs_of(study, settings):
        reached = chunks if is_named(named, run.arm, run.variant) else first
        for name in [ONCE] if run.once else reached:
            yield Job(f"{run.arm}/{run.variant}/{name}", name, run)


@dataclass(frozen=True)
class StudyPlans:
    """The inputs from which the plans of one study follow."""

    study: str
    config: Config
    jobs: Collection[Job]
    seeds: StudySeeds
    criteria: Mapping[str, Any]
    """What decides the verdicts of the study, without words."""
    drawn: Mapping[str, Any]
    """What figures and tables show beside measurements and settings: words of claims, a search."""
    printed: Mapping[str, Any]
    """What the report prints beside them: words of claims, theorems, the author's answer, code."""

    @cached_property
    def of_jobs(self) -> list[tuple[Job, str, Plan]]:
        """The plans of all runs, of their data and of their measurements, by path."""
        return [*job_plans(self.study, self.jobs, self.config)]

    @cached_property
    def runs(self) -> dict[str, Plans]:
        """The plans of every run and of its measurements, by the run's folder."""
        made: dict[str, list[Plan]] = {}
        for job, _, plan in self.of_jobs:
            if plan.stage != "generate":
                made.setdefault(job.folder, []).append(plan)
        return {folder: (plans[0], plans[-1]) for folder, plans in made.items()}

    def all(self, evidence: Mapping[str, RunEvidence]) -> Iterator[tuple[str, Plan]]:
        """Every plan by its path below ``plans``, in the order in which data flow.

        ``evidence`` is that of the runs that are restored, by folder.
        """
        for job, path, plan in self.of_jobs:
            if plan.stage == "generate" or job.folder not in evidence:
                yield path, plan
        made = tuple((folder, run.key) for folder, (run, _) in self.runs.items())
        measured = {folder: measuring.key for folder, (_, measuring) in self.runs.items()}
        if evidence:
            yield self._path("restore"), self._restore(evidence, measured)
        records: dict[str, str] = {}
        for n in self.seeds.looks[:-1]:  # after the last look nothing is to be planned
            plan = self._look(n, measured, records)
            records[f"{LOOK}{n}"] = plan.key
            yield self._path("look", look=n), plan
        collected = self._plan("collect", inputs=records, runs=tuple(measured.items()))
        for plan in (collected, *self._report(collected, made)):
            yield self._path(plan.stage), plan

    def _plan(self, stage: str, **content: Any) -> Plan:
        return make_plan(stage, study=self.study, **content)

    def _path(self, stage: str, **wildcards: object) -> str:
        return plan_path(stage, study=self.study, **wildcards)

    def _restore(self, evidence: Mapping[str, RunEvidence], measured: Mapping[str, str]) -> Plan:
        """The plan of writing all runs that have evidence; it lists the files.

        One job writes them all: the start of a job for each run would take longer than its work.
        """
        files = {
            f"{folder}/{name}": hashlib.sha256(content).hexdigest()
            for folder, of_run in evidence.items()
            for name, content in of_run.restored.items()
        }
        return self._plan(
            "restore",
            settings={"files": files},
            inputs={folder: of_run.digest for folder, of_run in evidence.items()},
            runs=tuple((folder, measured[folder]) for folder in evidence),
        )

    def _look(self, n: int, measured: Mapping[str, str], before: Mapping[str, str]) -> Plan:
        """The plan of the look at ``n`` seeds, which may read all runs up to it."""
        seeds = self.seeds.all[:n]
        reached = SeedRange(first=seeds.stop).select(measured)
        return self._plan(
            "look",
            seeds=tuple(seeds),
            settings={"criteria": self.criteria},
            inputs=dict(before),
            runs=tuple((folder, measured[folder]) for folder in reached),
        )

    def _report(self, collected: Plan, made: tuple[tuple[str, str], ...]) -> tuple[Plan, ...]:
        """The plans from the verdicts to the PDF; `made` are all runs with their keys."""
        judged = self._plan(
            "judge",
            seeds=tuple(self.seeds.all),
            settings={"criteria": self.criteria, "scale": self.config.scale},
            inputs={"measurements": collected.key},
            runs=collected.runs,
        )
        written = self.config.studies[self.study]
        settings = {"settings": written.model_dump(mode="json", exclude={"scales", "search"})}
        drawn = self._plan(
            "draw",
            settings=settings | {"cited": sorted(cited(prose(self.study)))} | dict(self.drawn),
            inputs={"measurements": collected.key, "verdicts": judged.key},
            runs=made,
        )
        typeset = self._plan(
            "typeset",
            settings=settings | dict(self.printed),
            inputs={"verdicts": judged.key, "content": drawn.key},
            runs=made,
        )
        return judged, drawn, typeset


def job_plans(
    study: str, jobs: Iterable[Job], config: Config, place: str = ""
) -> Iterator[tuple[Job, str, Plan]]:
    """The plans of runs, of their data and of their measurements, by path, in the order of data.

    ``place`` stands in the paths where the study does, if runs are not below its results.
    """
    evaluated = config.studies[study].evaluated
    datasets: dict[str, str] = {}
    for job in jobs:
        run = job.run
        arm, variant, _ = job.folder.split("/")
        at = {"study": place or study, "arm": arm, "variant": variant, "seeds": job.seeds}
        labels = {"study": study, "arm": run.arm, "variant": run.variant}
        seeds = None if job.seeds == ONCE else tuple(chunk_seeds(job.seeds))
        if run.computed:
            plan = make_plan("compute", **labels, seeds=seeds, settings=run.settings)
            yield job, plan_path("compute", **at), plan
            continue
        data = plan_path("generate", **at, dataset=run.dataset)
        if data not in datasets:
            plan = make_plan(
                "generate",
                study=study,
                dataset=run.dataset,
                seeds=seeds,
                settings=run.data,
                inputs={"file": run.data["file"]["sha256"]} if "file" in run.data else {},
            )
            datasets[data] = plan.key
            yield job, data, plan
        read = {"data": datasets[data]}
        plan = make_plan(
            "train",
            **labels,
            seeds=seeds,
            settings=run.settings,
            engine=config.engine,
            device=config.device,
            inputs=read,
        )
        yield job, plan_path("train", **at), plan
        plan = make_plan(
            "measure", **labels, seeds=seeds, settings=evaluated, inputs=read | {"run": plan.key}
        )
        yield job, plan_path("measure", **at), plan


def make_plan(stage: str, study: str = "", **content: Any) -> Plan:
    """A plan with the code, libraries and assets of its stage."""
    return Plan(stage=stage, study=study, **_code(stage, study), **content)


@cache
def _code(stage: str, study: str) -> Mapping[str, Any]:
    return {
        "code": hash_modules(key_modules(stage, study), hash_module),
        "versions": versions(*STAGES[stage].libraries),
        "assets": {name: sha256(path) for name, path in assets(stage, study).items()},
    }


def file_name(sha256: str) -> str:
    """The name of an external file below ``data/external``: the beginning of its hash."""
    return sha256[:16]


def external_files(studies: Iterable[StudySettings]) -> Collection[ExternalFile]:
    """Every external file once, with the addresses that all studies give."""
    files: dict[str, ExternalFile] = {}
    for settings in studies:
        for file in settings.files():
            known = dict(files.get(file.sha256, file))
            more = {name: value for name, value in known.items() if value is not None}
            files[file.sha256] = file.model_copy(update=more)
    return files.values()


def with_checksums(config: Config) -> Config:
    """A configuration with the SHA-256 of every local file that was written without one."""
    studies = {}
    for study, settings in config.studies.items():
        datasets = {name: _with_checksum(data) for name, data in settings.datasets.items()}
        studies[study] = settings.model_copy(update={"datasets": datasets})
    return config.model_copy(update={"studies": studies})


def _with_checksum(dataset: Frozen) -> Frozen:
    if not isinstance(dataset, FromFile) or dataset.file.sha256 or dataset.file.path is None:
        return dataset
    path = dataset.file.path
    try:
        file = dataset.file.model_copy(update={"sha256": sha256(Path(path))})
    except (UserError, OSError):
        raise UserError(
            f"config.yaml: the file {path} of a dataset cannot be read; correct its path"
        ) from None
    return dataset.model_copy(update={"file": file})
