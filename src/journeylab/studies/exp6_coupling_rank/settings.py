"""The exp6 section of config.yaml, typed, and the models that it may name."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

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

D = 8
"""Coordinates d of queries and keys. The proposition says that the coupling has this rank."""
HEADS: tuple[int, ...] = tuple(range(1, D + 1))
"""Numbers H of additive or separable heads. One run trains the models of all of them."""

Frequencies = Literal["decaying", "random", "integer", "repeated"]
FREQUENCIES: tuple[Frequencies, ...] = ("decaying", "random", "integer", "repeated")
Operators = Literal["toral", "orthogonal"]
OPERATORS: tuple[Operators, ...] = ("toral", "orthogonal")
Arithmetic = Literal["float64", "mpmath"]
ARITHMETICS: tuple[Arithmetic, ...] = ("float64", "mpmath")

FIXED: dict[Frequencies, tuple[float, ...]] = {
    "decaying": (1.0, 0.3, 0.1, 0.03),
    "integer": (0.0, 1.0, 2.0, 3.0),
    "repeated": (1.0, 1.0, 0.1, 0.03),
}
"""Frequencies ω of the four planes in radians per position; ``random`` frequencies are drawn."""

Variant = Literal[
    "journey",
    "journey-learned",
    "separable",
    "separable-matched",
    "additive",
    "additive-outputs",
]
STACKED: tuple[Variant, ...] = ("separable", "additive", "additive-outputs")
"""The variants with one model per number of heads."""
JOURNEYS: tuple[Variant, ...] = ("journey-learned", "journey")
"""The journey heads: with learned frequencies, and with the teacher's."""
Check = Literal[
    "decaying", "random", "integer", "repeated", "additive", "additive-scores", "separable"
]


class TableSizes(Frozen):
    """Numbers of text positions t, roles s and entities e: the axes of a table of scores."""

    positions: Annotated[int, Field(gt=D, le=200)] = 20
    roles: Annotated[int, Field(gt=0, le=200)] = 10
    entities: Annotated[int, Field(ge=D, le=200)] = 10


class Data(TableSizes):
    """One teacher, and how many noisy queries it labels.

    ``noise`` is the standard deviation of the noise of each coordinate of the query, in units of
    the query's root mean square. With random ``labels``, uniform labels replace the teacher's.
    """

    frequencies: Literal["decaying", "random"]
    operators: Operators
    labels: Literal["teacher", "random"] = "teacher"
    queries: Count = 2000
    noise: NonNegativeFloat = 0.1


class Model(Frozen):
    """How models start.

    ``spread`` is the standard deviation of the initial tables, and of a journey head's query and
    keys. Of ``restarts`` starts, the one with the smallest training loss counts.
    """

    spread: PositiveFloat = 0.3
    restarts: Annotated[int, Field(gt=0, le=1000)] = 1


class Evaluation(Frozen):
    """No options: every model is evaluated at every position and role."""


class CouplingDraws(TableSizes):
    """How many teachers, or sets of tables, are drawn."""

    draws: Count = 10


class CouplingCertificate(ComputedArm, CouplingDraws):
    """An arm of checks without training, computed once."""

    computed: Literal["rank", "cancellation", "fewer"]
    replicates: Literal["once"]


class Computation(CouplingDraws):
    """The settings of one check."""

    computed: Literal["rank", "cancellation", "fewer"]
    variant: Check

    @model_validator(mode="after")
    def _check_variant_belongs_to_computed(self) -> Self:
        if (self.variant in FREQUENCIES) != (self.computed == "rank"):
            raise ValueError(f"computed {self.computed!r} has no variant {self.variant!r}")
        return self


class FitConditions(Frozen):
    """The training target: the labels of noisy queries, or the noiseless table of scores."""

    fit: Literal["labels", "scores"] = "labels"


class Arm(TrainedArm, FitConditions):
    """Models that are trained on one teacher."""


class Settings(StudySettings):
    """The exp6 section of config.yaml."""

    datasets: Mapping[Name, Data]
    arms: Arms[Arm, CouplingCertificate]
    model: Model = Model()
    training: TrainingSettings
    evaluation: Evaluation = Evaluation()


class Job(FitConditions, TrainedJob):
    """The settings of one trained variant, without its seed."""

    variant: Variant
    data: Data
    model: Model

    @model_validator(mode="after")
    def _check_fit(self) -> Self:
        if self.fit == "scores" and self.variant == "additive-outputs":
            raise ValueError("additive-outputs outputs probabilities and has no scores to fit")
        return self
