"""The settings of exp1 in config.yaml, and the names of its variants."""

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

TaskName = Literal["A", "B", "Bbal", "S3", "A5", "Z6"]
Family = Literal["orthogonal", "linear", "toral", "complex", "real", "diagonal"]
Form = Literal["product", "aggregation"]

TASK_NAMES: tuple[TaskName, ...] = get_args(TaskName)
FAMILIES: tuple[Family, ...] = get_args(Family)
FORMS: tuple[Form, ...] = get_args(Form)
COMMUTING: tuple[Family, ...] = ("toral", "complex", "real", "diagonal")
"""Families whose operators commute with each other."""

VARIANTS: dict[str, tuple[Family, Form]] = {
    f"{family}-{form}": (family, form) for form in FORMS for family in FAMILIES
}
"""The family and form of every variant, by its name in config.yaml."""

SHORTEST, LONGEST = 10, 50
FAR = (100, 200)
"""Test lengths beyond the training lengths SHORTEST … LONGEST."""
ENUMERABLE = 16
"""The largest length whose strings may all be enumerated."""
MOST_STATES = 6
"""All permutation automata of 2 … MOST_STATES states are checked."""


class Data(Frozen):
    """Numbers of training and validation strings, spread evenly over the lengths."""

    train: Count = 5000
    validation: Count = 500


class Model(Frozen):
    """The width d of every variant, and the initial scales of the operators.

    ``linear_scale``: R = I + linear_scale · N(0, 1)/√d; for the free diagonal, whose eigenvalues
    are its entries, R = diag(1 + linear_scale · N(0, 1)). ``radius_logit``: the radii of the
    complex diagonal are sigmoid(N(radius_logit, 1)). ``initial_scale`` multiplies S, the deviations
    from I, the angles and r of `models.Operators`.
    """

    d: Annotated[int, Field(ge=2, le=256, multiple_of=2)] = 16
    linear_scale: PositiveFloat = 0.3
    radius_logit: float = 4.0
    initial_scale: PositiveFloat = 1.0


class Training(TrainingSettings):
    """The budget, strings per step, and the share of the steps that the curriculum takes."""

    batch: Count = 128
    curriculum: Annotated[float, Field(ge=0.0, le=1.0)] = 0.6


class Evaluation(Frozen):
    """Number of test strings per length."""

    strings: Count = 1000


class CertificateSizes(Frozen):
    """Sizes of the exact checks.

    Exact weights read ``strings`` strings of ``length`` letters. All strings of up to ``enumerate``
    letters are enumerated. Every commuting family is drawn ``draws`` times, at width ``d``.
    """

    length: Count = 1000
    strings: Count = 1000
    enumerate: Annotated[int, Field(ge=2, le=ENUMERABLE)] = 12
    draws: Count = 20
    d: Annotated[int, Field(ge=6, le=256, multiple_of=2)] = 16


class Certificates(ComputedArm, CertificateSizes):
    """The arm of the exact checks, by construction and enumeration; computed once."""

    computed: Literal["certificates"]
    replicates: Literal["once"]


class Computation(CertificateSizes):
    """The settings that determine the exact checks."""

    computed: Literal["certificates"]
    variant: str


class Arm(TrainedArm):
    """A trained arm: the task that all its variants learn."""

    task: TaskName

    @model_validator(mode="after")
    def _variants_exist(self) -> Self:
        for variant in self.variants:
            _check_variant(variant)
        return self


class Settings(StudySettings):
    """The exp1 section of config.yaml."""

    datasets: Mapping[Name, Data]
    arms: Arms[Arm, Certificates]
    model: Model = Model()
    training: Training
    evaluation: Evaluation = Evaluation()


class Job(TrainedJob):
    """The settings that determine one trained variant, besides its seed."""

    task: TaskName
    data: Data
    model: Model
    training: Training

    @model_validator(mode="after")
    def _variant_exists(self) -> Self:
        _check_variant(self.variant)
        return self

    @property
    def family(self) -> Family:
        """The family of the operators."""
        return VARIANTS[self.variant][0]

    @property
    def form(self) -> Form:
        """Product state (J = 0) or aggregation (J = 1)."""
        return VARIANTS[self.variant][1]


def _check_variant(variant: str) -> None:
    if variant not in VARIANTS:
        raise ValueError(f"unknown variant {variant!r}; accepted: {', '.join(VARIANTS)}")
