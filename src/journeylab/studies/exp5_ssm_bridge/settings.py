"""What config.yaml may say about exp5. The study trains nothing: it has certificates only."""

import math
from typing import Annotated, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from journeylab.config import Frozen, StudySettings

Operator = Literal["rotation", "orthogonal", "contracted", "nonnormal"]
Precision = Literal["float32", "float64"]
OPERATORS: tuple[Operator, ...] = ("rotation", "orthogonal", "contracted", "nonnormal")
PRECISIONS: tuple[Precision, ...] = ("float32", "float64")
LENGTHS = (20, 200, 2000)


class Certificates(Frozen):
    """Which cases are computed: every operator at every precision and length, ``draws`` times."""

    draws: PositiveInt = 20
    dimension: Annotated[int, Field(ge=2, le=64, multiple_of=2)] = 4
    lengths: tuple[Annotated[int, Field(ge=2, le=5000)], ...] = LENGTHS
    operators: tuple[Operator, ...] = OPERATORS
    precisions: tuple[Precision, ...] = PRECISIONS
    contraction: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.9

    @model_validator(mode="after")
    def _bound_is_a_number(self) -> Self:
        digits = -math.log10(self.contraction) * max(self.lengths)
        if digits > 150:
            raise ValueError(
                f"contraction {self.contraction} over {max(self.lengths)} steps reaches "
                f"1e-{digits:.0f}; stay above 1e-150, where the bound is still a number"
            )
        return self


class Settings(StudySettings):
    """The exp5 section of config.yaml."""

    certificates: Certificates = Certificates()


class Job(Frozen):
    """exp5 has no training job."""
