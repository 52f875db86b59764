"""What config.yaml may say about exp10, and the encoders it may name."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, Tag

from journeylab.config import (
    ByKind,
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
"""How many answers there are: degrees 0 … 8, and values modulo 5."""
OPERATIONS = 3
"""Operations of a circuit, after its three leaves x0, x1 and 1."""

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
    """How many of all circuits are left to be asked about."""

    test: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.2


class Model(Frozen):
    """Sizes that every transformer shares; the tree has the same width."""

    d: Annotated[int, Field(ge=2, le=512, multiple_of=2)] = 32
    layers: Annotated[int, Field(gt=0, le=12)] = 2
    heads: Annotated[int, Field(gt=0, le=32)] = 4


class Training(TrainingSettings):
    """The budget, and how many circuits a step sees; an epoch sees each once."""

    rows: Count = 128


class Evaluation(Frozen):
    """Nothing to choose: every model is asked about all circuits of both splits."""


class Drawn(Frozen):
    """How many random weights or circuits are drawn."""

    draws: Count = 20


class Audit(ComputedArm, Drawn):
    """What is checked without training, once."""

    computed: Literal["audit"]
    replicates: Literal["once"]


class Computation(Drawn):
    """All that determines what is checked."""

    computed: Literal["audit"]
    variant: Check


class Conditions(Frozen):
    """What is asked of a circuit, and where a transformer reads its answer off."""

    task: Task
    head: Literal["last", "mean", "attention", "token"] = "last"


class Arm(TrainedArm, Conditions):
    """Encoders that learn one task."""


class Settings(StudySettings):
    """The exp10 section of config.yaml."""

    datasets: Mapping[Name, Data]
    arms: Mapping[
        Name,
        Annotated[Annotated[Arm, Tag("(trained)")] | Annotated[Audit, Tag("(computed)")], ByKind],
    ]
    model: Model = Model()
    training: Training
    evaluation: Evaluation = Evaluation()


class Job(Conditions, TrainedJob):
    """All that determines one trained variant, besides its seed."""

    variant: Variant
    data: Data
    model: Model
    training: Training
