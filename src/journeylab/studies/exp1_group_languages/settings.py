"""What config.yaml may say about exp1, and the models it may name."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self, get_args

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

TaskName = Literal["A", "B", "Bbal", "S3", "A5", "Z6"]
Family = Literal["orthogonal", "linear", "toral", "complex", "real"]
Form = Literal["product", "aggregation"]

TASK_NAMES: tuple[TaskName, ...] = get_args(TaskName)
FAMILIES: tuple[Family, ...] = get_args(Family)
FORMS: tuple[Form, ...] = get_args(Form)
COMMUTING: tuple[Family, ...] = ("toral", "complex", "real")
"""Families whose operators commute with each other."""

VARIANTS: dict[str, tuple[Family, Form]] = {
    f"{family}-{form}": (family, form) for form in FORMS for family in FAMILIES
}
"""Every model by its name in config.yaml."""

SHORTEST, LONGEST = 10, 50
FAR = (100, 200)
"""Lengths beyond those trained on."""
ENUMERABLE = 16
"""The greatest length of which all strings may be listed."""


class Data(Frozen):
    """How many strings there are to learn from and to watch training with, at all lengths alike."""

    train: Count = 5000
    validation: Count = 500


class Model(Frozen):
    """The width that every variant shares, and the scales that operators start from.

    ``linear_scale``: R = I + linear_scale · N(0, 1)/√d. ``radius_logit``: the radii of the complex
    diagonal are sigmoid(N(radius_logit, 1)).
    """

    d: Annotated[int, Field(ge=2, le=256, multiple_of=2)] = 16
    linear_scale: PositiveFloat = 0.3
    radius_logit: float = 4.0


class Training(TrainingSettings):
    """The budget; strings per step; the share of the steps over which strings grow to full size."""

    batch: Count = 128
    curriculum: Annotated[float, Field(ge=0.0, le=1.0)] = 0.6


class Evaluation(Frozen):
    """New strings per length."""

    strings: Count = 1000


class Checked(Frozen):
    """Sizes of what is checked without training.

    ``strings`` of ``length`` letters are read by exact weights; all strings of up to ``enumerate``
    letters are enumerated; ``draws`` operators of every commuting family.
    """

    length: Count = 1000
    strings: Count = 1000
    enumerate: Annotated[int, Field(ge=2, le=ENUMERABLE)] = 12
    draws: Count = 20
    d: Annotated[int, Field(ge=6, le=256, multiple_of=2)] = 16


class Certificates(ComputedArm, Checked):
    """What is checked without training, by construction and enumeration: done once."""

    computed: Literal["certificates"]
    replicates: Literal["once"]


class Computation(Checked):
    """All that determines the certificates."""

    computed: Literal["certificates"]
    variant: str


class Arm(TrainedArm):
    """One condition: the task that all its variants learn."""

    task: TaskName

    @model_validator(mode="after")
    def _variants_exist(self) -> Self:
        for variant in self.variants:
            _check_variant(variant)
        return self


class Settings(StudySettings):
    """The exp1 section of config.yaml."""

    datasets: Mapping[Name, Data]
    arms: Mapping[
        Name,
        Annotated[
            Annotated[Arm, Tag("(trained)")] | Annotated[Certificates, Tag("(computed)")], ByKind
        ],
    ]
    model: Model = Model()
    training: Training
    evaluation: Evaluation = Evaluation()


class Job(TrainedJob):
    """All that determines one trained variant, besides its seed."""

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
        """The family of its operators."""
        return VARIANTS[self.variant][0]

    @property
    def form(self) -> Form:
        """Product state, or aggregation of a vector per letter."""
        return VARIANTS[self.variant][1]


def _check_variant(variant: str) -> None:
    if variant not in VARIANTS:
        raise ValueError(f"unknown variant {variant!r}; accepted: {', '.join(VARIANTS)}")
