"""The settings of exp4 in config.yaml, and the operators it may name."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

from journeylab.config import (
    Arms,
    AsNumber,
    ComputedArm,
    Count,
    Frozen,
    Name,
    StudySettings,
    TrainedArm,
    accepted,
)
from journeylab.datasets.settings import (
    LanguageJob,
    LanguageModel,
    LanguageTraining,
    Shakespeare,
)

Operators = Literal["one", "each", "fixed"]
Stage = Literal["initial", "trained"]
STAGES: tuple[Stage, ...] = ("initial", "trained")
RANDOM = "random"
"""The stage of random operators, which belong to no model: the null distribution."""

STARTS = ("near-identity", "gaussian", "orthogonal")
CONTROLS = ("rope", "rope-integer", "identity", "frozen")
CHECKS = ("gauge", "rope", "order", "blocks", "angles")


class Data(Shakespeare):
    """The text, and how it is cut."""


class Model(LanguageModel):
    """Width, context, and how models start.

    ``initial_scale`` c multiplies the standard deviation of every initial value that is drawn, and
    is not a rotation: near the identity, R starts at I + c · spread · N(0, 1)/√d.
    """

    d: Annotated[int, Field(ge=4, le=64, multiple_of=2)] = 8
    length: Annotated[int, Field(ge=8, le=512, multiple_of=8)] = 32
    spread: NonNegativeFloat = 0.3
    initial_scale: PositiveFloat = 1.0


class Training(LanguageTraining):
    """The budget, and how many windows of text a step reads."""


class Evaluation(Frozen):
    """Held-out windows at most, and draws behind the null distribution of eigen-angles."""

    windows: Count = 100_000
    null_draws: Annotated[int, Field(ge=100, le=100_000)] = 4000


class OperatorConditions(Frozen):
    """How arms differ: one operator, one per position, or a fixed one; and the penalties on it."""

    operators: Operators = "one"
    orthogonality: Annotated[NonNegativeFloat, AsNumber] = 0.0
    commutator: Annotated[NonNegativeFloat, AsNumber] = 0.0

    @model_validator(mode="after")
    def _penalties_apply(self) -> Self:
        if self.commutator and self.operators != "each":
            raise ValueError("commutator: a single operator commutes with itself; remove it")
        if self.orthogonality and self.operators == "fixed":
            raise ValueError("orthogonality: a fixed operator is not trained; remove it")
        return self


class Arm(TrainedArm, OperatorConditions):
    """One condition; its variants are the operators' initialisations, or the fixed operators."""


class UntrainedArm(ComputedArm):
    """Draws of random operators, or of certificates; computed once."""

    computed: Literal["random", "certificates"]
    replicates: Literal["once"]
    operators: Literal["one", "each"] = "each"
    draws: Count = 20


class Computation(Frozen):
    """All that determines the computed results of one variant."""

    computed: Literal["random", "certificates"]
    variant: str
    operators: Literal["one", "each"]
    draws: Count
    model: Model

    @model_validator(mode="after")
    def _variant_exists(self) -> Self:
        _check(self.variant, CHECKS if self.computed == "certificates" else STARTS)
        return self


class Settings(StudySettings):
    """The exp4 section of config.yaml."""

    datasets: Mapping[Name, Data]
    arms: Arms[Arm, UntrainedArm]
    model: Model = Model()
    training: Training
    evaluation: Evaluation = Evaluation()


class Job(OperatorConditions, LanguageJob):
    """All that determines one trained variant, besides its seed."""

    data: Data
    model: Model
    training: Training

    @model_validator(mode="after")
    def _variant_exists(self) -> Self:
        _check(self.variant, CONTROLS if self.operators == "fixed" else STARTS)
        return self


def _check(variant: str, known: tuple[str, ...]) -> None:
    if variant not in known:
        raise ValueError(f"unknown variant {variant!r};{accepted(variant, list(known))}")
