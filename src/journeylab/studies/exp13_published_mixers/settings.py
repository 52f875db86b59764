"""The settings of exp13 in config.yaml, and the mechanisms that it may name."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, model_validator

from journeylab.config import (
    Arms,
    AsNumber,
    ComputedArm,
    Count,
    Frozen,
    Name,
    StudySettings,
    TrainedArm,
    TrainedJob,
    TrainingSettings,
    accepted,
)
from journeylab.models.mixers.names import mechanism_names

WordTask = Literal["S3", "A5", "S5", "Z60", "A4xZ5"]
TaskName = Literal[
    "S3", "A5", "S5", "Z60", "A4xZ5", "parity", "arithmetic", "flip-flop", "associative"
]
WORD_TASKS: tuple[WordTask, ...] = get_args(WordTask)
TASK_NAMES: tuple[TaskName, ...] = get_args(TaskName)
STAGES = 8
"""Training rows have STAGES lengths: the longest, and its multiples of 1/STAGES."""
FACTORS = (1, 2, 4)
"""Test rows are as long as the longest training rows, twice and four times as long."""
SHORTER = 4
"""Rows with few pairs are shorter than the longest training rows by this factor."""

Check = Literal["ceilings", "sizes", "orders", "reflections"]


class Data(Frozen):
    """A task, the longest training row, and the number of training rows per length."""

    task: TaskName
    length: Annotated[int, Field(ge=4 * STAGES, le=64, multiple_of=STAGES), AsNumber] = 32
    rows: Count = 8192


class Model(Frozen):
    """Sizes of every mechanism.

    ``parameters``: of a block, with its mixer, its norms and its MLP, whose width makes up for
    what a mixer has more or less than others. ``scale`` multiplies the initial weights from which
    operators, angles and gates are computed.
    """

    width: Annotated[int, Field(ge=8, le=256, multiple_of=8), AsNumber] = 32
    heads: Annotated[int, Field(ge=1, le=32), AsNumber] = 4
    layers: Annotated[int, Field(ge=1, le=4), AsNumber] = 1
    parameters: Count = 16_000
    scale: Annotated[float, Field(gt=0.0, le=100.0)] = 1.0


class Training(TrainingSettings):
    """The budget, rows per step, and the share of the steps over which rows get longer."""

    rows: Count = 32
    curriculum: Annotated[float, Field(ge=0.0, le=1.0)] = 0.5


class Evaluation(Frozen):
    """Number of test rows per length."""

    rows: Count = 512


class MechanismCheckSizes(Frozen):
    """``enumerate``: letters of the longest enumerated words; ``draws``: of random weights."""

    enumerate: Annotated[int, Field(ge=2, le=14), AsNumber] = 12
    draws: Count = 20


class MechanismChecks(ComputedArm, MechanismCheckSizes):
    """Exact checks without training, computed once."""

    computed: Literal["certificates"]
    replicates: Literal["once"]


class Computation(MechanismCheckSizes):
    """The settings of one check."""

    computed: Literal["certificates"]
    variant: Check
    model: Model = Model()


class Arm(TrainedArm):
    """Mechanisms that learn one task."""

    @model_validator(mode="after")
    def _mechanisms_exist(self) -> Self:
        for variant in self.variants:
            _check_mechanism(variant)
        return self


class Settings(StudySettings):
    """The exp13 section of config.yaml."""

    datasets: Mapping[Name, Data]
    arms: Arms[Arm, MechanismChecks]
    model: Model = Model()
    training: Training
    evaluation: Evaluation = Evaluation()


class Job(TrainedJob):
    """The settings of one trained mechanism, without its seed."""

    data: Data
    model: Model
    training: Training

    @model_validator(mode="after")
    def _mechanism_exists(self) -> Self:
        _check_mechanism(self.variant)
        return self


def _check_mechanism(variant: str) -> None:
    if variant not in mechanism_names():
        raise ValueError(f"unknown mechanism {variant!r};{accepted(variant, mechanism_names())}")
