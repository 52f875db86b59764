"""The exp5 section of config.yaml, typed. The study trains nothing: all its runs are computed."""

import math
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from journeylab.config import AsNumber, ComputedArm, Count, Frozen, Levels, Name, StudySettings

Operator = Literal["rotation", "orthogonal", "contracted", "nonnormal", "growing"]
Precision = Literal["float32", "float64"]
OPERATORS: tuple[Operator, ...] = (
    "rotation",
    "orthogonal",
    "contracted",
    "nonnormal",
    "growing",
)
PRECISIONS: tuple[Precision, ...] = ("float32", "float64")
LENGTHS = (20, 200, 2000)


class BridgeCases(Frozen):
    """The computed cases: an operator at every precision and length, ``draws`` times.

    Draws are numbered from ``first_draw``. A draw number names the same inputs everywhere.
    """

    draws: Count = 20
    first_draw: Annotated[int, Field(ge=0, le=10**6), AsNumber] = 0
    dimension: Annotated[int, Field(ge=2, le=64, multiple_of=2)] = 4
    lengths: Levels[Annotated[int, Field(ge=2, le=5000), AsNumber]] = LENGTHS
    precisions: Levels[Precision] = PRECISIONS
    contraction: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.9
    spectral_radius: Annotated[float, Field(gt=1.0, le=2.0)] = 1.2

    @model_validator(mode="after")
    def _check_bound_does_not_underflow(self) -> Self:
        digits = -math.log10(self.contraction) * max(self.lengths)
        if digits > 150:
            raise ValueError(
                f"contraction {self.contraction} over {max(self.lengths)} steps reaches "
                f"1e-{digits:.0f}; stay above 1e-150, where the bound is still a number"
            )
        return self


class Bridge(ComputedArm, BridgeCases):
    """An arm that computes both forms and the exact states of some operators, once."""

    computed: Literal["bridge"]
    replicates: Literal["once"]


class Settings(StudySettings):
    """The exp5 section of config.yaml."""

    arms: Mapping[Name, Bridge]


class Computation(BridgeCases):
    """The settings of one run: the cases of one operator."""

    computed: Literal["bridge"]
    variant: Operator
