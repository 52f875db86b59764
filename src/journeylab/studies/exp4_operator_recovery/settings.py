"""What config.yaml may say about exp4, and the operators it may name."""

import difflib
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeFloat, Tag, model_validator

from journeylab.config import (
    AsNumber,
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
from journeylab.datasets.settings import Shakespeare

Operators = Literal["one", "each", "fixed"]
Stage = Literal["initial", "trained"]
STAGES: tuple[Stage, ...] = ("initial", "trained")
RANDOM = "random"
"""The stage of operators that belong to no model: the null."""

STARTS = ("near-identity", "gaussian", "orthogonal")
CONTROLS = ("rope", "rope-integer", "identity", "frozen")
CHECKS = ("gauge", "rope", "order", "blocks")


class Data(Shakespeare):
    """Tiny Shakespeare, its passages and how many are held out."""


class Model(Frozen):
    """Width and context; near the identity, R starts at I + spread · N(0, 1)/√d."""

    d: Annotated[int, Field(ge=4, le=64, multiple_of=2)] = 8
    length: Annotated[int, Field(ge=8, le=512, multiple_of=8)] = 32
    spread: NonNegativeFloat = 0.3


class Training(TrainingSettings):
    """The budget, and how many windows of text a step sees."""

    rows: Count = 16


class Evaluation(Frozen):
    """Held-out windows at most, and draws behind the null distribution of eigen-angles."""

    windows: Count = 100_000
    null_draws: Annotated[int, Field(ge=100, le=100_000)] = 4000


class Conditions(Frozen):
    """What tells arms apart: one operator, one for each position, or a fixed one; its pressures."""

    operators: Operators = "one"
    orthogonality: Annotated[NonNegativeFloat, AsNumber] = 0.0
    commutator: Annotated[NonNegativeFloat, AsNumber] = 0.0

    @model_validator(mode="after")
    def _has_something_to_press(self) -> Self:
        if self.commutator and self.operators != "each":
            raise ValueError("commutator: a single operator commutes with itself; remove it")
        if self.orthogonality and self.operators == "fixed":
            raise ValueError("orthogonality: a fixed operator gives way to nothing; remove it")
        return self


class Arm(TrainedArm, Conditions):
    """One condition; its variants are what its operators start at, or are."""


class Exact(ComputedArm):
    """What is computed once: random operators, or what must hold exactly, so many times."""

    computed: Literal["random", "certificates"]
    replicates: Literal["once"]
    operators: Literal["one", "each"] = "each"
    draws: Count = 20


class Computation(Frozen):
    """All that determines what is computed of one variant."""

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
    arms: Mapping[
        Name,
        Annotated[Annotated[Arm, Tag("(trained)")] | Annotated[Exact, Tag("(computed)")], ByKind],
    ]
    model: Model = Model()
    training: Training
    evaluation: Evaluation = Evaluation()


class Job(Conditions, TrainedJob):
    """All that determines one trained variant, besides its seed."""

    data: Data
    model: Model
    training: Training

    @model_validator(mode="after")
    def _variant_exists(self) -> Self:
        _check(self.variant, CONTROLS if self.operators == "fixed" else STARTS)
        return self

    @model_validator(mode="after")
    def _window_fits(self) -> Self:
        if self.data.passage <= self.model.length:
            raise ValueError(
                f"passages of {self.data.passage} characters: windows of {self.model.length} need "
                "more"
            )
        return self


def _check(variant: str, known: tuple[str, ...]) -> None:
    if variant not in known:
        close = difflib.get_close_matches(variant, known, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise ValueError(f"unknown variant {variant!r}; {hint}accepted: {', '.join(known)}")
