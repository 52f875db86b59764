"""What the Snakefile asks: which jobs there are, and a plan file for each.

Read at every start of snakemake, so nothing heavy is imported here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path, PurePath
from typing import Any, NamedTuple, Protocol

from journeylab.catalogue import (
    PACKAGE,
    Stage,
    check_words,
    discover,
    labels,
    metrics_part,
    resolve,
    runs_of,
    stage_roots,
    study_folder,
)
from journeylab.claims.reference import read_earlier
from journeylab.claims.register import (
    LOOKS,
    PILOT,
    check_register,
    named_runs,
    read_register,
    row_hashes,
)
from journeylab.claims.response import read_response
from journeylab.config import (
    ONCE,
    Config,
    ExternalFile,
    RunSettings,
    StudySettings,
    UserError,
    chunk_seeds,
    chunks,
)
from journeylab.records.files import MANIFEST, VERDICTS, read_json, sha256
from journeylab.records.fingerprint import fingerprint
from journeylab.records.plans import REGISTER, Plan, write_plan
from journeylab.records.runs import HOST, RegisterState, versions

EXTERNAL = "external"
"""The folder of files that are not ours, below ``data``, and of their plans, below ``plans``."""

LIBRARIES: dict[Stage, tuple[str, ...]] = {
    "fetch": (),
    "generate": ("numpy", "torch"),
    "train": ("numpy", "torch"),
    "compute": ("mpmath", "numpy", "scipy", "torch"),
    "measure": ("numpy", "torch"),
    "collect": (),
    "judge": ("numpy", "scipy"),
    "draw": ("matplotlib", "numpy", "scipy", "seaborn"),
    "typeset": ("typst",),
    "respond": ("typst",),
    "index": ("jinja2",),
}
"""The libraries whose versions a stage's output depends on."""


class Wildcards(Protocol):
    """The wildcards a rule has; snakemake passes them to every function below."""

    study: str
    dataset: str
    arm: str
    variant: str
    seeds: str


class _Job(NamedTuple):
    """A run of a study: its folder below the study's results, and its settings."""

    folder: str
    seeds: str
    run: RunSettings


class Captions:
    """The captions of a study's figures, by name, read when a report of snakemake asks for one."""

    def __init__(self, content: str) -> None:
        self._content = Path(content)

    def __getitem__(self, figure: str) -> str:
        """A caption, as reStructuredText that prints what was written."""
        figures = {one["name"]: one["caption"] for one in read_json(self._content)["figures"]}
        return re.sub(r"([\\*`|_])", r"\\\1", figures[figure])

    def __str__(self) -> str:
        return f"{self._content}"


class WorkflowPlan:
    """One validated configuration and register, seen as the jobs of a workflow.

    Raises UserError, in one line, for any mistake in the two files. Of a job that was submitted to
    a cluster, `only` are the studies: others are not read, and nothing is checked again.
    """

    def __init__(
        self,
        raw: Mapping[str, Any],
        claims: Path = Path("claims"),
        references: Path = Path("reference"),
        response: Path = Path("response.yaml"),
        *,
        only: Collection[str] = (),
    ) -> None:
        if only:
            raw = {**raw, "studies": {study: raw["studies"][study] for study in only}}
        self.config: Config = resolve(raw)
        self.claims = claims
        self.register = read_register(claims, only)
        if not only:
            self.response = read_response(response, self.register)
            self._check()
        self.earlier = {
            study: read_earlier(references, study, self.register.studies[study])
            for study in self.studies
            if study in self.register.studies
        }
        if self.config.scale == "quick":
            self.config = self.config.model_copy(update={"studies": self._cut_down()})
        self.jobs = {
            study: {job.folder: job for job in self._jobs(study)} for study in self.studies
        }

    def _check(self) -> None:
        metrics = {study: metrics_part(study).METRICS for study in discover()}
        check_register(self.register, self.config.studies, metrics, str(self.claims))
        for study, settings in self.config.studies.items():
            check_words(study, settings)

    @property
    def warnings(self) -> list[str]:
        """What is no mistake and still wants a person: points that nothing answers yet."""
        results = Path(self.folder("results"))
        return [
            f"response.yaml: {point}: neither claims nor an answer; write one of the two"
            for point in self.response.open_points
        ] + [
            f"{study}: what it has was made with other settings or code, and is left out of the "
            f"response; snakemake {self.folder('reports')}/{study}.pdf makes it anew"
            for study in self.studies
            if study not in self.covered and (results / study / VERDICTS).exists()
        ]

    @property
    def studies(self) -> list[str]:
        """The configured studies."""
        return list(self.config.studies)

    @property
    def required(self) -> list[str]:
        """The studies that are run without being named; all, where all are optional."""
        asked = [name for name, study in self.config.studies.items() if not study.optional]
        return asked or self.studies

    @cached_property
    def covered(self) -> list[str]:
        """The studies that the answer to the reviewers and the list of claims tell of.

        Those required, and optional ones whose verdicts are there and belong to this plan.
        """
        return [name for name in self.studies if name in self.required or self._is_judged(name)]

    def _is_judged(self, study: str) -> bool:
        verdicts = Path(self.folder("results")) / study / VERDICTS
        if not verdicts.exists():
            return False
        [key] = [plan.key for _, plan in self._study_plans(study) if plan.stage == "judge"]
        try:
            read_json(verdicts, key)
        except UserError:  # damaged, or of another plan
            return False
        return True

    def seeds(self, study: str) -> range:
        """The seeds of a study: the registered ones, pilot seeds, or those that were asked for."""
        first = self.config.seeds_from
        if first is None:
            own = self.register.studies.get(study)
            first = PILOT if self.config.scale == "quick" else own.seeds_from if own else 0
        return range(first, first + self.config.seed_count)

    def folder(self, name: str) -> str:
        """``name`` under the configured root, as snakemake writes paths."""
        return str(PurePath(self.config.root) / name)

    def data(self, wildcards: Wildcards) -> str:
        """Input function: the dataset that a trained run reads."""
        job = self._job(wildcards)
        return f"{self.folder('data')}/{wildcards.study}/{job.run.dataset}/{job.seeds}.parquet"

    def file(self, wildcards: Wildcards) -> list[str]:
        """Input function: the external file that a dataset is made from, if it is made from one."""
        runs = (job.run for job in self.jobs[wildcards.study].values())
        found = next((run.data for run in runs if run.dataset == wildcards.dataset), {})
        if "file" not in found:
            return []
        return [f"{self.folder('data')}/{EXTERNAL}/{file_name(found['file']['sha256'])}"]

    def runs(self, name: str, *, trained_only: bool = False) -> Any:
        """Input function: file ``name`` of every run of the study."""

        def of_study(wildcards: Wildcards) -> list[str]:
            results = f"{self.folder('results')}/{wildcards.study}"
            return [
                f"{results}/{job.folder}/{name}"
                for job in self.jobs[wildcards.study].values()
                if not (trained_only and job.run.computed)
            ]

        return of_study

    def hosts(self) -> list[str]:
        """How every run of every study that is told of began and what it cost."""
        results = self.folder("results")
        return [
            f"{results}/{study}/{folder}/{HOST}"
            for study in self.covered
            for folder in self.jobs[study]
        ]

    def steps(self, wildcards: Wildcards) -> int:
        """The training steps of one seed of a job."""
        return int(self._job(wildcards).run.settings["training"]["steps"])

    def write(self) -> None:
        """Write every job's plan where it changed, and remove those of jobs that are no more.

        Raises UserError where that is impossible.
        """
        folder = Path(self.folder("plans"))
        planned = {folder / name: plan for name, plan in self.plans()}
        registers = {folder / study / REGISTER: self._rows(study) for study in self.studies}
        try:
            for path, plan in planned.items():
                write_plan(path, plan)
            for path, register in registers.items():
                write_plan(path, register)
            for name in (*self.studies, EXTERNAL):
                for path in folder.glob(f"{name}/**/*.json"):
                    if path.suffixes == [".json"] and path not in planned | registers:
                        path.unlink()  # neither cost nor progress
            self._forget_incomplete(Path(self.folder("reports")))
        except OSError as error:
            where = error.filename or folder
            raise UserError(f"{where}: plans cannot be written ({error.strerror})") from None

    def _forget_incomplete(self, reports: Path) -> None:
        """Remove what vouches for a folder from which a file went missing, so that it is remade.

        Snakemake knows such folders as a whole and would find nothing to do.
        """
        for manifest in reports.glob(f"*/{MANIFEST}"):
            try:
                named = read_json(manifest)["files"]
            except UserError:
                continue  # damaged: whatever reads it says so
            if not all((manifest.parent / name).exists() for name in named):
                answer = manifest.parent.name == "latex"
                (reports / "response.json" if answer else manifest).unlink(missing_ok=True)

    def plans(self) -> Iterator[tuple[str, Plan]]:
        """Every job's plan by its path below ``plans``, in the order in which data flow."""
        for file in self._files().values():
            found = _plan("fetch", settings=dict(file), code_of=self.studies[0])
            yield f"{EXTERNAL}/{file_name(file.sha256)}.json", found
        read: dict[str, str] = {}
        runs: list[tuple[str, str]] = []
        for study in self.studies:
            for name, plan in self._study_plans(study):
                if plan.stage == "typeset" and study in self.covered:
                    read |= {f"{study}.{part}": key for part, key in plan.inputs.items()}
                    runs += [(f"{study}/{folder}", key) for folder, key in plan.runs]
                yield name, plan
        together = {"inputs": read, "runs": tuple(runs), "code_of": self.studies[0]}
        yield "respond.json", self._response_plan(**together)
        yield "index.json", self._index_plan(**together)

    def _study_plans(self, study: str) -> Iterator[tuple[str, Plan]]:
        settings = self.config.studies[study]
        evaluation = settings.section("evaluation")
        asked = evaluation.model_dump(mode="json") if evaluation else {}
        made: dict[str, str] = {}
        measured: dict[str, str] = {}
        datasets: dict[str, str] = {}
        for job in self.jobs[study].values():
            run = job.run
            place = {"study": study, "arm": run.arm, "variant": run.variant}
            seeds = _seeds(job.seeds)
            where = f"{study}/{job.folder}"
            if run.computed:
                plan = _plan("compute", **place, seeds=seeds, settings=run.settings)
                made[job.folder] = measured[job.folder] = plan.key
                yield f"{where}/compute.json", plan
                continue
            data = f"{study}/data/{run.dataset}/{job.seeds}.json"
            if data not in datasets:
                plan = _plan(
                    "generate",
                    study=study,
                    dataset=run.dataset,
                    seeds=seeds,
                    settings=run.data,
                    inputs={"file": run.data["file"]["sha256"]} if "file" in run.data else {},
                )
                datasets[data] = plan.key
                yield data, plan
            read = {"data": datasets[data]}
            plan = _plan(
                "train",
                **place,
                seeds=seeds,
                settings=run.settings,
                engine=self.config.engine,
                device=self.config.device,
                inputs=read,
            )
            made[job.folder] = plan.key
            yield f"{where}/train.json", plan
            plan = _plan(
                "measure", **place, seeds=seeds, settings=asked, inputs=read | {"run": plan.key}
            )
            measured[job.folder] = plan.key
            yield f"{where}/measure.json", plan
        collected = _plan("collect", study=study, runs=tuple(measured.items()))
        yield f"{study}/collect.json", collected
        yield from self._report_plans(study, settings, collected.key, made)

    def _report_plans(
        self, study: str, settings: StudySettings, collected: str, made: dict[str, str]
    ) -> Iterator[tuple[str, Plan]]:
        earlier = self.earlier.get(study)
        judged = _plan(
            "judge",
            study=study,
            seeds=tuple(self.seeds(study)),
            settings={
                "register": self._register(study),
                "scale": self.config.scale,
                "earlier": earlier.model_dump(mode="json") if earlier else None,
                "labels": dict(labels(study)),
            },
            inputs={"measurements": collected},
        )
        yield f"{study}/judge.json", judged
        shown = settings.model_dump(mode="json", exclude={"scales"})
        read = {"measurements": collected, "verdicts": judged.key}
        styles = _assets(PACKAGE / "plotting", "*.mplstyle")
        drawn = _plan(
            "draw",
            study=study,
            settings=shown,
            inputs=read,
            runs=tuple(made.items()),
            assets=styles,
        )
        yield f"{study}/draw.json", drawn
        templates = _assets(PACKAGE / "reports" / "templates", "*.typ")
        yield (
            f"{study}/typeset.json",
            _plan(
                "typeset",
                study=study,
                settings={
                    "settings": shown,
                    "register": self._register(study),
                    "claims": self.claims.as_posix(),
                    "anonymous": self.config.anonymous,
                },
                inputs={"verdicts": judged.key, "content": drawn.key},
                runs=tuple(made.items()),
                assets=_assets(study_folder(study), "report.typ") | templates,
            ),
        )

    def _response_plan(self, **together: Any) -> Plan:
        """The plan of the answer to the reviewers, who may be asked of all studies."""
        return _plan(
            "respond",
            settings={
                "response": self.response.model_dump(mode="json"),
                "register": self.register.model_dump(mode="json"),
                "claims": self.claims.as_posix(),
                "scale": self.config.scale,
                "anonymous": self.config.anonymous,
            },
            assets=_assets(PACKAGE / "reports" / "templates", "response*")
            | _assets(PACKAGE / "reports" / "templates", "journeylab.typ"),
            **together,
        )

    def _index_plan(self, **together: Any) -> Plan:
        """The plan of the page that lists all claims."""
        return _plan(
            "index",
            settings={
                "register": self.register.model_dump(mode="json"),
                "claims": self.claims.as_posix(),
                "anonymous": self.config.anonymous,
            },
            assets=_assets(PACKAGE / "reports" / "templates", "index.*"),
            **together,
        )

    def _files(self) -> dict[str, ExternalFile]:
        """Every external file by its SHA-256; studies may know different ways to the same one."""
        found: dict[str, ExternalFile] = {}
        for settings in self.config.studies.values():
            for file in settings.files():
                known = dict(found.get(file.sha256, file))
                more = {name: value for name, value in known.items() if value is not None}
                found[file.sha256] = file.model_copy(update=more)
        return found

    def _register(self, study: str) -> dict[str, Any]:
        """The study's part of the register, with the judge's constants."""
        own = self.register.studies.get(study)
        register = self.register.model_copy(update={"studies": {study: own} if own else {}})
        return register.model_dump(mode="json")

    def _rows(self, study: str) -> RegisterState:
        """What the study's runs note of the register when they begin."""
        if study not in self.register.studies:
            return RegisterState()
        names = (f"{study}.yaml", LOOKS)
        return RegisterState(
            rows=row_hashes(self.register, study),
            files=tuple((self.claims / name).as_posix() for name in names),
        )

    def _cut_down(self) -> dict[str, StudySettings]:
        """The studies with the runs that primary claims name; whole where none is registered."""
        return {
            study: settings.restricted_to(named_runs(self.register.studies[study]))
            if study in self.register.studies
            else settings
            for study, settings in self.config.studies.items()
        }

    def _jobs(self, study: str) -> Iterator[_Job]:
        settings = self.config.studies[study]
        for run in runs_of(study, settings):
            names = [ONCE] if run.once else chunks(self.seeds(study), settings.chunk)
            for seeds in names:
                yield _Job(f"{run.arm}/{run.variant}/{seeds}", seeds, run)

    def _job(self, wildcards: Wildcards) -> _Job:
        folder = f"{wildcards.arm}/{wildcards.variant}/{wildcards.seeds}"
        try:
            return self.jobs[wildcards.study][folder]
        except KeyError:
            raise UserError(f"{wildcards.study} has no run {folder}") from None


def file_name(sha256: str) -> str:
    """What an external file is called here: the beginning of its hash."""
    return sha256[:16]


def _plan(stage: Stage, *, code_of: str = "", **content: Any) -> Plan:
    return Plan(
        stage=stage,
        code=_code(stage, content.get("study") or code_of),
        versions=_versions(stage),
        **content,
    )


@cache
def _code(stage: Stage, study: str) -> str:
    return fingerprint(stage_roots(stage, study))


@cache
def _versions(stage: Stage) -> dict[str, str]:
    return versions(*LIBRARIES[stage])


def _seeds(name: str) -> tuple[int, ...] | None:
    return None if name == ONCE else tuple(chunk_seeds(name))


def _assets(folder: Path, pattern: str) -> dict[str, str]:
    return {
        file.relative_to(PACKAGE).as_posix(): sha256(file) for file in sorted(folder.glob(pattern))
    }
