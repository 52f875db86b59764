"""What config.yaml may say about exp11, and the poolings and tasks it may name."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, PositiveFloat, Tag, model_validator

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

Task = Literal["first2", "copy", "reverse", "double", "sorted", "extremes", "sentence"]
Variant = Literal["sabag", "sabag-positions", "pma", "pma-positions", "kmeans", "mean"]
Check = Literal["forward", "hello", "kmeans", "shapes", "printed", "backward"]
D = 64
"""Width of the embeddings: the document's."""

Precision = Literal["float32", "float64"]
PRECISIONS: tuple[Precision, ...] = ("float32", "float64")
SCALES: tuple[float, ...] = (0.02, 0.04, 0.1, 0.3, 1.0)
"""Standard deviations of embeddings and queries. Weights over two inputs that are as far from ½ as
those that the document prints fix the product of the two only, at about 0.008: if they are equal,
0.1 is what the print allows."""
APART: tuple[tuple[float, float], ...] = (
    *((0.05, 0.05), (0.05, 0.1), (0.05, 0.2)),
    *((0.1, 0.05), (0.1, 0.1), (0.2, 0.05)),
)
"""Deviations of embeddings and of queries, to tell by which of them the ratio goes: pairs of 0.05,
0.1 and 0.2 whose weights are no farther from ½ than those at 0.1 for both."""
SMALL, UNIT = 0.1, 1.0
TEMPERATURES: tuple[float, ...] = (0.25, 1.0, 4.0)
SHAPES: tuple[tuple[int, int], ...] = ((3, 2), (5, 2), (5, 5), (5, 10), (2, 44))
"""Pairs of n inputs and k outputs; the first is the document's training example."""
MULTIPLIERS: tuple[int, ...] = (1, 10, 100, 1000)


class Data(Frozen):
    """Strings of random symbols, or the one pair of texts that the document has."""

    source: Literal["random", "document"] = "random"
    symbols: Annotated[int, Field(ge=2, le=26)] = 12
    length: Annotated[int, Field(ge=2, le=12)] = 5
    train: Count = 20_000
    test: Count = 4_000


class Model(Frozen):
    """Sizes that variants share."""

    heads: Annotated[int, Field(gt=0, le=32)] = 4
    temperature: PositiveFloat = 1.0


class Training(TrainingSettings):
    """The budget, and how many strings a step sees."""

    rows: Count = 64


class Evaluation(Frozen):
    """Nothing to choose: every model is asked about all test strings."""


class Sizes(Frozen):
    """How many draws a certificate has, and how many steps the query's rates are tried for."""

    draws: Count = 20
    steps: Count = 100


class Certificate(ComputedArm, Sizes):
    """What is computed without the engine: certificates, once; gradients and steps, by seed."""

    computed: Literal["exact", "ratio", "sign", "rates"]


class Computation(Sizes):
    """All that determines what is computed."""

    computed: Literal["exact", "ratio", "sign", "rates"]
    variant: str


class Conditions(Frozen):
    """What the k outputs are to say of the n inputs."""

    task: Task = "copy"


class Arm(TrainedArm, Conditions):
    """Poolings that learn one task."""


class Settings(StudySettings):
    """The exp11 section of config.yaml."""

    datasets: Mapping[Name, Data]
    arms: Mapping[
        Name,
        Annotated[
            Annotated[Arm, Tag("(trained)")] | Annotated[Certificate, Tag("(computed)")], ByKind
        ],
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

    @model_validator(mode="after")
    def _can_be_pooled(self) -> Self:
        if (self.task == "sentence") != (self.data.source == "document"):
            raise ValueError(f"task {self.task!r} has no dataset of source {self.data.source!r}")
        if self.variant == "kmeans" and self.task in ("double", "sentence"):
            raise ValueError(f"kmeans selects among its inputs: {self.task!r} has more outputs")
        return self
