"""What config.yaml may say about exp2, and the models it may name."""

import difflib
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import (
    Discriminator,
    Field,
    NonNegativeFloat,
    Tag,
    model_validator,
)

from journeylab.config import (
    ByKind,
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
"""Every model by its name in config.yaml, per task."""


class Repositories(Frozen):
    """Symbols of the repositories, and how much is held out.

    Every entry of a held-out repository is a question; of each size there are as many repositories
    as ``questions`` need.
    """

    keys: Annotated[int, Field(ge=2, le=1000)] = 128
    values: Annotated[int, Field(ge=2, le=1000)] = 16
    questions: Count = 10240


class Lookups(Repositories):
    """Repositories of different keys; ``sizes`` are their numbers of entries."""

    task: Literal["lookup"]
    sizes: Levels[Count] = (20, 50, 100)

    @model_validator(mode="after")
    def _has_enough_keys(self) -> Self:
        if max(self.sizes) > self.keys:
            raise ValueError(f"{self.keys} keys: a repository of {max(self.sizes)} needs as many")
        return self


class Relations(Repositories):
    """Repositories in which every one of ``subjects`` keys stands once per relation."""

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
"""A dataset of one task or the other."""


class Model(Frozen):
    """The head that every variant shares, and where its learned angles start.

    Those of the cumulative journey start at ω·(1 + token_angle_spread · N(0, 1)), all others, and
    those of the cumulative journey as shipped, at angle_scale · N(0, 1).
    """

    d: Annotated[int, Field(ge=6, le=512, multiple_of=2)] = 32
    angle_scale: NonNegativeFloat = 1.0
    token_angle_spread: NonNegativeFloat = 0.1


class Training(TrainingSettings):
    """The budget, and how many repositories, each with one question, a step sees."""

    rows: Count = 64


class Evaluation(Frozen):
    """How often the entries of every held-out repository are permuted."""

    permutations: Count = 4


Check = Literal["invariance", "witness", "recursion"]


class Exact(ComputedArm):
    """What is checked once, without training: over so many ``draws``, where there are any."""

    computed: Check
    replicates: Literal["once"]
    draws: Count = 20


class Computation(Frozen):
    """All that determines what is checked of one variant."""

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


class Conditions(Frozen):
    """What tells arms apart, besides their dataset: sizes, order in training, attention.

    Repositories of relations have one size, that of their groups: subjects times relations.
    """

    size: Count | None = None
    order: Order = "shuffled"
    attention: Attention = "softmax"


class Arm(TrainedArm, Conditions):
    """One condition."""


class Settings(StudySettings):
    """The exp2 section of config.yaml."""

    datasets: Mapping[Name, Data]
    arms: Mapping[
        Name,
        Annotated[Annotated[Arm, Tag("(trained)")] | Annotated[Exact, Tag("(computed)")], ByKind],
    ]
    model: Model = Model()
    training: Training
    evaluation: Evaluation = Evaluation()

    @property
    def lookups(self) -> Lookups:
        """The first dataset of lookups: what the figures' anchors are about."""
        return next(data for data in self.datasets.values() if isinstance(data, Lookups))

    @property
    def relations(self) -> Relations:
        """The first dataset of relations."""
        return next(data for data in self.datasets.values() if isinstance(data, Relations))


class Job(Conditions, TrainedJob):
    """All that determines one trained variant, besides its seed."""

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
        """What is asked of its dataset."""
        return self.data.task

    @property
    def entries(self) -> int:
        """The entries of a repository."""
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
