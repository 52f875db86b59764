"""What a researcher may write in ``config.yaml``, as frozen, validated objects.

The file is read once and flows one way: YAML → these models → plans → stages. Each study derives
its part from the models below (``studies/<folder>/settings.py``); this module knows no study.
"""

import difflib
import json
import re
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar, cast

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
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


class TrainedJob(Frozen):
    """All that determines one trained variant, besides its seed; studies add what they read."""

    variant: str
    training: TrainingSettings


class VariantSettings(Frozen):
    """One variant of an arm; ``model`` and ``training`` override the arm's."""

    enabled: bool = True
    model: dict[str, Any] = {}
    training: dict[str, Any] = {}


Variants = Annotated[dict[Name, VariantSettings], Field(min_length=1)]


class ArmSettings(Frozen):
    """A condition, and the variants that meet it; ``variants: [A, B]`` where nothing is overridden.

    ``dataset`` names one of the study's datasets; a study that has one needs no name.
    """

    enabled: bool = True
    dataset: Name | None = None
    model: dict[str, Any] = {}
    variants: Variants

    @field_validator("variants", mode="before")
    @classmethod
    def _by_name(cls, written: Any) -> Any:
        return by_name(written)


class TrainedArm(ArmSettings):
    """Variants that are trained on a dataset, and then measured.

    ``data``, ``model`` and ``training`` override the study's. A study subclasses this with the
    fields that tell its arms apart.
    """

    data: dict[str, Any] = {}
    training: dict[str, Any] = {}


class ComputedArm(ArmSettings):
    """Variants that are computed: a certificate, a simulation, a null distribution.

    ``computed`` says what (the study's ``compute.py`` knows it); ``replicates``: for every seed, or
    once, as an enumeration is. A study subclasses this with the sizes of its computations.
    """

    computed: str
    replicates: Literal["seeds", "once"]
    variants: Variants = {"all": VariantSettings()}


def chosen_by_kind(value: Any) -> str:
    """Which of a study's two kinds of arm is meant: one with the key ``computed``, or the other."""
    computed = "computed" in value if isinstance(value, Mapping) else hasattr(value, "computed")
    return "(computed)" if computed else "(trained)"


ByKind = Discriminator(chosen_by_kind)
"""Tells ``Annotated[Trained, Tag("(trained)")] | Annotated[Computed, Tag("(computed)")]`` apart."""


class RunSettings(NamedTuple):
    """One arm/variant of a study, resolved; ``settings`` is all that its runs depend on.

    ``dataset`` is the name of the dataset that a trained run reads, ``data`` its settings.
    """

    arm: str
    variant: str
    settings: dict[str, Any]
    dataset: str | None
    data: dict[str, Any]
    computed: bool
    once: bool


class StudySettings(Frozen):
    """What every study's part of ``config.yaml`` has in common.

    Subclasses type ``datasets`` and ``arms`` and declare the sections they have among ``model``,
    ``training`` and ``evaluation``. ``scales`` holds, per scale, what differs from the rest.
    """

    chunk: PositiveInt = 4
    datasets: Mapping[Name, Frozen] = {}
    arms: Mapping[Name, ArmSettings] = {}
    scales: dict[Scale, dict[str, Any]] = {}

    def section(self, name: str) -> Frozen | None:
        """The section ``name`` of this study, or None if the study has none."""
        return cast(Frozen | None, getattr(self, name, None))

    def enabled(self) -> Iterator[tuple[str, str]]:
        """The (arm, variant) pairs that are run."""
        for arm, settings in self.arms.items():
            for variant, chosen in settings.variants.items():
                if settings.enabled and chosen.enabled:
                    yield arm, variant

    def trained(self) -> Iterator[tuple[str, str]]:
        """The (arm, variant) pairs that are trained."""
        return (pair for pair in self.enabled() if isinstance(self.arms[pair[0]], TrainedArm))

    def resolve(self, arm: str, variant: str) -> RunSettings:
        """What the runs of one variant depend on: the arm's own keys, its dataset, the sections.

        An arm that overrides ``data`` reads a dataset of its own, named after both. Raises
        ValueError for a dataset that is not named or does not exist.
        """
        chosen = self.arms[arm]
        own = set(type(chosen).model_fields) - _RESOLVED
        resolved = chosen.model_dump(mode="json", include=own) | {"variant": variant}
        dataset = self._dataset(chosen)
        data: dict[str, Any] = {}
        if dataset is not None:
            data = self.datasets[dataset].model_dump(mode="json")
            if isinstance(chosen, TrainedArm) and chosen.data:
                data |= chosen.data
                dataset = f"{dataset}.{arm}"
            resolved["data"] = data
        for name in ("model", "training"):
            if (section := self.section(name)) is not None:
                overrides = getattr(chosen, name, {}) | getattr(chosen.variants[variant], name)
                resolved[name] = section.model_dump(mode="json") | overrides
        computed = isinstance(chosen, ComputedArm)
        return RunSettings(
            arm=arm,
            variant=variant,
            settings=resolved,
            dataset=None if computed else dataset,
            data=data,
            computed=computed,
            once=isinstance(chosen, ComputedArm) and chosen.replicates == "once",
        )

    def _dataset(self, arm: ArmSettings) -> str | None:
        if arm.dataset is not None:
            if arm.dataset not in self.datasets:
                known = ", ".join(self.datasets) or "none"
                raise ValueError(f"dataset {arm.dataset!r} is unknown; accepted: {known}")
            return arm.dataset
        if len(self.datasets) > 1 and isinstance(arm, TrainedArm):
            raise ValueError(f"dataset is missing; accepted: {', '.join(self.datasets)}")
        return next(iter(self.datasets)) if len(self.datasets) == 1 else None


_RESOLVED = {"enabled", "variants", "dataset", "replicates", "data", "model", "training"}


def by_name(variants: Any) -> Any:
    """``[A, B]`` as ``{A: {}, B: {}}``; anything else as it is. Raises ValueError for repeats."""
    if not isinstance(variants, list | tuple) or not all(isinstance(v, str) for v in variants):
        return variants
    if repeated := {name for name in variants if variants.count(name) > 1}:
        raise ValueError(f"{', '.join(sorted(repeated))} is written twice")
    return {name: {} for name in variants}


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


ONCE = "once"
"""What stands in place of a chunk's name where a run has no seeds."""


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
        known = _keys_at(model, tuple(map(str, problem["loc"][:-1])))
        return f"{where} unknown key;{accepted(loc[-1], known)}"
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


def merge(base: Any, override: Any) -> Any:
    """``base`` with what ``override`` says otherwise, key by key; lists of names are mappings."""
    base = by_name(base) if isinstance(override, Mapping) else base
    if not isinstance(base, Mapping) or not isinstance(override, Mapping):
        return override
    changed = {key: merge(base.get(key), value) for key, value in override.items()}
    return {**base, **changed}


def accepted(name: object, known: Mapping[str, Any] | list[str]) -> str:
    """A hint at what would have been right: the closest name, and all of them."""
    if not known:
        return " remove it"
    close = difflib.get_close_matches(str(name), list(known), n=1)
    hint = f" did you mean {close[0]!r}?" if close else ""
    return f"{hint} accepted: {', '.join(known)}"


def _keys_at(model: type[BaseModel], loc: tuple[str, ...]) -> list[str]:
    schema = model.model_json_schema()
    node: dict[str, Any] = schema
    for part in (*loc, ""):
        while "$ref" in node or "anyOf" in node or "oneOf" in node:
            choices = node.get("anyOf") or node.get("oneOf")
            if choices and part.startswith("("):
                break
            node = choices[0] if choices else schema["$defs"][node["$ref"][8:]]
        if part.startswith("("):
            node = _tagged(node, part.strip("()"), schema["$defs"])
        elif part:
            by_pattern = next(iter(node.get("patternProperties", {}).values()), None)
            inner = by_pattern or node.get("additionalProperties") or node.get("items") or {}
            node = node.get("properties", {}).get(part) or inner
    return list(node.get("properties", {}))


def _tagged(node: dict[str, Any], tag: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """The member of a union that a tag stands for: by a key or constant of that name."""
    choices: list[dict[str, Any]] = node.get("oneOf") or node.get("anyOf") or [node]
    for choice in choices:
        keys = known.get(choice.get("$ref", "")[8:], {}).get("properties", {})
        if tag in keys or any(key.get("const") == tag for key in keys.values()):
            return choice
    return choices[0]


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
