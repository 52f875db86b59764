"""What the Snakefile asks: which jobs there are, and what exactly each depends on.

Read at every start of snakemake, so nothing heavy is imported here.
"""

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import Any, Literal, Protocol

from journeylab.claims.register import Register, check_register
from journeylab.config import (
    Config,
    StudySettings,
    build,
    canonical,
    chunks,
    discover,
    has_part,
    read_yaml,
    resolve,
    study_module,
)
from journeylab.records.fingerprint import fingerprint
from journeylab.records.runs import versions

Stage = Literal["generate", "train", "measure", "certify", "judge", "draw", "typeset"]

ROOTS: dict[Stage, tuple[str, ...]] = {
    "generate": ("{study}.data",),
    "train": ("{study}.data", "{study}.models", "journeylab.training"),
    "measure": ("{study}.measure", "{study}.models", "{study}.data"),
    "certify": ("{study}.certify",),
    "judge": ("journeylab.claims.judge",),
    "draw": ("{study}.figures", "journeylab.reports.draw"),
    "typeset": ("journeylab.reports.typeset",),
}
"""The modules whose import closure is the code of a stage."""


def stage_code(study: str, stage: Stage) -> str:
    """The fingerprint of the code that a stage of a study runs."""
    module = discover()[study]
    return fingerprint(tuple(root.format(study=module) for root in ROOTS[stage]))


class Wildcards(Protocol):
    """The wildcards a rule has; snakemake passes them to every function below."""

    study: str
    arm: str
    variant: str
    seeds: str


class Plan:
    """One validated configuration and register, seen as the jobs of a workflow.

    Raises UserError, in one line, for any mistake in the two files.
    """

    def __init__(self, raw: Mapping[str, Any], claims: Path = Path("claims.yaml")) -> None:
        self.config: Config = resolve(raw)
        self.register = build(Register, read_yaml(claims), str(claims))
        metrics = {study: study_module(study, "metrics").METRICS for study in discover()}
        check_register(self.register, self.config.studies, metrics, str(claims))
        # The chunks of a variant are many, and their settings the same.
        self._resolve_job = cache(self._describe_job)

    def folder(self, name: str) -> str:
        """``name`` under the configured root, as snakemake writes paths."""
        return str(PurePath(self.config.root) / name)

    @property
    def studies(self) -> list[str]:
        """The configured studies."""
        return list(self.config.studies)

    def study(self, study: str) -> StudySettings:
        """Settings of one study."""
        return self.config.studies[study]

    def run_folders(self, study: str) -> list[str]:
        """The folder of every training job of a study, below ``results``."""
        settings, results = self.study(study), self.folder("results")
        return [
            f"{results}/{study}/{arm}/{variant}/{chunk}"
            for arm, variant in settings.trained()
            for chunk in chunks(self.config.seed_count, settings.chunk)
        ]

    def runs(self, name: str) -> Any:
        """Input function: file ``name`` of every training job of the study."""
        return lambda wildcards: [f"{run}/{name}" for run in self.run_folders(wildcards.study)]

    def certified(self, name: str) -> Any:
        """Input function: file ``name`` of the study's certificates, if it has any."""

        def of_study(wildcards: Wildcards) -> list[str]:
            known = has_part(wildcards.study, "certify")
            return [f"{self.folder('results')}/{wildcards.study}/{name}"] if known else []

        return of_study

    def prose(self, wildcards: Wildcards) -> list[str]:
        """Input function: the study's own text and the templates of the page."""
        text = _source(discover()[wildcards.study]) / "report.typ"
        templates = sorted((_source("journeylab.reports") / "templates").glob("*.typ"))
        return [_relative(file) for file in (text, *templates)]

    def styles(self) -> list[str]:
        """Input: the style sheets of the figures."""
        sheets = sorted(_source("journeylab.plotting").glob("*.mplstyle"))
        return [_relative(sheet) for sheet in sheets]

    def code(self, stage: Stage) -> Any:
        """Params function: fingerprint of the code that a stage of the study runs."""

        return lambda wildcards: stage_code(wildcards.study, stage)

    def data_settings(self, wildcards: Wildcards) -> str:
        """Params function: what the dataset depends on."""
        return self._section(wildcards.study, "data")

    def job_settings(self, wildcards: Wildcards) -> str:
        """Params function: the resolved settings of a training job."""
        return self._resolve_job(wildcards.study, wildcards.arm, wildcards.variant)

    def evaluation_settings(self, wildcards: Wildcards) -> str:
        """Params function: how a trained model is measured."""
        return self._section(wildcards.study, "evaluation")

    def certificate_settings(self, wildcards: Wildcards) -> str:
        """Params function: what is certified."""
        return self._section(wildcards.study, "certificates")

    def study_settings(self, wildcards: Wildcards) -> str:
        """Params function: all settings of a study at this scale."""
        settings = self.study(wildcards.study)
        return canonical(settings.model_dump(mode="json", exclude={"scales"}))

    def claims(self, wildcards: Wildcards) -> str:
        """Params function: the study's part of the register, with the judge's constants."""
        own = self.register.studies.get(wildcards.study)
        register = self.register.model_copy(
            update={"studies": {wildcards.study: own} if own else {}}
        )
        return canonical(register.model_dump(mode="json"))

    def scale(self) -> str:
        """Params: what the judge must know of the scale."""
        return canonical({"name": self.config.scale, "seeds": self.config.seed_count})

    def libraries(self, *names: str) -> str:
        """Params: the public versions of the libraries that a stage's numbers depend on."""
        known = versions(*names)
        return canonical({name: known[name] for name in names})

    def steps(self, wildcards: Wildcards) -> int:
        """The training steps of one seed of a job."""
        job = self.study(wildcards.study).job(wildcards.arm, wildcards.variant)
        return int(job["training"]["steps"])

    def _describe_job(self, study: str, arm: str, variant: str) -> str:
        job = self.study(study).job(arm, variant)
        model = study_module(study, "settings").Job
        return canonical(model.model_validate(job).model_dump(mode="json"))

    def _section(self, study: str, name: str) -> str:
        section = self.study(study).section(name)
        return canonical(section.model_dump(mode="json") if section else {})


def _source(module: str) -> Path:
    spec = find_spec(module)
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


def _relative(file: Path) -> str:
    here = Path.cwd()
    return str(file.relative_to(here)) if file.is_relative_to(here) else str(file)
