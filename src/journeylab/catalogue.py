"""Discovery of the studies, their typed parts, and the resolution of their settings.

A study is a folder ``expN_name`` of modules. A project that imports journeylab has its studies in
a package of its own, ``studies``, in the working directory; elsewhere the studies are those of
``journeylab.studies``. Only this module looks for studies.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import TypeAdapter

from journeylab.config import (
    ArmSettings,
    ComputedArm,
    Config,
    Frozen,
    RunSettings,
    StudySettings,
    TrainedJob,
    UserError,
    at_scale,
    build,
    check_known,
    check_plain,
    read_yaml,
    shown,
)
from journeylab.parts import ComputePart, DataPart, MeasurePart, ModelsPart, SettingsPart
from journeylab.records.fingerprint import BOOKKEEPING, PLANNED, PROJECT_STUDIES, closure
from journeylab.records.stages import STAGES
from journeylab.wording.names import StudyNames, read_names

if TYPE_CHECKING:
    from journeylab.reports.draw import FiguresPart

PACKAGE = Path(__file__).parent


def rails() -> Path:
    """The folder of Snakefile, workflow/ and profiles/: in the wheel, or else the repository."""
    packed = PACKAGE / "rails"
    return packed if packed.is_dir() else PACKAGE.parents[1]


OWN = (Path(PROJECT_STUDIES) / "__init__.py").is_file()
"""Whether the working directory is a project with studies of its own."""
STUDIES = Path.cwd() / PROJECT_STUDIES if OWN else PACKAGE / "studies"
STUDIES_PACKAGE = PROJECT_STUDIES if OWN else "journeylab.studies"
CODE = STUDIES.parent if OWN else PACKAGE.parents[1]
"""The repository that holds the studies."""
if OWN:  # at the end, so that no file of the project hides a library
    sys.path.append(str(STUDIES.parent))


@cache
def discover() -> dict[str, str]:
    """Study id → module path of every study folder, in numeric order."""
    names = (module.name for module in pkgutil.iter_modules([str(STUDIES)]) if module.ispkg)
    named: dict[str, str] = {}
    for name in names:
        study, module = name.split("_")[0], f"{STUDIES_PACKAGE}.{name}"
        if study in named:
            raise UserError(f"{named[study]} and {module} are both study {study}; rename one")
        named[study] = module
    return dict(sorted(named.items(), key=lambda item: (len(item[0]), item[0])))


def study_folder(study: str) -> Path:
    """The folder of a study's modules. Raises UserError for an unknown study."""
    return STUDIES / _module(study).rpartition(".")[2]


def printed_names(study: str) -> StudyNames:
    """``names.yaml`` of a study: what is printed. Raises UserError, in one line."""
    return read_names(study_folder(study))


def assets(stage: str, study: str) -> dict[str, Path]:
    """The files of prose and style that a stage of a study reads, by their names in its plan.

    The names are relative to the package, or to the project that holds the studies.
    """
    found: dict[str, Path] = {}
    for pattern in STAGES[stage].assets:
        own = pattern.startswith("{study}/")
        base = STUDIES.parent if own else PACKAGE
        named = pattern.format(study=study_folder(study).relative_to(base)) if own else pattern
        found |= {path.relative_to(base).as_posix(): path for path in sorted(base.glob(named))}
    return found


def prose(study: str) -> str:
    """The text of a study's report, in Typst."""
    return (study_folder(study) / "report.typ").read_text(encoding="utf-8")


def stage_roots(stage: str, study: str) -> tuple[str, ...]:
    """The modules whose import closure a stage of a study loads."""
    return ("journeylab.stages.running", f"journeylab.stages.{stage}", *_parts(stage, study))


def key_modules(stage: str, study: str) -> list[str]:
    """The modules that decide the output of a stage of a study: its key is a hash of their code.

    Up to the verdicts these are the modules that decide numbers; bookkeeping is left out. From
    drawing on, where a job takes seconds, all modules that the stage loads count.
    """
    core = STAGES[stage].core
    if not core:
        return closure(stage_roots(stage, study))
    roots = (f"journeylab.{core}", *_parts(stage, study))
    return closure(roots, outside=(*PLANNED, *BOOKKEEPING))


def _parts(stage: str, study: str) -> list[str]:
    """The modules of a study that a stage loads."""
    parts = [part for part in STAGES[stage].parts if (study_folder(study) / f"{part}.py").exists()]
    return [f"{_module(study)}.{part}" for part in parts]


def settings_part(study: str) -> SettingsPart:
    """``settings.py`` of a study; this and the functions below raise UserError if it is missing."""
    return cast(SettingsPart, _part(study, "settings"))


def data_part(study: str) -> DataPart:
    """``data.py`` of a study."""
    return cast(DataPart, _part(study, "data"))


def models_part(study: str) -> ModelsPart:
    """``models.py`` of a study."""
    return cast(ModelsPart, _part(study, "models"))


def measure_part(study: str) -> MeasurePart:
    """``measure.py`` of a study."""
    return cast(MeasurePart, _part(study, "measure"))


def compute_part(study: str) -> ComputePart:
    """``compute.py`` of a study."""
    return cast(ComputePart, _part(study, "compute"))


def figures_part(study: str) -> FiguresPart:
    """``figures.py`` of a study."""
    return cast("FiguresPart", _part(study, "figures"))


def job_model(study: str, *, computed: bool) -> type[Frozen]:
    """The type of a study's trained (Job) or computed variants (Computation)."""
    name = "Computation" if computed else "Job"
    model = getattr(settings_part(study), name, None)
    if model is None:
        kind = "computed" if computed else "trained"
        raise UserError(f"study {study} has no {kind} arms: its settings.py defines no {name}")
    return cast(type[Frozen], model)


def dataset_settings(study: str, settings: Mapping[str, Any]) -> Frozen:
    """The settings of a dataset, as the study's ``Data``."""
    return _typed(settings_part(study).Data, settings)


def trained_job(study: str, settings: Mapping[str, Any]) -> TrainedJob:
    """The resolved settings of a trained variant, as the study's ``Job``."""
    return cast(TrainedJob, _typed(job_model(study, computed=False), settings))


def computation(study: str, settings: Mapping[str, Any]) -> Frozen:
    """The resolved settings of a computed variant, as the study's ``Computation``."""
    return _typed(job_model(study, computed=True), settings)


def evaluation_settings(study: str, settings: Mapping[str, Any]) -> Frozen:
    """The settings of measuring, as the study's ``Evaluation``."""
    return _typed(settings_part(study).Evaluation, settings)


def study_settings(study: str, settings: Mapping[str, Any]) -> StudySettings:
    """All settings of a study at one scale, as its ``Settings``."""
    return cast(StudySettings, _typed(settings_part(study).Settings, settings))


def resolve_run(study: str, settings: StudySettings, arm: str, variant: str) -> RunSettings:
    """The settings of one variant, reduced to the sections that its Job or Computation has.

    Raises ValueError, as :meth:`StudySettings.resolve` does.
    """
    run = settings.resolve(arm, variant)
    fields = job_model(study, computed=run.computed).model_fields
    unread = {"data", "model", "training"} - set(fields)
    return run._replace(settings={k: v for k, v in run.settings.items() if k not in unread})


def runs_of(study: str, settings: StudySettings) -> Iterator[RunSettings]:
    """All enabled variants of a study, resolved and validated."""
    for arm, variant in settings.enabled():
        run = resolve_run(study, settings, arm, variant)
        model = job_model(study, computed=run.computed)
        yield run._replace(settings=model.model_validate(run.settings).model_dump(mode="json"))


def load(path: Path, overrides: Mapping[str, Any] | None = None) -> Config:
    """Read and validate a configuration file; ``overrides`` replaces top-level keys.

    Raises UserError with file, key, value and what would be right, in one line.
    """
    return resolve(read_yaml(path) | dict(overrides or {}), str(path))


def resolve(raw: Mapping[str, Any], file: str = "config.yaml") -> Config:
    """Validate a configuration that was read already; errors as in :func:`load`."""
    check_plain(raw, file)
    top = dict(raw)
    written = top.get("studies")
    if not isinstance(written, Mapping) or not written:
        raise UserError(f"{file}: studies: {shown(written)}: write a mapping of studies")
    known = discover()
    for study in written:
        check_known(study, known, f"{file}: studies.{study}: no such study")
    scale = top.get("scale", "default")
    studies = {
        study: _resolve_study(study, written[study], scale, file)
        for study in known
        if study in written
    }
    return build(Config, top | {"studies": studies}, file)


def _resolve_study(study: str, section: object, scale: str, file: str) -> StudySettings:
    model = settings_part(study).Settings
    at = ("studies", study)
    written = section if section is not None else {}
    settings = build(model, written, file, at)
    _check_runs(study, settings, file, at)
    for name, override in settings.scales.items():
        here = (*at, "scales", name)
        if "scales" in override:
            raise UserError(f"{file}: {'.'.join(here)}.scales: a scale has no scales; remove it")
        scaled = build(model, at_scale(written, override), file, here)
        _check_runs(study, scaled, file, here)
        if name == scale:
            settings = scaled
    return settings


def _check_runs(study: str, settings: StudySettings, file: str, at: tuple[str, ...]) -> None:
    """Every override and every resolved job, of arms that are off as well."""
    data: dict[str, tuple[str, object]] = {}
    for arm, chosen in settings.arms.items():
        here = (*at, "arms", arm)
        for name in ("model", "training"):
            section = settings.section(name)
            if section is not None:
                overrides = getattr(chosen, name, {})
                build(type(section), section.model_dump() | overrides, file, (*here, name))
        for variant in chosen.variants:
            there = (*here, "variants", variant)
            _check_overrides(study, chosen, variant, file, here)
            try:
                run = resolve_run(study, settings, arm, variant)
            except ValueError as error:
                raise UserError(f"{file}: {'.'.join(here)}: {error}") from None
            build(job_model(study, computed=run.computed), run.settings, file, there)
            made = (run.dataset or "", run.data)
            if run.dataset and data.setdefault(run.dataset.lower(), made) != made:
                raise UserError(
                    f"{file}: {'.'.join((*here, 'data'))}: dataset {run.dataset!r} is another one; "
                    "rename that"
                )


def _check_overrides(
    study: str, arm: ArmSettings, variant: str, file: str, at: tuple[str, ...]
) -> None:
    """Nothing is overridden, or chosen, that no job of this arm reads."""
    read = job_model(study, computed=isinstance(arm, ComputedArm)).model_fields
    own = arm.variants[variant]
    written = {
        ("dataset",): ("data", arm.dataset is not None),
        ("model",): ("model", bool(arm.model)),
        ("training",): ("training", bool(getattr(arm, "training", None))),
        ("variants", variant, "model"): ("model", bool(own.model)),
        ("variants", variant, "training"): ("training", bool(own.training)),
    }
    for key, (section, present) in written.items():
        if present and section not in read:
            where = ".".join((*at, *key))
            raise UserError(f"{file}: {where}: nothing of this arm reads {section}; remove it")


def _typed(model: type[Frozen], settings: Mapping[str, Any]) -> Frozen:
    return TypeAdapter(model).validate_python(settings)


def _module(study: str) -> str:
    known = discover()
    if study not in known:
        raise UserError(f"study {study!r} is unknown; there are: {', '.join(known)}")
    return known[study]


def _part(study: str, part: str) -> object:
    name = f"{_module(study)}.{part}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise UserError(f"study {study} has no {part}.py") from None
