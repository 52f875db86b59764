"""The exp10 section of config.yaml, typed, and the encoders that it may name."""

import math
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from journeylab.config import (
    Arms,
    AsNumber,
    ComputedArm,
    Count,
    Frozen,
    Name,
    StudySettings,
    TrainedArm,
    TrainedJob,
    TrainingSettings,
)

Task = Literal["degree", "value", "digits"]
TASKS: tuple[Task, ...] = ("degree", "value", "digits")
MODULUS = 5
"""A value is predicted modulo 5, and its number of digits in base 5."""
OPERATIONS = 3
"""Number of operations of the circuits of the audit, after their three leaves x0, x1 and 1."""
Wiring = Literal["any", "previous"]

Variant = Literal[
    "sum",
    "one-hot",
    "sum-wiring",
    "one-hot-wiring",
    "wiring-no-position",
    "wiring-no-node",
    "wiring-neither",
    "wiring-learned",
    "wiring-no-value",
    "tree",
]
Check = Literal["example", "encodings", "equivalence", "padding"]


class Data(Frozen):
    """A set of circuits, and the shares of it in the test and the training split.

    The circuits are all with this number of operations whose inputs are ``any`` two earlier nodes,
    or any earlier node and the ``previous`` one. Without ``train`` all other circuits are for
    training.
    """

    operations: Annotated[int, Field(ge=1, le=5), AsNumber] = OPERATIONS
    wiring: Wiring = "any"
    test: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.2
    train: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.wiring == "any" and self.operations > 4:
            raise ValueError("wiring any has at most 4 operations: 5 have 16,934,400 circuits")
        if self.test + (self.train or 0.0) > 1.0:
            raise ValueError(f"test + train must be at most 1, not {self.test + (self.train or 0)}")
        return self


class Model(Frozen):
    """Sizes of every transformer; the tree encoder has the same width.

    ``spread`` is the standard deviation of the initial rows of all tables. The linear map of a
    value is uniform within ± ``spread``.
    """

    d: Annotated[int, Field(ge=2, le=512, multiple_of=2)] = 32
    spread: Annotated[float, Field(gt=0.0, le=100.0), AsNumber] = 1.0
    layers: Annotated[int, Field(gt=0, le=12)] = 2
    heads: Annotated[int, Field(gt=0, le=32)] = 4


class Training(TrainingSettings):
    """The training budget, and the circuits per step; an epoch shows every circuit once."""

    rows: Count = 128


class Evaluation(Frozen):
    """No options: every model is evaluated on all circuits of both splits."""


class AuditDraws(Frozen):
    """How many sets of random weights and circuits are drawn."""

    draws: Count = 20


class Audit(ComputedArm, AuditDraws):
    """An arm of checks without training, computed once."""

    computed: Literal["audit"]
    replicates: Literal["once"]


class Computation(AuditDraws):
    """The settings of one check."""

    computed: Literal["audit"]
    variant: Check


class TaskConditions(Frozen):
    """The predicted quantity, and the head from which a transformer predicts it."""

    task: Task
    head: Literal["last", "mean", "attention", "token"] = "last"


class Arm(TrainedArm, TaskConditions):
    """Encoders that are trained on one task."""


class Settings(StudySettings):
    """The exp10 section of config.yaml."""

    datasets: Mapping[Name, Data]
    arms: Arms[Arm, Audit]
    model: Model = Model()
    training: Training
    evaluation: Evaluation = Evaluation()


class Job(TaskConditions, TrainedJob):
    """The settings of one trained variant, without its seed."""

    variant: Variant
    data: Data
    model: Model
    training: Training


def count_answers(task: Task, operations: int) -> int:
    """Number of classes: degrees 0 … 2ᵏ of k operations, values modulo 5, or numbers of digits.

    An operation at most squares the largest value, which is 3 before the first one, because
    doubling gives less. A value is therefore at most 3^(2ᵏ).
    """
    if task == "degree":
        return 1 + (1 << operations)
    if task == "value":
        return MODULUS
    return 2 + math.floor((1 << operations) * math.log(3, MODULUS))
