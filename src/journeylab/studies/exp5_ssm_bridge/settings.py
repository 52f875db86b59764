"""What config.yaml may say about exp5. The study trains nothing: it has certificates only."""

import math
from typing import Annotated, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from journeylab.config import Frozen, Metric, StudySettings

TITLE = "SSM bridge: one fixed operator makes the journey a linear recurrence"
TUNING = "nothing is trained, so nothing was tuned"

Operator = Literal["rotation", "orthogonal", "contracted", "nonnormal"]
Precision = Literal["float32", "float64"]
OPERATORS: tuple[Operator, ...] = ("rotation", "orthogonal", "contracted", "nonnormal")
PRECISIONS: tuple[Precision, ...] = ("float32", "float64")
LENGTHS = (20, 200, 2000)

_LEVELS: dict[str, tuple[str | int, ...]] = {
    "operator": OPERATORS,
    "precision": PRECISIONS,
    "N": LENGTHS,
}


def _error(label: str) -> Metric:
    return Metric(label=label, factors=_LEVELS, better="lower")


METRICS = {
    "relative_error": _error("relative error of the journey form"),
    "recurrence_error": _error("relative error of the recurrence"),
    "disagreement": _error("relative distance of the two forms"),
    "one_minus_cosine": _error("1 − cosine of the two forms"),
    "error_over_bound": _error("error / (100·u·N·max‖R^±k‖²)"),
    "bound": _error("100·u·N·max‖R^±k‖²"),
    "growth": _error("max‖R^±k‖"),
    "identity_error": _error("relative distance of the two forms in arbitrary precision"),
    "negative_control_error": Metric(
        label="relative error with one power of R too many", factors=_LEVELS, better="higher"
    ),
}


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
