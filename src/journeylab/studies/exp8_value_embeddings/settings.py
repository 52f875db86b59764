"""The exp8 section of config.yaml, typed, and the embeddings that it may name."""

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

HIGHEST = 100
"""Costs are integers in 1 … ``HIGHEST``; shifted costs reach up to ``HIGHEST + SHIFT``."""
SHIFT = 50
HELD_OUT: tuple[int, ...] = tuple(range(3, HIGHEST, 5))
"""Costs that never occur in training: 3, 8, …, 98."""
KNOWN: tuple[int, ...] = tuple(c for c in range(1, HIGHEST + 1) if c not in HELD_OUT)
"""Costs that occur in training."""
VALUES = HIGHEST + SHIFT + 1
"""Number of rows of a table, for 0 … 150. Rows above 100 exist, but are never trained."""

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
]
VARIANTS: tuple[Variant, ...] = get_args(Variant)
SHARES: dict[Variant, float] = {"hybrid25": 0.25, "hybrid50": 0.5, "hybrid75": 0.75}
"""Sinusoidal share of the width of a hybrid."""

Test = Literal["iid", "close", "held-out", "shifted"]
TESTS: tuple[Test, ...] = get_args(Test)
Decoder = Literal["token", "row", "hungarian"]
DECODERS: tuple[Decoder, ...] = get_args(Decoder)
Stage = Literal["initial", "trained"]
STAGES: tuple[Stage, ...] = get_args(Stage)

Case = Literal["exact", "broken"]
CASES: tuple[Case, ...] = get_args(Case)

PAIRS: tuple[tuple[int, int], ...] = ((10, 11), (10, 50), (1, 100))
"""Pairs of costs whose similarity is measured."""
FINE, COARSE = (50, 51), (1, 100)
"""The document's examples of a fine and of a coarse difference, for high and low frequencies."""
PRINTED: dict[tuple[int, int], float] = {(10, 11): 1.0, (10, 50): 0.9943}
"""Similarities of the sinusoidal embedding as printed in the document."""
PRINTED_RANDOM = -0.1394
"""Similarity of 10 and 11 in a discrete embedding as printed in the document."""
EXPONENTS: dict[str, float] = {"-i/d": 1.0, "-2i/d": 2.0}
"""The frequencies 10000^(−i/d), as the document writes them, and 10000^(−2i/d)."""
WIDTHS: tuple[int, ...] = tuple(range(4, 1025, 2))
"""Widths at which the printed similarities are searched."""
DOCUMENT_WIDTH = 512
CHANCE_WIDTHS: tuple[int, ...] = (8, 16, 32, 48, 64, 128, 256, 512, 1024)
DISTANCES: tuple[int, ...] = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90)
"""Distances of costs at which similarity is measured."""

MOMENTS = ("untrained", "first")
"""Before training, and the first evaluation, after a fifth of the recorded steps."""


class Data(Frozen):
    """Instances of one seed with n × n costs; permuted ``labels`` replace each cost by another."""

    n: Annotated[int, Field(ge=2, le=6)] = 5
    train: Count = 10_000
    test: Count = 1000
    labels: Literal["costs", "permuted"] = "costs"


class Model(Frozen):
    """Sizes of the recursive model: a cycle updates the latent ``updates`` times, the answer once.

    ``scale`` is the root mean square of the initial vectors of 1 … 100; of a hybrid, that of its
    table, while its sinusoids have ``waves``. ``spread`` is the standard deviation of the periodic
    embedding's initial frequencies, in cycles over the range of the costs.
    """

    d: Annotated[int, Field(ge=8, le=512, multiple_of=8)] = 48
    heads: Literal[2, 4, 8] = 4
    updates: Count = 2
    cycles: Count = 2
    supervision: Count = 4
    scale: PositiveFloat = 1.0
    waves: PositiveFloat = 1.0
    spread: PositiveFloat = 2.0


class Training(TrainingSettings):
    """The training budget, and the number of instances per step."""

    rows: Count = 32


class Evaluation(Frozen):
    """No options: every model is evaluated on every instance of every test set."""


class AttentionConditions(Frozen):
    """Axial: a cell attends to its row and its column. Full: to all cells, with positions."""

    attention: Literal["axial", "full"] = "axial"


class Arm(TrainedArm, AttentionConditions):
    """Models that share a dataset and a kind of attention."""


class ComputedEmbeddings(ComputedArm, AttentionConditions):
    """An arm whose runs are computed.

    Computed once: the geometry of untrained embeddings, and exact certificates. Computed for every
    seed: a training with the loss of every step recorded.
    """

    computed: Literal["geometry", "certificates", "learning"]
    draws: Count = 1

    @model_validator(mode="after")
    def _check_replicates(self) -> Self:
        if (self.computed == "learning") != (self.replicates == "seeds"):
            raise ValueError("replicates: write seeds for learning, and once for everything else")
        return self


class Computation(AttentionConditions):
    """The settings of one computed variant."""

    computed: Literal["geometry", "certificates", "learning"]
    variant: str
    draws: Count = 1
    data: Data = Data()
    model: Model
    training: Training

    @model_validator(mode="after")
    def _check_variant(self) -> Self:
        known = VARIANTS if self.computed == "learning" else ("all",)
        if self.variant not in known:
            raise ValueError(f"unknown variant {self.variant!r}; accepted: {', '.join(known)}")
        return self


class Settings(StudySettings):
    """The exp8 section of config.yaml."""

    datasets: Mapping[Name, Data]
    arms: Arms[Arm, ComputedEmbeddings]
    model: Model = Model()
    training: Training
    evaluation: Evaluation = Evaluation()


class Job(AttentionConditions, TrainedJob):
    """The settings of one trained variant, without its seed."""

    variant: Variant
    data: Data
    model: Model
    training: Training
