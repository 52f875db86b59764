"""What config.yaml may say about exp8, and the embeddings it may name."""

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

HIGHEST = 100
"""Costs are whole numbers from 1 to here; shifted ones are higher by ``SHIFT`` or less."""
SHIFT = 50
HELD_OUT: tuple[int, ...] = tuple(range(3, HIGHEST, 5))
"""Costs that no training instance has: 3, 8, …, 98."""
KNOWN: tuple[int, ...] = tuple(c for c in range(1, HIGHEST + 1) if c not in HELD_OUT)
"""Costs that training instances have."""
VALUES = HIGHEST + SHIFT + 1
"""Rows of a table: 0 … 150. Those above 100 are there, and untrained."""

Variant = Literal[
    "discrete",
    "sinusoidal",
    "sinusoidal-standardised",
    "hybrid25",
    "hybrid50",
    "hybrid75",
    "fourier-low",
    "fourier-high",
    "periodic",
    "scalar",
    "thermometer",
    "discrete-double",
]
VARIANTS: tuple[Variant, ...] = get_args(Variant)
UNTRAINED: tuple[Variant, ...] = VARIANTS[:-1]
"""Those that differ before training."""
SHARES: dict[Variant, float] = {"hybrid25": 0.25, "hybrid50": 0.5, "hybrid75": 0.75}
"""Share of the width that is sinusoidal."""

Test = Literal["iid", "held-out", "shifted"]
TESTS: tuple[Test, ...] = get_args(Test)
Decoder = Literal["token", "row", "hungarian"]
DECODERS: tuple[Decoder, ...] = get_args(Decoder)
Stage = Literal["initial", "trained"]
STAGES: tuple[Stage, ...] = get_args(Stage)

Case = Literal["exact", "broken"]
CASES: tuple[Case, ...] = get_args(Case)

PAIRS: tuple[tuple[int, int], ...] = ((10, 11), (10, 50), (1, 100))
"""Costs whose similarity is told."""
PRINTED: dict[tuple[int, int], float] = {(10, 11): 1.0, (10, 50): 0.9943}
"""What the document prints of its sinusoidal embedding."""
PRINTED_RANDOM = -0.1394
"""What it prints of 10 and 11 in a discrete one."""
EXPONENTS: dict[str, float] = {"-i/d": 1.0, "-2i/d": 2.0}
"""The frequencies 10000^(−i/d), as the document writes them, and 10000^(−2i/d)."""
WIDTHS: tuple[int, ...] = tuple(range(4, 1025, 2))
"""Widths at which the printed similarities are looked for."""
DOCUMENT_WIDTH = 512
CHANCE_WIDTHS: tuple[int, ...] = (8, 16, 32, 48, 64, 128, 256, 512, 1024)
DISTANCES: tuple[int, ...] = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90)
"""At which similarity is told."""

EARLY = 25
"""The step at which early progress is judged: the document's “first eval” has no number."""


class Data(Frozen):
    """Instances of one seed, n × n costs; ``labels`` permuted shows a cost by another's name."""

    n: Annotated[int, Field(ge=2, le=6)] = 5
    train: Count = 10_000
    test: Count = 1000
    labels: Literal["costs", "permuted"] = "costs"


class Model(Frozen):
    """The recursion: a cycle updates the latent so many times and the answer once.

    ``spread`` is that of the initial frequencies of the periodic embedding, in cycles.
    """

    d: Annotated[int, Field(ge=8, le=512, multiple_of=8)] = 48
    heads: Literal[2, 4, 8] = 4
    updates: Count = 2
    cycles: Count = 2
    supervision: Count = 4
    spread: PositiveFloat = 2.0


class Training(TrainingSettings):
    """The budget, and how many instances a step sees."""

    rows: Count = 32


class Evaluation(Frozen):
    """Nothing to choose: every model is asked about every instance of every test set."""


class Conditions(Frozen):
    """Who attends to whom: cells of a row and of a column, or all, told rows and columns."""

    attention: Literal["axial", "full"] = "axial"


class Arm(TrainedArm, Conditions):
    """Models of one dataset with one kind of attention."""


class Computed(ComputedArm):
    """What is not a training of its own.

    Once: the geometry of untrained embeddings, and what holds exactly. For every seed: the learning
    of an axial model, done again and watched at every step.
    """

    computed: Literal["geometry", "certificates", "learning"]
    draws: Count = 1

    @model_validator(mode="after")
    def _has_seeds_if_it_learns(self) -> Self:
        if (self.computed == "learning") != (self.replicates == "seeds"):
            raise ValueError("replicates: learning has seeds, and all else is computed once")
        return self


class Computation(Frozen):
    """All that determines what is computed of one variant."""

    computed: Literal["geometry", "certificates", "learning"]
    variant: str
    draws: Count = 1
    data: Data = Data()
    model: Model
    training: Training

    @model_validator(mode="after")
    def _variant_exists(self) -> Self:
        known = VARIANTS if self.computed == "learning" else ("all",)
        if self.variant not in known:
            raise ValueError(f"unknown variant {self.variant!r}; accepted: {', '.join(known)}")
        return self


class Settings(StudySettings):
    """The exp8 section of config.yaml."""

    datasets: Mapping[Name, Data]
    arms: Mapping[
        Name,
        Annotated[
            Annotated[Arm, Tag("(trained)")] | Annotated[Computed, Tag("(computed)")], ByKind
        ],
    ]
    model: Model = Model()
    training: Training
    evaluation: Evaluation = Evaluation()


class Job(Conditions, TrainedJob):
    """All that determines one trained variant, besides its seed."""

    variant: Variant
    data: Data
    model: Model
    training: Training
