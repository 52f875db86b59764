"""The settings of exp9 in config.yaml, and the estimators it may name."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, PositiveFloat, model_validator

from journeylab.config import (
    Arms,
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

Estimated = Literal[
    "straight-through",
    "straight-through-sampled",
    "gumbel-1",
    "gumbel-0.5",
    "gumbel-0.1",
    "annealed",
    "soft",
    "reinforce",
    "reinforce-ema",
    "reinforce-literal",
    "rloo",
    "reinmax",
]
ESTIMATED: tuple[Estimated, ...] = get_args(Estimated)
"""Estimators that are compared with the exact gradient; annealed: τ = 0.1, without noise."""
SCALES: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Standard deviations of the router's weights at which they are compared."""

Trained = Literal[
    "straight-through",
    "straight-through-sampled",
    "straight-through-balanced",
    "gumbel-1",
    "gumbel-0.5",
    "gumbel-0.1",
    "annealing",
    "annealing-10",
    "annealing-100",
    "annealing-noisy",
    "three-phase",
    "soft",
    "reinforce",
    "reinforce-literal",
    "rloo",
    "reinmax",
]
TRAINED: tuple[Trained, ...] = get_args(Trained)
"""How routers of the stream task are trained; annealing takes 40 % of the steps unless its name
says otherwise."""
Spoken = Literal["straight-through", "gumbel-0.5", "annealing", "soft"]
SPOKEN: tuple[Spoken, ...] = get_args(Spoken)
"""How routers of the language model are trained."""
ROUTES = ("hard", "training")
"""How the language model routes in evaluation: by the largest logit, or as in training."""

Budget = Literal["short", "long"]
BUDGETS: tuple[Budget, ...] = get_args(Budget)
SHARES: tuple[int, ...] = (0, 20, 40, 60, 80, 100)
"""Percentages of the long budget at which routers are evaluated."""

Block = Literal[
    "straight-through", "gumbel", "annealed", "soft", "reinforce", "phase 1", "quick reference"
]
BLOCKS: tuple[Block, ...] = get_args(Block)
"""The code blocks of the source document."""

TYPES = 3
"""K: the number of hidden token types, and of timelines."""
SPREAD = 0.5
"""Standard deviation of the noise that hides a token's type."""


class Data(Shakespeare):
    """The text, and how it is cut."""


class Model(LanguageModel):
    """Sizes of the language model."""

    d: Annotated[int, Field(ge=8, le=256, multiple_of=4)] = 32
    layers: Annotated[int, Field(gt=0, le=6)] = 2
    heads: Annotated[int, Field(gt=0, le=16)] = 4
    timelines: Annotated[int, Field(ge=2, le=16)] = 3

    @model_validator(mode="after")
    def _heads_divide(self) -> Self:
        if self.d % self.heads:
            raise ValueError(f"heads: {self.heads}; write a divisor of d, {self.d}")
        return self


class Training(LanguageTraining):
    """The language model's budget, and how many windows of text a step reads."""


class Evaluation(Frozen):
    """How many held-out windows the language model reads at most."""

    windows: Count = 1000


class ComputedSizes(Frozen):
    """Sizes of the computed runs.

    ``draws`` counts noise samples where no sum is possible, and repetitions of a certificate. A
    router is trained from ``starts`` initialisations, for ``steps`` steps (the long budget) and for
    ``short`` steps.
    """

    draws: Count = 20_000
    sequences: Count = 32
    steps: Count = 2000
    short: Count = 600
    starts: Annotated[int, Field(ge=2, le=16)] = 4
    rows: Count = 64
    test: Count = 1000

    @model_validator(mode="after")
    def _short_is_shorter(self) -> Self:
        if self.short > self.steps:
            raise ValueError(f"short {self.short}: write at most steps, {self.steps}")
        return self


class Tuned(Frozen):
    """Standard deviation of a router's initial weights, and the learning rate."""

    scale: PositiveFloat
    rate: PositiveFloat


class RouterArm(ComputedArm, ComputedSizes):
    """Gradients and router training, per seed; certificates and attention in blocks, once.

    ``tuned`` has the start and the rate of every variant that is trained.
    """

    computed: Literal["gradients", "training", "certificates", "attention"]
    tuned: Mapping[Name, Tuned] = {}


class Computation(ComputedSizes):
    """All that determines the computed results of one variant: of ``tuned``, its own entry."""

    computed: Literal["gradients", "training", "certificates", "attention"]
    variant: str
    scale: PositiveFloat = 0.5
    rate: PositiveFloat = 0.01

    @model_validator(mode="before")
    @classmethod
    def _takes_its_own(cls, written: Any) -> Any:
        if not isinstance(written, Mapping) or "tuned" not in written:
            return written
        kept = {key: value for key, value in written.items() if key != "tuned"}
        return kept | dict(written["tuned"].get(written.get("variant"), {}))

    @model_validator(mode="after")
    def _variant_exists(self) -> Self:
        known = TRAINED if self.computed == "training" else ("all",)
        if self.variant not in known:
            raise ValueError(
                f"unknown variant {self.variant!r};{accepted(self.variant, list(known))}"
            )
        return self


class Arm(TrainedArm):
    """Language models with routed attention."""


class Settings(StudySettings):
    """The exp9 section of config.yaml."""

    datasets: Mapping[Name, Data] = {}
    arms: Arms[Arm, RouterArm]
    model: Model = Model()
    training: Training
    evaluation: Evaluation = Evaluation()


class Job(LanguageJob):
    """All that determines one trained language model, besides its seed."""

    variant: Spoken
    data: Data
    model: Model
    training: Training
