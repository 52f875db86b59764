"""Types of fields: names, numbers, folders, files, and the base of all records."""

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from journeylab.config.errors import UNKNOWN
from journeylab.config.reading import LONGEST_NAME, NAME

T = TypeVar("T")
Named = TypeVar("Named", bound=Mapping[str, Any])

MOST, MOST_SEEDS, MOST_RUNS, MOST_BYTES = 1_000_000, 10_000, 20_000, 10**10
"""Upper bounds: of a count, seeds of a scale, runs of a workflow, bytes of an external file."""
MOST_WORLDS = 100
"""Upper bound of the worlds of a seed."""


def _number(value: Any) -> Any:
    if isinstance(value, str | bool):
        raise ValueError("write a number, without quotes, as in 3e-3")  # noqa: TRY004
    return value


def _switch(value: Any) -> Any:
    if not isinstance(value, bool):
        raise ValueError("write true or false; after --config: True or False")  # noqa: TRY004
    return value


def distinct(values: tuple[T, ...]) -> tuple[T, ...]:
    """The values; raises ValueError if a value occurs twice."""
    repeated = sorted(str(value) for value, count in Counter(values).items() if count > 1)
    if repeated:
        raise ValueError(f"{', '.join(repeated)} is written twice")
    return values


def _folder_of_its_own(root: str) -> str:
    path = PurePath(re.sub("^//+", "/", root.lower()))
    if path == PurePath("/") or ".." in path.parts:
        raise ValueError("write a folder below this one, as in build/quick, or an absolute path")
    if path.parts[:2] in _SYSTEM and path.parts[:3] != ("/", "dev", "shm"):
        raise ValueError("write a folder for results, not one of the system")
    here = PurePath(str(Path.cwd()).lower())
    whole = here / path
    within = whole.relative_to(here).parts if whole.is_relative_to(here) else ()
    if _HIDDEN & {*path.parts} or _SOURCES & {*within[:1]}:
        raise ValueError("holds files of the project; write another folder, as in build/quick")
    try:
        taken = Path(root).exists() and not Path(root).is_dir()
    except OSError as error:  # a name that is too long; a folder that may not be entered
        raise ValueError(f"cannot be a folder ({error.strerror})") from None
    if taken:
        raise ValueError("is no folder; write one that is, or that is not there yet")
    return root


_SYSTEM = (("/", "dev"), ("/", "proc"), ("/", "sys"))
_HIDDEN = {".git", ".snakemake", ".dvc", ".venv"}
_SOURCES = {"benchmarks", "claims", "docs", "reference", "src", "tests", "workflow", ".github"}

Scale = Literal["quick", "default"]
Name = Annotated[str, StringConstraints(pattern=f"^{NAME}$", max_length=LONGEST_NAME)]
"""A name that is safe in paths and shell commands: letters, digits, ``_ . -``."""
FolderPath = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9_./][A-Za-z0-9_./-]*$", max_length=1000),
    AfterValidator(_folder_of_its_own),
]
"""A folder for results, outside the files of the project and of the system."""
AsNumber = BeforeValidator(_number)
"""Keeps pydantic from reading ``true`` and ``"3"`` as numbers."""
Switch = Annotated[bool, BeforeValidator(_switch)]
"""A truth value; ``--config anonymous=true`` is a text to snakemake."""
Count = Annotated[int, Field(gt=0, le=MOST), AsNumber]
"""A count from 1 to a million."""
Levels = Annotated[
    tuple[T, ...],
    Field(min_length=1, max_length=100, json_schema_extra={"uniqueItems": True}),
    AfterValidator(distinct),
]
"""Levels of a factor: at least one, all different."""


class Frozen(BaseModel):
    """An immutable record that refuses keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _has_known_keys(cls, written: Any) -> Any:
        """Refuse a key that pydantic would refuse too, but without a word of those it knows."""
        for key in written if isinstance(written, dict) else ():
            if key not in cls.model_fields:
                about = {"key": key, "known": list(cls.model_fields)}
                raise PydanticCustomError(UNKNOWN, "unknown key {key}", about)
        return written

    @field_validator("*", mode="before")
    @classmethod
    def _no_text_for_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        return _number(value) if _is_number(cls, info.field_name or "") else value


@cache
def _is_number(model: type[BaseModel], name: str) -> bool:
    field = model.model_fields.get(name)
    annotation = field and field.annotation
    if get_origin(annotation) is Literal:
        return all(type(level) is int for level in get_args(annotation))
    return annotation in (int, float)


Labels = Mapping[str, str]
"""Printed names of variants or arms; a name without an entry is printed as it is."""


def _listed(levels: Any) -> Any:
    """The levels one by one: ``1..3`` is 1, 2, 3."""
    found: list[Any] = []
    for level in levels if isinstance(levels, list | tuple) else [levels]:
        ends = re.fullmatch(r"(\d{1,4})\.\.(\d{1,4})", level) if isinstance(level, str) else None
        found += range(int(ends[1]), int(ends[2]) + 1) if ends else [level]
    return found


Factors = dict[str, Annotated[tuple[str | int, ...], BeforeValidator(_listed)]]
"""Factors of a metric by name, with their levels."""


class Metric(Frozen):
    """A measured quantity: its printed label and the factor levels it is reported for."""

    label: str
    factors: Factors = {}


class ExternalFile(Frozen):
    """A file from outside the project, identified by its SHA-256.

    ``url`` is the download address; ``path`` is a local copy, which is preferred if it exists.
    Neither changes the identity: both reach the fetch plan only. Without ``sha256``, the hash of
    the file at ``path`` is taken when the workflow is planned. ``bytes``, the size, distinguishes a
    truncated copy from a different file.
    """

    sha256: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64})?$")] = ""
    url: Annotated[str, Field(pattern=r"^https?://[^\s@?]+$")] | None = Field(None, exclude=True)
    path: Annotated[str, Field(min_length=1)] | None = Field(None, exclude=True)
    bytes: Annotated[int, Field(gt=0, le=MOST_BYTES), AsNumber] | None = Field(None, exclude=True)


class FromFile(Frozen):
    """A dataset made from an external file; studies add their own settings."""

    file: ExternalFile


class SeveralWorlds(Frozen):
    """A dataset of which a seed may draw several ``worlds``; studies add their own settings.

    Every world has its own data and its own model, with streams of its own. The seed's value of a
    metric is the mean over its worlds: it is less noisy where a world asks few questions. Worlds
    are no seeds; the judge reads one value a seed.
    """

    worlds: Annotated[int, Field(ge=1, le=MOST_WORLDS)] = 1


def check_case(names: Named) -> Named:
    """The names; ValueError if two differ in case only: some file systems share their folder."""
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(name.lower(), name)
        if other != name:
            raise ValueError(f"{other!r} and {name!r} differ in case only; rename one")
    return names
