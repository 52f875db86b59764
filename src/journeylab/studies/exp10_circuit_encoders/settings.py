"""The exp10 section of config.yaml, typed, and the encoders that it may name."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from journeylab.config import (
    Arms,
    ComputedArm,
    Count,
    Frozen,
    Name,
    StudySettings,
    TrainedArm,
    TrainedJob,
    TrainingSettings,
)

Task = Literal["degree", "value"]
TASKS: tuple[Task, ...] = ("degree", "value")
ANSWERS: dict[Task, int] = {"degree": 9, "value": 5}
"""Number of classes: degrees 0 … 8, and values modulo 5."""
OPERATIONS = 3
"""Number of operations of a circuit, after its three leaves x0, x1 and 1."""

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
    """The share of all circuits in the test split."""

    test: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.2


class Model(Frozen):
    """Sizes of every transformer; the tree encoder has the same width."""

    d: Annotated[int, Field(ge=2, le=512, multiple_of=2)] = 32
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
