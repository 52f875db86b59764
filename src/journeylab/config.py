"""What a researcher may write in ``config.yaml``, as frozen, validated objects.

The file is read once and flows one way: YAML → these models → plans → stages. Each study derives
its part from the models below (``studies/<folder>/settings.py``); this module knows no study.
"""

import difflib
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar, cast, get_args, get_origin

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    StrictBool,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")

LONGEST_MESSAGE, LONGEST_ECHO, LONGEST_PLACE = 290, 80, 140
"""Characters of a message, of a value in it, and of the keys that lead there."""
DEEPEST, LARGEST, LONGEST_TEXT = 40, 20_000, 1_000_000
"""How deep a YAML file may be nested, how many values and how many characters it may hold."""
WIDEST = 1_000
"""How many keys a mapping may have."""
MOST, MOST_SEEDS, MOST_RUNS, MOST_BYTES = 1_000_000, 10_000, 20_000, 10**10
"""Upper bounds of a count, of the seeds of a scale, the runs of a workflow, and a file not ours."""


def cut(text: str, longest: int) -> str:
    """A text of at most so many characters; an ellipsis stands for the rest."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def shown(value: object) -> str:
    """A value as a message echoes it: cut at 80 characters."""
    try:
        return cut(repr(value), LONGEST_ECHO)
    except (ValueError, RecursionError):  # an integer of thousands of digits; a list in itself
        return f"<{type(value).__name__}>"


class UserError(Exception):
    """A mistake of the person at the keyboard, told in one line and without a traceback."""

    def __init__(self, message: str) -> None:
        line = " ".join(message.split())
        printable = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in line)
        super().__init__(cut(printable, LONGEST_MESSAGE))


def _number(value: Any) -> Any:
    if isinstance(value, str | bool):
        raise ValueError("write a number; before an exponent YAML wants a dot, as in 3.0e-3")  # noqa: TRY004
    return value


def _repeated(values: Iterable[Hashable]) -> list[str]:
    return sorted(str(value) for value, count in Counter(values).items() if count > 1)


def _distinct(values: tuple[T, ...]) -> tuple[T, ...]:
    if repeated := _repeated(values):
        raise ValueError(f"{', '.join(repeated)} is written twice")
    return values


def _folder_of_its_own(root: str) -> str:
    parts = PurePath("/" + root.lstrip("/") if root.startswith("/") else root).parts
    names = [part.lower() for part in parts]
    if names == ["/"] or ".." in names:
        raise ValueError("write a folder below this one, as in build/quick, or an absolute path")
    if names[:2] in _SYSTEM and names[:3] != ["/", "dev", "shm"]:
        raise ValueError("write a folder for results, not one of the system")
    within = names
    if names[:1] == ["/"]:
        here = PurePath(*(part.lower() for part in Path.cwd().parts))
        whole = PurePath(*names)
        within = list(whole.relative_to(here).parts) if whole.is_relative_to(here) else []
    if _HIDDEN & set(names) or (within[:1] and within[0] in _SOURCES):
        raise ValueError("holds files of the project; write another folder, as in build/quick")
    try:
        taken = Path(root).exists() and not Path(root).is_dir()
    except OSError as error:  # a name that is too long; a folder that may not be entered
        raise ValueError(f"cannot be a folder ({error.strerror})") from None
    if taken:
        raise ValueError("is no folder; write one that is, or that is not there yet")
    return root


_SYSTEM = (["/", "dev"], ["/", "proc"], ["/", "sys"])
_HIDDEN = {".git", ".snakemake", ".dvc", ".venv"}
_SOURCES = {"benchmarks", "claims", "docs", "reference", "src", "tests", "workflow", ".github"}

Scale = Literal["quick", "default", "paper"]
NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
LONGEST_NAME = 64
Name = Annotated[str, StringConstraints(pattern=f"^{NAME}$", max_length=LONGEST_NAME)]
"""A name that may reach a path or a shell: letters, digits, ``_ . -``."""
FolderPath = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9_./][A-Za-z0-9_./-]*$", max_length=1000),
    AfterValidator(_folder_of_its_own),
]
"""Where results may be written: not over the project, and not over the system."""
AsNumber = BeforeValidator(_number)
"""Keeps pydantic from reading ``true`` and ``"3"`` as numbers."""
Count = Annotated[int, Field(gt=0, le=MOST), AsNumber]
"""How many of something: at least one, at most a million."""
Levels = Annotated[
    tuple[T, ...],
    Field(min_length=1, max_length=100, json_schema_extra={"uniqueItems": True}),
    AfterValidator(_distinct),
]
"""Levels of a factor: at least one, none of them twice."""


def refusal(error: OSError, arguments: list[str]) -> str:
    """The file and the reason; where the system names no file, the one that was to be written."""
    file = error.filename2 or error.filename
    if file is None and "--output" in arguments[:-1]:
        file = arguments[arguments.index("--output") + 1]
    reason = error.strerror or str(error) or type(error).__name__
    return f"{file}: {reason}" if file is not None else reason


class Frozen(BaseModel):
    """An immutable record that refuses keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _no_text_for_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        field = cls.model_fields.get(info.field_name or "")
        return _number(value) if field and _is_number(field.annotation) else value


def _is_number(annotation: object) -> bool:
    if get_origin(annotation) is Literal:
        return all(type(one) is int for one in get_args(annotation))
    return annotation in (int, float)


Labels = Mapping[str, str]
"""Names of variants in print; one that has none is printed as it is written."""


class Metric(Frozen):
    """A measured quantity: its label in print and the factor levels it is reported for."""

    label: str
    factors: dict[str, tuple[str | int, ...]] = {}
    better: Literal["higher", "lower"] = "higher"


class ExternalFile(Frozen):
    """A file that is not ours, known by its SHA-256.

    Where it is found is no part of what it is: ``url`` says where it is downloaded from, ``path``
    where a local copy may be, which is taken instead if it is there; both reach no plan but that of
    fetching it. Its size in ``bytes`` tells a copy that was cut short from another file.
    """

    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    url: Annotated[str, Field(pattern=r"^https?://[^\s@?]+$")] | None = Field(None, exclude=True)
    path: Annotated[str, Field(min_length=1)] | None = Field(None, exclude=True)
    bytes: Annotated[int, Field(gt=0, le=MOST_BYTES), AsNumber] | None = Field(None, exclude=True)


class FromFile(Frozen):
    """A dataset that is made from an external file; studies add what they make of it."""

    file: ExternalFile


class TrainingSettings(Frozen):
    """How one seed is trained; budgets are in steps, never in seconds."""

    steps: Count
    learning_rate: PositiveFloat
    warmup: Annotated[int, Field(ge=0, le=MOST)] = 0
    weight_decay: NonNegativeFloat = 0.0
    dropout: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0
    clip: PositiveFloat = 1.0
    evaluate_every: Count = 100
    checkpoint_every: Count = 300

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

    enabled: StrictBool = True
    model: dict[str, Any] = {}
    training: dict[str, Any] = {}


Variants = Annotated[dict[Name, VariantSettings], Field(min_length=1)]


class ArmSettings(Frozen):
    """A condition, and the variants that meet it; ``variants: [A, B]`` where nothing is overridden.

    ``dataset`` names one of the study's datasets; a study that has one needs no name. ``grid``
    makes one arm of every combination of its levels (:func:`span`).
    """

    enabled: StrictBool = True
    dataset: Name | None = None
    model: dict[str, Any] = {}
    variants: Variants
    grid: dict[Name, tuple[str | float, ...] | dict[Name, Any]] = Field({}, exclude=True)

    @field_validator("variants", mode="before")
    @classmethod
    def _by_name(cls, written: Any) -> Any:
        return by_name(written)

    @field_validator("variants")
    @classmethod
    def _have_folders(cls, variants: dict[str, VariantSettings]) -> dict[str, VariantSettings]:
        _check_case(variants)
        return variants


def span(arms: Any) -> Any:
    """Arms with a ``grid`` as one arm for every combination of its levels, named after them.

    ``S: {grid: {k: [1, 3], m: {one: {training: {steps: 9}}}}}`` is ``S-1-one`` and ``S-3-one``. A
    level is a value of the arm's key that its factor names, or a mapping of what it overrides. What
    is written under the name of such an arm goes before its grid, so that a scale can change one.
    Raises ValueError, with the arm's name.
    """
    if not isinstance(arms, Mapping):
        return arms
    grids = {name for name, arm in arms.items() if isinstance(arm, Mapping) and arm.get("grid")}
    found: dict[Any, Any] = {}
    spanned: set[str] = set()
    for name, arm in arms.items():
        if name not in grids:
            found.setdefault(name, arm)
            continue
        for own, chosen in _span(name, arm):
            if own in spanned or own in grids:
                raise ValueError(f"{name}.grid: there is another {own}; rename a level")
            spanned.add(own)
            found[own] = merge(chosen, arms[own]) if own in arms else chosen
    return found


def _span(name: str, arm: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if not isinstance(arm["grid"], Mapping):
        raise ValueError(f"{name}.grid: write a mapping from keys to their levels")  # noqa: TRY004
    grid = [_levels(f"{name}.grid", factor, levels) for factor, levels in arm["grid"].items()]
    if math.prod(map(len, grid)) > WIDEST:
        raise ValueError(f"{name}.grid: spans more than {WIDEST} arms")
    base = {key: value for key, value in arm.items() if key != "grid"}
    for levels in itertools.product(*(factor.items() for factor in grid)):
        chosen: Any = base
        for _, overrides in levels:
            chosen = merge(chosen, overrides)
        yield "-".join((name, *(level for level, _ in levels))), chosen


def _levels(where: str, factor: Any, levels: Any) -> dict[str, Mapping[Any, Any]]:
    """What each level of a factor overrides, by the level's name."""
    if isinstance(levels, list | tuple):
        named: set[str] = set()
        for level in sorted(levels, key=lambda level: isinstance(level, str)):  # 1 before "1"
            if type(level) not in (str, int, float):
                raise ValueError(f"{where}.{factor}: {level!r}: write numbers or names")
            if str(level) in named:
                raise ValueError(f"{where}.{factor}: {level!r} is written twice")
            named.add(str(level))
        levels = {str(level): level for level in levels}
    if not isinstance(levels, Mapping) or not levels:
        raise ValueError(f"{where}.{factor}: write at least one level, as in [1, 2]")
    return {
        str(level): chosen if isinstance(chosen, Mapping) else {factor: chosen}
        for level, chosen in levels.items()
    }


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
    ``training`` and ``evaluation``. ``scales`` holds, per scale, what differs from the rest. An
    ``optional`` study is run when its report is asked for, and not with all the others.
    """

    chunk: Annotated[int, Field(gt=0, le=MOST_SEEDS)] = 4
    datasets: Mapping[Name, Frozen] = {}
    arms: Mapping[Name, ArmSettings] = {}
    scales: dict[Scale, dict[str, Any]] = {}
    optional: StrictBool = False

    @field_validator("datasets")
    @classmethod
    def _datasets_have_files(cls, datasets: Mapping[str, Frozen]) -> Mapping[str, Frozen]:
        _check_case(datasets)
        return datasets

    @field_validator("arms", mode="before")
    @classmethod
    def _spanned(cls, written: Any) -> Any:
        return span(written)

    @field_validator("arms")
    @classmethod
    def _arms_have_folders(cls, arms: Mapping[str, ArmSettings]) -> Mapping[str, ArmSettings]:
        if not arms:
            raise ValueError("write at least one arm")
        _check_case(arms)
        for arm in arms:
            if arm.lower() in _RESERVED or arm.lower().endswith(_SUFFIXES):
                raise ValueError(f"{arm!r}: a file of the study is named so; write another name")
        return arms

    @model_validator(mode="after")
    def _runs_something(self) -> Self:
        if self.arms and not any(self.enabled()):
            raise ValueError("arms: all of them are off; write enabled: true in one")
        return self

    def files(self) -> Iterator[ExternalFile]:
        """The external files that datasets are made from, of arms that override theirs as well."""
        for dataset in self.datasets.values():
            if isinstance(dataset, FromFile):
                yield dataset.file
        for arm in self.arms.values():
            if isinstance(arm, TrainedArm) and "file" in arm.data:
                yield ExternalFile.model_validate(arm.data["file"])

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

    def restricted_to(self, named: Collection[tuple[str, str | None]]) -> Self:
        """This study with no other runs than those named, and those that are computed once.

        A pair without a variant names all variants of its arm.
        """
        arms = {}
        for arm, settings in self.arms.items():
            once = isinstance(settings, ComputedArm) and settings.replicates == "once"
            variants = {
                name: chosen
                if once or {(arm, name), (arm, None)} & set(named)
                else chosen.model_copy(update={"enabled": False})
                for name, chosen in settings.variants.items()
            }
            arms[arm] = settings.model_copy(update={"variants": variants})
        return self.model_copy(update={"arms": arms})

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


_RESERVED = {
    *{"data", "once", "seeds", "runs", "figures", "tables", "metrics", "measurements", "verdicts"},
    *{"generate", "train", "compute", "measure", "collect", "judge", "draw", "typeset"},
}
_SUFFIXES = (".json", ".parquet", ".safetensors", ".pdf", ".tex", ".log")
"""What lies beside the arms of a study, in its plans, its results and its logs."""


def _check_case(names: Iterable[str]) -> None:
    """Some file systems keep one folder for names that differ in case only."""
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(name.lower(), name)
        if other != name:
            raise ValueError(f"{other!r} and {name!r} differ in case only; rename one")


_RESOLVED = {"enabled", "variants", "dataset", "replicates", "data", "model", "training"}


def by_name(variants: Any) -> Any:
    """``[A, B]`` as ``{A: {}, B: {}}``; anything else as it is. Raises ValueError for repeats."""
    if not isinstance(variants, list | tuple) or not all(isinstance(v, str) for v in variants):
        return variants
    return {name: {} for name in _distinct(tuple(variants))}


class Tracking(Frozen):
    """Where runs are logged, and whether that is done whenever a workflow ends."""

    enabled: bool = True
    uri: Annotated[str, StringConstraints(pattern=r"^[a-z+]+:[A-Za-z0-9_./:@%-]+$")] = (
        "sqlite:///mlflow.db"
    )

    @model_validator(mode="before")
    @classmethod
    def _without_credentials(cls, written: Any) -> Any:
        if isinstance(written, str):  # to be refused as no mapping, but not aloud
            return masked(written)
        uri = str(written.get("uri", "")) if isinstance(written, Mapping) else ""
        if masked(uri) != uri:
            raise ValueError(
                "uri must not hold a user, a password or options; write the address only, and set "
                "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_URI"
            )
        return written


def masked(text: str) -> str:
    """A text whose addresses tell neither user and password nor options: scheme://***@host/path."""
    return re.sub(r"(?<=://)[^/\s]\S*(?=@)|(?<=\?)\S+", "***", text)


class Config(Frozen):
    """The whole of ``config.yaml`` at one scale."""

    root: FolderPath = "."
    scale: Scale = "default"
    seeds: dict[Scale, Annotated[int, Field(gt=0, le=MOST_SEEDS), AsNumber]]
    seeds_from: Annotated[int, Field(ge=0, le=10**9), AsNumber] | None = None
    engine: Literal["auto", "sequential", "batched"] = "auto"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    anonymous: bool = False
    tracking: Tracking = Tracking()
    studies: Annotated[Mapping[Name, StudySettings], Field(min_length=1)]

    @model_validator(mode="after")
    def _counts_the_seeds(self) -> Self:
        if self.scale not in self.seeds:
            raise ValueError(f"seeds: write how many scale {self.scale!r} runs")
        for study, settings in self.studies.items():
            runs = len(list(settings.enabled())) * -(-self.seed_count // settings.chunk)
            if runs > MOST_RUNS:
                raise ValueError(
                    f"seeds.{self.scale}: {self.seed_count} in chunks of {settings.chunk} are "
                    f"{runs} runs of {study}; at most {MOST_RUNS}: write a larger chunk"
                )
        return self

    @property
    def seed_count(self) -> int:
        """How many seeds this scale runs."""
        return self.seeds[self.scale]


ONCE = "once"
"""What stands in place of a chunk's name where a run has no seeds."""


def chunks(seeds: range, size: int) -> list[str]:
    """Names of the chunks that hold these seeds, e.g. ``seeds-00-03``."""
    bounds = ((first, min(first + size, seeds.stop) - 1) for first in seeds[::size])
    return [f"seeds-{first:02d}-{last:02d}" for first, last in bounds]


def chunk_seeds(chunk: str) -> range:
    """The seeds of a chunk name; raises UserError if it is not one."""
    match = re.fullmatch(r"seeds-(\d{2,})-(\d{2,})", chunk)
    if not match or int(match[1]) > int(match[2]):
        raise UserError(f"chunk {chunk!r}: write seeds-FIRST-LAST, e.g. seeds-00-03")
    return range(int(match[1]), int(match[2]) + 1)


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML mapping; raises UserError for a missing file, bad syntax or another type.

    Whatever it returns is plain, as :func:`check_plain` has it.
    """
    try:
        with path.open(encoding="utf-8") as stream:
            text = stream.read(LONGEST_TEXT + 1)
        if len(text) > LONGEST_TEXT:
            raise UserError(f"{path}: holds more than {LONGEST_TEXT} characters")
        content = yaml.load(text, Loader=_PlainLoader)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        problem = cut(error.problem or error.context or "not a YAML text", LONGEST_PLACE)
        raise UserError(f"{path}: line {line}: {problem}") from None
    except RecursionError:
        raise UserError(f"{path}: nested more than {DEEPEST} deep") from None
    except (yaml.YAMLError, *_UNREADABLE) as error:
        problem = cut(" ".join(str(error).split()), LONGEST_PLACE)
        raise UserError(f"{path}: not a YAML text ({problem})") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: write a mapping (key: value), not {type(content).__name__}")
    check_plain(content, str(path))
    return content


def check_plain(content: object, file: str) -> None:
    """Refuse what no setting can be, so that whatever follows may recurse, copy and print.

    Plain are mappings from names or whole numbers, lists, text, numbers, dates, truth values and
    null; neither too deep nor too many, where an alias counts as often as it is used.
    """
    waiting: list[tuple[tuple[object, ...], object]] = [((), content)]
    count = 0
    while waiting:
        at, value = waiting.pop()
        where = f"{file}: {_dotted(at)}:" if at else f"{file}:"
        count += 1
        if count > LARGEST:
            raise UserError(f"{file}: holds more than {LARGEST} values, aliases written out")
        if len(at) > DEEPEST:
            raise UserError(f"{where} nested more than {DEEPEST} deep")
        if isinstance(value, Mapping):
            for key in value:
                if not _is_key(key):
                    raise UserError(f"{where} key {shown(key)}: write a name of [A-Za-z0-9_.-]")
            waiting += [((*at, key), inner) for key, inner in value.items()]
        elif isinstance(value, list | tuple):
            waiting += [((*at, place), inner) for place, inner in enumerate(value)]
        elif problem := _not_plain(value):
            raise UserError(f"{where} {shown(value)}: {problem}")


def _is_key(key: object) -> bool:
    if isinstance(key, str):
        return len(key) <= LONGEST_NAME and re.fullmatch(NAME, key) is not None
    return type(key) is int and abs(key) <= _LARGEST_INTEGER


def _not_plain(value: object) -> str:
    if isinstance(value, str):
        if len(value) > LONGEST_NAME * 100:
            return "write less text"
        surrogates = any("\ud800" <= sign <= "\udfff" for sign in value)
        return "write text that UTF-8 can hold" if surrogates else ""
    if isinstance(value, int):
        return "" if abs(value) <= _LARGEST_INTEGER else "write a number below 2^63"
    if value is None or isinstance(value, float | date):
        return ""
    return f"write text (in quotes), a number, true or false, not a {type(value).__name__}"


def _dotted(at: Iterable[object]) -> str:
    return cut(".".join(str(part) or "''" for part in at), LONGEST_PLACE)


_LARGEST_INTEGER = 2**63 - 1
_TAGS = ("null", "bool", "int", "float", "str", "timestamp", "seq", "map")
_UNREADABLE = (ValueError, ArithmeticError, LookupError, AttributeError)
"""What Python's own readers of numbers, dates and characters raise."""


def canonical(content: Any) -> str:
    """JSON text that depends on the content only: sorted keys, no spaces."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def explain(error: ValidationError, model: type[BaseModel], file: str, at: tuple[str, ...]) -> str:
    """The first problem of a validation as one line: file, key, value, what would be right."""
    # A misspelt key is also a missing one; the former is the one to mend.
    problem = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    loc = tuple(
        part for part in map(str, problem["loc"]) if part != "[key]" and not part.startswith("(")
    )
    key = _dotted(at + loc)
    where = f"{file}: {key}:" if key else f"{file}:"
    value = problem["input"]
    if problem["type"] == "extra_forbidden":
        known = _keys_at(model, tuple(map(str, problem["loc"][:-1])))
        return f"{where} unknown key;{accepted(loc[-1], known)}"
    if problem["type"] == "missing":
        return f"{where} is missing"
    message = problem["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    echo = "" if isinstance(value, Mapping | BaseModel) else f" {shown(value)}:"
    return " ".join(f"{where}{echo} {message}".split())


def build(model: type[M], content: Any, file: str, at: tuple[str, ...] = ()) -> M:
    """Validate ``content`` as ``model``; raises UserError in the words of :func:`explain`."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise UserError(explain(error, model, file, at)) from None
    except RecursionError:
        where = f"{file}: {_dotted(at)}:" if at else f"{file}:"
        raise UserError(f"{where} nested too deep") from None


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
    close = difflib.get_close_matches(cut(str(name), LONGEST_ECHO), list(known), n=1)
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


class _PlainLoader(yaml.SafeLoader):
    """YAML of plain values; a key written twice is refused, instead of the last one kept.

    Snakemake reads the same text with a loader of its own: what passes here must not harm it.
    """

    yaml_constructors = {  # noqa: RUF012
        tag: constructor
        for tag, constructor in yaml.SafeLoader.yaml_constructors.items()
        if str(tag).rpartition(":")[2] in _TAGS
    }

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.depth = self.count = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self.depth += 1
        self.count += 1
        mark: yaml.Mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        if self.depth > DEEPEST + 1:
            raise yaml.composer.ComposerError(None, None, f"more than {DEEPEST} deep", mark)
        if self.count > 2 * LARGEST:
            raise yaml.composer.ComposerError(None, None, f"more than {LARGEST} values", mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def compose_mapping_node(self, anchor: dict[Any, yaml.Node]) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == _MERGE or not isinstance(key_node, yaml.ScalarNode):
                continue  # a list or a mapping as a key is refused when it is constructed
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {shown(key)} is written twice", key_node.start_mark
                )
            seen.add(key)
        return node

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        super().flatten_mapping(node)
        if len(node.value) > WIDEST:
            problem = f"a mapping of more than {WIDEST} keys"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except _UNREADABLE:
            kind = node.tag.rpartition(":")[2]
            problem = f"{shown(node.value)} cannot be read as {cut(kind, LONGEST_ECHO)}"
            raise yaml.constructor.ConstructorError(
                None, None, f"{problem}; write text in quotes", node.start_mark
            ) from None

    def refuse(self, node: yaml.Node) -> None:
        """Refuse any other tag, be it written or what YAML takes the text for."""
        value = f"{shown(node.value)} has " if isinstance(node, yaml.ScalarNode) else ""
        kind = cut(node.tag.removeprefix("tag:yaml.org,2002:"), LONGEST_ECHO)
        problem = f"{value}the tag {kind}; write text in quotes, or a number"
        raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


_MERGE = "tag:yaml.org,2002:merge"
_PlainLoader.add_constructor(None, _PlainLoader.refuse)
