"""What config.yaml may say about exp2, and the models it may name."""

import difflib
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeFloat, PositiveInt, model_validator

from journeylab.config import ArmSettings, Frozen, Name, StudySettings, TrainingSettings

Task = Literal["lookup", "relations"]
Order = Literal["sorted", "shuffled"]
Attention = Literal["softmax", "softplus"]
ORDERS: tuple[Order, ...] = ("sorted", "shuffled")

VARIANTS: dict[Task, tuple[str, ...]] = {
    "lookup": ("position-free", "rope", "rope-integer", "cumulative", "content"),
    "relations": ("untagged", "tag", "operator"),
}
"""Every model by its name in config.yaml, per task."""


class Data(Frozen):
    """Keys, values and sizes of the repositories, and how much is held out.

    ``sizes`` are entries of a lookup repository. One of the second part has ``subjects`` times
    ``relations`` entries: every subject once per relation. Every entry of a held-out repository
    is a question; of each size there are as many repositories as ``questions`` need.
    """

    keys: Annotated[int, Field(ge=2, le=1000)] = 128
    values: Annotated[int, Field(ge=2, le=1000)] = 16
    sizes: Annotated[tuple[PositiveInt, ...], Field(min_length=1)] = (20, 50, 100)
    subjects: PositiveInt = 5
    relations: PositiveInt = 4
    questions: PositiveInt = 10240

    @model_validator(mode="after")
    def _has_enough_keys(self) -> Self:
        if max(*self.sizes, self.subjects) > self.keys:
            raise ValueError(
                f"{self.keys} keys: a repository of {max(*self.sizes, self.subjects)} different "
                "ones needs as many"
            )
        return self


class Model(Frozen):
    """The head that every variant shares; learned angles start at angle_scale · N(0, 1)."""

    d: Annotated[int, Field(ge=6, le=512, multiple_of=2)] = 32
    angle_scale: NonNegativeFloat = 1.0


class Training(TrainingSettings):
    """The budget, and how many repositories, each with one question, a step sees."""

    rows: PositiveInt = 64


class Evaluation(Frozen):
    """How often the entries of every held-out repository are permuted."""

    permutations: PositiveInt = 4


class Certificates(Frozen):
    """How often, and at which sizes, invariance is checked without training."""

    draws: PositiveInt = 20
    data: Data = Data()
    model: Model = Model()


class Arm(ArmSettings):
    """One condition: the task, the size of its repositories and the order that training shows.

    The second part has one size, that of its groups: subjects times relations.
    """

    task: Task = "lookup"
    size: PositiveInt | None = None
    order: Order = "shuffled"
    attention: Attention = "softmax"

    @model_validator(mode="after")
    def _fits_its_task(self) -> Self:
        for variant in self.variants:
            _check_variant(variant, self.task)
        if (self.size is None) == (self.task == "lookup"):
            wanted = "needs a size" if self.task == "lookup" else "has the size of its groups"
            raise ValueError(f"task {self.task} {wanted}")
        return self


class Settings(StudySettings):
    """The exp2 section of config.yaml."""

    arms: Mapping[Name, Arm]
    data: Data = Data()
    model: Model = Model()
    training: Training
    evaluation: Evaluation = Evaluation()
    certificates: Certificates = Certificates()


class Job(Frozen):
    """All that determines one trained variant, besides its seed."""

    variant: str
    task: Task
    size: PositiveInt | None
    order: Order
    attention: Attention
    data: Data
    model: Model
    training: Training

    @model_validator(mode="after")
    def _fits_its_data(self) -> Self:
        _check_variant(self.variant, self.task)
        if self.task == "lookup" and self.size not in self.data.sizes:
            raise ValueError(f"size {self.size}: accepted: {', '.join(map(str, self.data.sizes))}")
        return self

    @property
    def entries(self) -> int:
        """The entries of a repository."""
        return self.size or self.data.subjects * self.data.relations


def _check_variant(variant: str, task: Task) -> None:
    known = VARIANTS[task]
    if variant not in known:
        close = difflib.get_close_matches(variant, known, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise ValueError(
            f"unknown variant {variant!r} of task {task}; {hint}accepted: {', '.join(known)}"
        )
