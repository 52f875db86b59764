"""What a researcher may write in ``config.yaml``, as frozen, validated objects.

The file is read once and flows one way: YAML → these models → arguments of the stages. Each study
owns its part (``studies/<folder>/settings.py``); this module discovers studies and names none.
"""

import difflib
import importlib
import json
import pkgutil
import re
from collections.abc import Hashable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal, Self, TypeVar, cast

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

STUDIES = "journeylab.studies"

M = TypeVar("M", bound=BaseModel)

Scale = Literal["quick", "default", "paper"]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=64)]
"""A name that may reach a path or a shell: letters, digits, ``_ . -``."""
FolderPath = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_./][A-Za-z0-9_./-]*$")]


class UserError(Exception):
    """A mistake of the person at the keyboard, told in one line and without a traceback."""


class Frozen(BaseModel):
    """An immutable record that refuses keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _no_text_for_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        field = cls.model_fields.get(info.field_name or "")
        if field and field.annotation in (int, float) and isinstance(value, str | bool):
            raise ValueError("write a number; before an exponent YAML wants a dot, as in 3.0e-3")
        return value


class Metric(Frozen):
    """A measured quantity: its label in print and the factor levels it is reported for."""

    label: str
    factors: dict[str, tuple[str | int, ...]] = {}
    better: Literal["higher", "lower"] = "higher"


class TrainingSettings(Frozen):
    """How one seed is trained; budgets are in steps, never in seconds."""

    steps: PositiveInt
    learning_rate: PositiveFloat
    warmup: NonNegativeInt = 0
    weight_decay: NonNegativeFloat = 0.0
    dropout: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0
    clip: PositiveFloat = 1.0
    evaluate_every: PositiveInt = 100
    checkpoint_every: PositiveInt = 300

    @model_validator(mode="after")
    def _warms_up_within_its_budget(self) -> Self:
        if self.warmup > self.steps:
            raise ValueError(f"warmup {self.warmup}: write at most steps, {self.steps}")
        return self


class VariantSettings(Frozen):
    """One variant of an arm; ``training`` overrides the arm's."""

    enabled: bool = True
    training: dict[str, Any] = {}


class ArmSettings(Frozen):
    """A condition under which variants are trained; ``training`` overrides the study's.

    A study subclasses this with the fields that tell its arms apart.
    """

    enabled: bool = True
    training: dict[str, Any] = {}
    variants: Annotated[dict[Name, VariantSettings], Field(min_length=1)]


class StudySettings(Frozen):
    """What every study's part of ``config.yaml`` has in common.

    Subclasses declare the sections they have among ``data``, ``model``, ``training``,
    ``evaluation`` and ``certificates``. ``scales`` holds, per scale, what differs from the rest.
    """

    chunk: PositiveInt = 4
    arms: Mapping[Name, ArmSettings] = {}
    scales: dict[Scale, dict[str, Any]] = {}

    def section(self, name: str) -> Frozen | None:
        """The section ``name`` of this study, or None if the study has none."""
        return cast(Frozen | None, getattr(self, name, None))

    def trained(self) -> Iterator[tuple[str, str]]:
        """The (arm, variant) pairs that are trained."""
        for arm, settings in self.arms.items():
            for variant, chosen in settings.variants.items():
                if settings.enabled and chosen.enabled:
                    yield arm, variant

    def job(self, arm: str, variant: str) -> dict[str, Any]:
        """The resolved settings of one training job, and nothing it does not depend on."""
        chosen = self.arms[arm]
        resolved = chosen.model_dump(mode="json", exclude={"enabled", "variants", "training"})
        for name in ("data", "model"):
            if section := self.section(name):
                resolved[name] = section.model_dump(mode="json")
        training = self.section("training")
        resolved["training"] = (
            (training.model_dump(mode="json") if training else {})
            | chosen.training
            | chosen.variants[variant].training
        )
        return resolved | {"variant": variant}


class Tracking(Frozen):
    """Where runs are logged."""

    uri: Annotated[str, StringConstraints(pattern=r"^[a-z+]+:[A-Za-z0-9_./:@%-]+$")] = (
        "sqlite:///mlflow.db"
    )


class Config(Frozen):
    """The whole of ``config.yaml`` at one scale."""

    root: FolderPath = "."
    scale: Scale = "default"
    seeds: dict[Scale, PositiveInt]
    engine: Literal["auto", "sequential", "batched"] = "auto"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    tracking: Tracking = Tracking()
    studies: Mapping[Name, StudySettings]

    @model_validator(mode="after")
    def _counts_the_seeds(self) -> Self:
        if self.scale not in self.seeds:
            raise ValueError(f"seeds: write how many scale {self.scale!r} runs")
        return self

    @property
    def seed_count(self) -> int:
        """How many seeds this scale runs."""
        return self.seeds[self.scale]


@cache
def discover() -> dict[str, str]:
    """Study id → module path of every study folder, in numeric order."""
    package = importlib.import_module(STUDIES)
    found = (module.name for module in pkgutil.iter_modules(package.__path__) if module.ispkg)
    named: dict[str, str] = {}
    for name in found:
        study, module = name.split("_")[0], f"{STUDIES}.{name}"
        if study in named:
            raise UserError(f"{named[study]} and {module} are both study {study}; rename one")
        named[study] = module
    return dict(sorted(named.items(), key=lambda item: (len(item[0]), item[0])))


def study_module(study: str, part: str) -> ModuleType:
    """Module ``part`` (``settings``, ``data`` …) of a study.

    Raises UserError for an unknown study or a part that the study does not have.
    """
    known = discover()
    if study not in known:
        raise UserError(f"study {study!r} is unknown; there are: {', '.join(known)}")
    name = f"{known[study]}.{part}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise UserError(f"study {study} has no {part}.py") from None


def has_part(study: str, part: str) -> bool:
    """Whether a study has a module of that name; nothing is imported."""
    package = importlib.import_module(discover()[study])
    return any((Path(folder) / f"{part}.py").exists() for folder in package.__path__)


def chunks(seeds: int, size: int) -> list[str]:
    """Names of the chunks that hold seeds 0 … seeds − 1, e.g. ``seeds-00-03``."""
    bounds = ((first, min(first + size, seeds) - 1) for first in range(0, seeds, size))
    return [f"seeds-{first:02d}-{last:02d}" for first, last in bounds]


def chunk_seeds(chunk: str) -> range:
    """The seeds of a chunk name; raises UserError if it is not one."""
    match = re.fullmatch(r"seeds-(\d{2,})-(\d{2,})", chunk)
    if not match or int(match[1]) > int(match[2]):
        raise UserError(f"chunk {chunk!r}: write seeds-FIRST-LAST, e.g. seeds-00-03")
    return range(int(match[1]), int(match[2]) + 1)


def load(path: Path, overrides: Mapping[str, Any] | None = None) -> Config:
    """Read and validate a configuration file; ``overrides`` replaces top-level keys.

    Raises UserError with file, key, value and what would be right, in one line.
    """
    return resolve(read_yaml(path) | dict(overrides or {}), str(path))


def resolve(raw: Mapping[str, Any], file: str = "config.yaml") -> Config:
    """Validate a configuration that was already read; errors as in :func:`load`."""
    top = dict(raw)
    written = top.get("studies")
    if not isinstance(written, Mapping):
        raise UserError(f"{file}: studies: {written!r}: write a mapping of studies")
    known = discover()
    for study in written:
        if study not in known:
            raise UserError(f"{file}: studies.{study}: no such study;{_accepted(study, known)}")
    scale = top.get("scale", "default")
    studies = {
        study: _resolve_study(study, written[study], scale, file)
        for study in known
        if study in written
    }
    return build(Config, top | {"studies": studies}, file)


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML mapping; raises UserError for a missing file, bad syntax or another type."""
    try:
        with path.open(encoding="utf-8") as stream:
            content = yaml.load(stream, Loader=_UniqueKeyLoader)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        raise UserError(f"{path}: line {line}: {error.problem}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a YAML text ({' '.join(str(error).split())})") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: write a mapping (key: value), not {type(content).__name__}")
    return content


def canonical(content: Any) -> str:
    """JSON text that depends on the content only: sorted keys, no spaces."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def explain(error: ValidationError, model: type[BaseModel], file: str, at: tuple[str, ...]) -> str:
    """The first problem of a validation as one line: file, key, value, what would be right."""
    # A misspelt key is also a missing one; the former is the one to mend.
    problem = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    loc = tuple(part for part in map(str, problem["loc"]) if part != "[key]" and part[0] != "(")
    key = ".".join(at + loc)
    where = f"{file}: {key}:" if key else f"{file}:"
    value = problem["input"]
    if problem["type"] == "extra_forbidden":
        return f"{where} unknown key;{_accepted(loc[-1], _keys_at(model, loc[:-1]))}"
    if problem["type"] == "missing":
        return f"{where} is missing"
    message = problem["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    shown = "" if isinstance(value, dict | BaseModel) else f" {value!r}:"
    return " ".join(f"{where}{shown} {message}".split())


def build(model: type[M], content: Any, file: str, at: tuple[str, ...] = ()) -> M:
    """Validate ``content`` as ``model``; raises UserError in the words of :func:`explain`."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise UserError(explain(error, model, file, at)) from None


def _resolve_study(study: str, section: Any, scale: str, file: str) -> StudySettings:
    module = study_module(study, "settings")
    model = cast(type[StudySettings], module.Settings)
    at = ("studies", study)
    written = section if section is not None else {}
    settings = build(model, written, file, at)
    _check_jobs(settings, module.Job, file, at)
    for name, override in settings.scales.items():
        here = (*at, "scales", name)
        if "scales" in override:
            raise UserError(f"{file}: {'.'.join(here)}.scales: a scale has no scales; remove it")
        scaled = build(model, _merge(written, override), file, here)
        _check_jobs(scaled, module.Job, file, here)
        if name == scale:
            settings = scaled
    return settings


def _check_jobs(
    settings: StudySettings, job: type[BaseModel], file: str, at: tuple[str, ...]
) -> None:
    training = settings.section("training")
    for arm, chosen in settings.arms.items():
        here = (*at, "arms", arm)
        if training is not None:
            overridden = training.model_dump() | chosen.training
            build(type(training), overridden, file, (*here, "training"))
        for variant in chosen.variants:
            build(job, settings.job(arm, variant), file, (*here, "variants", variant))


def _merge(base: Any, override: Any) -> Any:
    if not isinstance(base, Mapping) or not isinstance(override, Mapping):
        return override
    changed = {key: _merge(base.get(key), value) for key, value in override.items()}
    return {**base, **changed}


def _accepted(name: object, known: Mapping[str, Any] | list[str]) -> str:
    if not known:
        return " remove it"
    close = difflib.get_close_matches(str(name), list(known), n=1)
    hint = f" did you mean {close[0]!r}?" if close else ""
    return f"{hint} accepted: {', '.join(known)}"


def _keys_at(model: type[BaseModel], loc: tuple[str, ...]) -> list[str]:
    schema = model.model_json_schema()
    node: dict[str, Any] = schema
    for part in (*loc, ""):
        while "$ref" in node or "anyOf" in node:
            node = node["anyOf"][0] if "anyOf" in node else schema["$defs"][node["$ref"][8:]]
        if part:
            by_pattern = next(iter(node.get("patternProperties", {}).values()), None)
            inner = by_pattern or node.get("additionalProperties") or node.get("items") or {}
            node = node.get("properties", {}).get(part) or inner
    return list(node.get("properties", {}))


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML that refuses a key written twice, instead of silently keeping the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                break  # the base class refuses it
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key!r} is written twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)
