"""What config.yaml may say about exp6, and the models it may name."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeFloat, PositiveFloat, Tag, model_validator

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

D = 8
"""Coordinates of queries and keys: the rank that the theorem gives the coupling."""
HEADS: tuple[int, ...] = tuple(range(1, D + 1))
"""How many additive or separable heads there are; all of them are trained side by side."""

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
"""Radians per position of the four planes; ``random`` ones are drawn."""

Variant = Literal[
    "journey",
    "journey-learned",
    "separable",
    "separable-matched",
    "additive-scores",
    "additive-outputs",
]
STACKED: tuple[Variant, ...] = ("separable", "additive-scores", "additive-outputs")
"""The models of which there is one for every number of heads."""
Check = Literal["decaying", "random", "integer", "repeated", "additive-scores", "separable"]


class Sizes(Frozen):
    """How many text positions t, roles s and entities e there are."""

    positions: Annotated[int, Field(gt=D, le=200)] = 20
    roles: Annotated[int, Field(gt=0, le=200)] = 10
    entities: Annotated[int, Field(ge=D, le=200)] = 10


class Data(Sizes):
    """One teacher, and how many noisy queries are answered by it.

    The noise is that of a coordinate of the query, in units of the query's root mean square.
    ``labels`` random replaces the teacher's answers by uniform ones.
    """

    frequencies: Literal["decaying", "random"]
    operators: Operators
    labels: Literal["teacher", "random"] = "teacher"
    queries: Count = 2000
    noise: NonNegativeFloat = 0.1


class Model(Frozen):
    """The spread of the initial tables, and how many restarts learned frequencies have."""

    spread: PositiveFloat = 0.5
    restarts: Annotated[int, Field(gt=0, le=100)] = 5


class Evaluation(Frozen):
    """Nothing to choose: every model is asked about every position and role."""


class Drawn(Sizes):
    """How many teachers, or sets of tables, are drawn."""

    draws: Count = 10


class Certificate(ComputedArm, Drawn):
    """What is checked without training, once."""

    computed: Literal["rank", "cancellation"]
    replicates: Literal["once"]


class Computation(Drawn):
    """All that determines what is checked."""

    computed: Literal["rank", "cancellation"]
    variant: Check

    @model_validator(mode="after")
    def _is_of_its_kind(self) -> Self:
        tables = self.variant in ("additive-scores", "separable")
        if tables != (self.computed == "cancellation"):
            raise ValueError(f"computed {self.computed!r} has no variant {self.variant!r}")
        return self


class Conditions(Frozen):
    """What is fitted: the labels of noisy queries, or the noiseless table of scores itself."""

    fit: Literal["labels", "scores"] = "labels"


class Arm(TrainedArm, Conditions):
    """Models of one teacher."""


class Settings(StudySettings):
    """The exp6 section of config.yaml."""

    datasets: Mapping[Name, Data]
    arms: Mapping[
        Name,
        Annotated[
            Annotated[Arm, Tag("(trained)")] | Annotated[Certificate, Tag("(computed)")], ByKind
        ],
    ]
    model: Model = Model()
    training: TrainingSettings
    evaluation: Evaluation = Evaluation()


class Job(Conditions, TrainedJob):
    """All that determines one trained variant, besides its seed."""

    variant: Variant
    data: Data
    model: Model

    @model_validator(mode="after")
    def _has_scores_to_fit(self) -> Self:
        if self.fit == "scores" and self.variant == "additive-outputs":
            raise ValueError("additive-outputs answers by probabilities: it has no scores to fit")
        return self
