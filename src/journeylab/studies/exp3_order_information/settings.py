"""What config.yaml may say about exp3, and the frequency sets it may name."""

import math
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, Tag

from journeylab.config import (
    AsNumber,
    ByKind,
    ComputedArm,
    Count,
    Frozen,
    Levels,
    Name,
    StudySettings,
    TrainedArm,
    TrainedJob,
    TrainingSettings,
)


class FrequencySet(Frozen):
    """How values are aggregated: radians per position of the planes, from ``first`` to ``last``.

    ``pooling`` mean divides the sum by the length.
    """

    label: str
    first: float
    last: float
    pooling: Literal["sum", "mean"] = "sum"


Variant = Literal["sum", "mean", "as-shipped", "one-two", "standard", "quarter-turns"]
SETS: dict[Variant, FrequencySet] = {
    "sum": FrequencySet(label="{0, 0} sum", first=0.0, last=0.0),
    "mean": FrequencySet(label="{0, 0} mean", first=0.0, last=0.0, pooling="mean"),
    "as-shipped": FrequencySet(label="{0, 1}", first=0.0, last=1.0),
    "one-two": FrequencySet(label="{1, 2}", first=1.0, last=2.0),
    "standard": FrequencySet(label="{1, 0.01}", first=1.0, last=0.01),
    "quarter-turns": FrequencySet(label="{π/2, π}", first=math.pi / 2, last=math.pi),
}
"""Every frequency set by its name in config.yaml, labelled by its two frequencies at d = 4."""

SLOWEST = 0.01
"""The lowest frequency but 0 of a grid from 0, in radians per position."""

Length = Literal[8, 12, 16, 20]
LENGTHS: tuple[Length, ...] = (8, 12, 16, 20)
PRECISIONS = (0.001, 0.01, 0.1, 0.5, 2.0, 8.0, 32.0)
"""Cell widths, from grids that tell nearly all to grids so coarse that the precision law binds."""
Colours = Literal[2, 4]
COLOURS: tuple[Colours, ...] = (2, 4)
Width = Literal[4, 16]
WIDTHS: tuple[Width, ...] = (4, 16)
Probe = Literal["mlp", "linear"]
PROBES: tuple[Probe, ...] = ("mlp", "linear")
Split = Literal["held-out", "seen"]
SPLITS: tuple[Split, ...] = ("held-out", "seen")


class Data(Frozen):
    """How many distinct strings of every length and alphabet are held out, and re-examined.

    At most ``largest_share`` of all strings is held out. ``seen`` strings are among those that
    training draws from.
    """

    held_out: Count = 1000
    seen: Count = 1000
    largest_share: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.25


class Model(Frozen):
    """Width of the two hidden layers of the MLP probe."""

    hidden: Annotated[int, Field(gt=0, le=65_536)] = 128


class Training(TrainingSettings):
    """The budget, and how many strings of every length a step sees."""

    strings: Count = 128


class Evaluation(Frozen):
    """Which strings the probes are asked about."""

    splits: Levels[Split] = SPLITS


class Enumerated(Frozen):
    """What is enumerated: every width, alphabet and length with at most ``strings`` strings.

    ``precisions`` are the cell widths ε of the grid; values have standard normal coordinates.
    """

    draws: Count = 12
    precisions: Levels[Annotated[float, Field(gt=0.0), AsNumber]] = PRECISIONS
    lengths: Levels[Annotated[Length, AsNumber]] = LENGTHS
    strings: Annotated[int, Field(ge=2, le=2**20)] = 2**20


class Enumeration(ComputedArm, Enumerated):
    """The exact information of every frequency set, computed once."""

    computed: Literal["enumeration"]
    replicates: Literal["once"]


class Computation(Enumerated):
    """All that determines the exact information of one frequency set."""

    computed: Literal["enumeration"]
    variant: Variant


class Conditions(Frozen):
    """One alphabet and one width of the values."""

    colours: Colours
    d: Width


class Arm(TrainedArm, Conditions):
    """Probes of one alphabet and width."""


class Settings(StudySettings):
    """The exp3 section of config.yaml."""

    datasets: Mapping[Name, Data]
    arms: Mapping[
        Name,
        Annotated[
            Annotated[Arm, Tag("(trained)")] | Annotated[Enumeration, Tag("(computed)")], ByKind
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
