"""The settings of exp2 in config.yaml, and the names of its variants."""

import difflib
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import (
    Discriminator,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    Tag,
    model_validator,
)

from journeylab.config import (
    Arms,
    ComputedArm,
    Count,
    Frozen,
    Levels,
    Name,
    StudySettings,
    TrainedArm,
    TrainedJob,
    TrainingSettings,
)

Task = Literal["lookup", "relations"]
Order = Literal["sorted", "shuffled"]
Attention = Literal["softmax", "softplus"]
ORDERS: tuple[Order, ...] = ("sorted", "shuffled")

VARIANTS: dict[Task, tuple[str, ...]] = {
    "lookup": (
        "position-free",
        "rope",
        "rope-integer",
        "cumulative",
        "cumulative-as-shipped",
        "content",
    ),
    "relations": ("untagged", "tag", "operator"),
}
"""The names of all variants in config.yaml, by task."""


class Repositories(Frozen):
    """The numbers of keys, values and held-out questions.

    Every entry of a held-out repository is a question. Of each size, as many repositories are held
    out as ``questions`` questions need.
    """

    keys: Annotated[int, Field(ge=2, le=1000)] = 128
    values: Annotated[int, Field(ge=2, le=1000)] = 16
    questions: Count = 10240


class Lookups(Repositories):
    """Repositories of different keys; ``sizes`` are the numbers of entries."""

    task: Literal["lookup"]
    sizes: Levels[Count] = (20, 50, 100)

    @model_validator(mode="after")
    def _has_enough_keys(self) -> Self:
        if max(self.sizes) > self.keys:
            raise ValueError(f"{self.keys} keys: a repository of {max(self.sizes)} needs as many")
        return self


class Relations(Repositories):
    """Repositories in which each of ``subjects`` keys occurs once per relation."""

    task: Literal["relations"]
    subjects: Count = 5
    relations: Count = 4

    @model_validator(mode="after")
    def _has_enough_keys(self) -> Self:
        if self.subjects > self.keys:
            raise ValueError(f"{self.keys} keys: {self.subjects} subjects need as many")
        return self


def _task(value: object) -> str:
    task = value.get("task") if isinstance(value, Mapping) else getattr(value, "task", None)
    return f"({task})"


Data = Annotated[
    Annotated[Lookups, Tag("(lookup)")] | Annotated[Relations, Tag("(relations)")],
    Discriminator(
        _task,
        custom_error_type="task",
        custom_error_message="write task: lookup, or task: relations",
    ),
]
"""A dataset of either task."""


class Model(Frozen):
    """The width d of every head, and the initial values of learned angles.

    The angles of the cumulative journey start at ω·(1 + token_angle_spread · N(0, 1)). All other
    angles, those of the cumulative journey as shipped included, start at angle_scale · N(0, 1).
    ``initial_scale`` multiplies all other initial parameters: embeddings, maps and readout.
    """

    d: Annotated[int, Field(ge=6, le=512, multiple_of=2)] = 32
    angle_scale: NonNegativeFloat = 1.0
    token_angle_spread: NonNegativeFloat = 0.1
    initial_scale: PositiveFloat = 1.0


class Training(TrainingSettings):
    """The budget, and the number of repositories per step; each has one question."""

    rows: Count = 64


class Evaluation(Frozen):
    """The number of permutations of every held-out repository."""

    permutations: Count = 4


Check = Literal["invariance", "witness", "recursion"]


class ExactChecks(ComputedArm):
    """An arm of exact checks, computed once; ``invariance`` makes ``draws`` random draws."""

    computed: Check
    replicates: Literal["once"]
    draws: Count = 20


class Computation(Frozen):
    """The settings that determine the exact checks of one variant."""

    computed: Check
    variant: str
    draws: Count
    data: Lookups
    model: Model

    @model_validator(mode="after")
    def _variant_exists(self) -> Self:
        if self.computed != "recursion":
            _check_variant(self.variant, "lookup")
        return self


class RetrievalConditions(Frozen):
    """The settings of an arm besides its dataset: size, order in training, attention.

    ``size`` is a number of entries of task lookup. Repositories of task relations have a single
    size, subjects times relations.
    """

    size: Count | None = None
    order: Order = "shuffled"
    attention: Attention = "softmax"


class Arm(TrainedArm, RetrievalConditions):
    """A trained arm."""


class Settings(StudySettings):
    """The exp2 section of config.yaml."""

    datasets: Mapping[Name, Data]
    arms: Arms[Arm, ExactChecks]
    model: Model = Model()
    training: Training
    evaluation: Evaluation = Evaluation()

    @property
    def lookups(self) -> Lookups:
        """The first dataset of task lookup, to which the anchors in figures refer."""
        return next(data for data in self.datasets.values() if isinstance(data, Lookups))

    @property
    def relations(self) -> Relations:
        """The first dataset of task relations."""
        return next(data for data in self.datasets.values() if isinstance(data, Relations))


class Job(RetrievalConditions, TrainedJob):
    """The settings that determine one trained variant, besides its seed."""

    data: Data
    model: Model
    training: Training

    @model_validator(mode="after")
    def _fits_its_data(self) -> Self:
        _check_variant(self.variant, self.task)
        if isinstance(self.data, Lookups):
            if self.size not in self.data.sizes:
                accepted = ", ".join(map(str, self.data.sizes))
                raise ValueError(f"size {self.size}: accepted: {accepted}")
        elif self.size is not None:
            raise ValueError("size: a repository of relations has the size of its groups")
        return self

    @property
    def task(self) -> Task:
        """The task of the dataset."""
        return self.data.task

    @property
    def entries(self) -> int:
        """The number of entries of a repository."""
        if isinstance(self.data, Relations):
            return self.data.subjects * self.data.relations
        assert self.size is not None
        return self.size


def _check_variant(variant: str, task: Task) -> None:
    known = VARIANTS[task]
    if variant not in known:
        close = difflib.get_close_matches(variant, known, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise ValueError(
            f"unknown variant {variant!r} of task {task}; {hint}accepted: {', '.join(known)}"
        )
