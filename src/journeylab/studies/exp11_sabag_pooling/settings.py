"""The settings of exp11 in config.yaml, and the poolings and tasks it may name."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, PositiveFloat, model_validator

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

Task = Literal["first2", "copy", "reverse", "double", "sorted", "extremes", "sentence"]
Variant = Literal["sabag", "sabag-positions", "pma", "pma-positions", "kmeans", "mean"]
VARIANTS: tuple[Variant, ...] = get_args(Variant)
"""The poolings that are trained."""
Check = Literal["forward", "hello", "kmeans", "shapes", "printed", "backward", "steps", "expansion"]
D = 64
"""Width of the embeddings, as in the source document."""

Precision = Literal["float32", "float64"]
PRECISIONS: tuple[Precision, ...] = ("float32", "float64")
SCALES: tuple[float, ...] = (0.02, 0.04, 0.1, 0.3, 1.0)
"""Standard deviations of embeddings and queries. The weights that the document prints, near ½, fix
only the product of the two deviations, at about 0.008; if the two are equal, about 0.1."""
APART: tuple[tuple[float, float], ...] = (
    *((0.05, 0.05), (0.05, 0.1), (0.05, 0.2)),
    *((0.1, 0.05), (0.1, 0.1), (0.2, 0.05)),
)
"""Pairs of deviations of embeddings and of queries, which show which of the two decides the ratio:
pairs of 0.05, 0.1 and 0.2 whose weights are no farther from ½ than those of (0.1, 0.1)."""
SMALL, UNIT = 0.1, 1.0
TEMPERATURES: tuple[float, ...] = (0.25, 1.0, 4.0)
SHAPES: tuple[tuple[int, int], ...] = ((3, 2), (5, 2), (5, 5), (5, 10), (2, 44))
"""Pairs of n inputs and k outputs; the first is the training example of the document."""
MULTIPLIERS: tuple[int, ...] = (1, 10, 100, 1000)
BASES: tuple[float, ...] = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
"""Base rates of the search: of all weights but the queries, whose rate is a multiple of it."""
COMPARED: dict[str, tuple[float, ...]] = {"SGD": (0.001, 0.1, 1.0), "Adam": (0.001, 0.01, 0.1)}
"""The document's base rate, and the best ones of the search for multiples of 1 and 1000."""


class Data(Frozen):
    """Strings of random symbols, or the document's only pair of texts."""

    source: Literal["random", "document"] = "random"
    symbols: Annotated[int, Field(ge=2, le=26)] = 12
    length: Annotated[int, Field(ge=2, le=12)] = 5
    train: Count = 20_000
    test: Count = 4_000


class Model(Frozen):
    """Sizes that variants share."""

    heads: Annotated[int, Field(gt=0, le=32)] = 4
    temperature: PositiveFloat = 1.0
    scale: PositiveFloat = 1.0  # standard deviation of embeddings and positions at the start


class Training(TrainingSettings):
    """The budget, and how many strings a step reads."""

    rows: Count = 64


class Evaluation(Frozen):
    """No settings: every model is evaluated on all test strings."""


class PoolingSizes(Frozen):
    """Draws of a certificate, steps of descent, and the starts that a seed draws."""

    draws: Count = 20
    first_draw: Annotated[int, Field(ge=0, le=10**6)] = 0
    steps: Count = 1000
    starts: Count = 8

    @property
    def numbered(self) -> range:
        """The numbers of the draws, which are the seeds of their generators."""
        return range(self.first_draw, self.first_draw + self.draws)


class PoolingArm(ComputedArm, PoolingSizes):
    """Certificates, computed once; gradients and steps from a drawn start, computed per seed."""

    computed: Literal["exact", "ratio", "sign", "rates", "search"]


class Computation(PoolingSizes):
    """All that determines the computed results of one variant."""

    computed: Literal["exact", "ratio", "sign", "rates", "search"]
    variant: str


class PoolingTask(Frozen):
    """The targets of the k outputs, given the n inputs."""

    task: Task = "copy"


class Arm(TrainedArm, PoolingTask):
    """Poolings that are trained on one task."""


class Settings(StudySettings):
    """The exp11 section of config.yaml."""

    datasets: Mapping[Name, Data]
    arms: Arms[Arm, PoolingArm]
    model: Model = Model()
    training: Training
    evaluation: Evaluation = Evaluation()


class Job(PoolingTask, TrainedJob):
    """All that determines one trained variant, besides its seed."""

    variant: Variant
    data: Data
    model: Model
    training: Training

    @model_validator(mode="after")
    def _can_be_pooled(self) -> Self:
        if (self.task == "sentence") != (self.data.source == "document"):
            raise ValueError(f"task {self.task!r} cannot use data of source {self.data.source!r}")
        if self.variant == "kmeans" and self.task in ("double", "sentence"):
            raise ValueError(f"kmeans selects among its inputs, but {self.task!r} has more outputs")
        return self
