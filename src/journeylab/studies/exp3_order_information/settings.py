"""The settings of exp3 in config.yaml, and its frequency sets."""

import math
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from journeylab.config import (
    Arms,
    AsNumber,
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
    """The frequencies of the planes in radians per position, from ``first`` to ``last``.

    With ``pooling`` mean, the sum is divided by the length.
    """

    label: str
    first: float
    last: float
    pooling: Literal["sum", "mean"] = "sum"


Variant = Literal["sum", "mean", "as-shipped", "one-two", "standard", "quarter-turns"]
SETS: dict[Variant, FrequencySet] = {
    "sum": FrequencySet(label="sum {0, 0}", first=0.0, last=0.0),
    "mean": FrequencySet(label="mean {0, 0}", first=0.0, last=0.0, pooling="mean"),
    "as-shipped": FrequencySet(label="as shipped {0, 1}", first=0.0, last=1.0),
    "one-two": FrequencySet(label="fast {1, 2}", first=1.0, last=2.0),
    "standard": FrequencySet(label="standard {1, 0.01}", first=1.0, last=0.01),
    "quarter-turns": FrequencySet(label="periodic {π/2, π}", first=math.pi / 2, last=math.pi),
}
"""Every frequency set by its name in config.yaml; labels show its two frequencies at d = 4."""

SLOWEST = 0.01
"""The lowest nonzero frequency of a grid that starts at 0, in radians per position."""

Length = Literal[8, 12, 16, 20]
LENGTHS: tuple[Length, ...] = (8, 12, 16, 20)
PRECISIONS = (0.001, 0.01, 0.1, 0.5, 2.0, 8.0, 32.0)
"""Cell widths, from grids that lose almost nothing to grids at which the precision law binds."""
Colours = Literal[2, 3, 4]
COLOURS: tuple[Colours, ...] = (2, 3, 4)
Width = Literal[4, 16]
WIDTHS: tuple[Width, ...] = (4, 16)
Probe = Literal["mlp", "linear"]
PROBES: tuple[Probe, ...] = ("mlp", "linear")
Split = Literal["held-out", "seen"]
SPLITS: tuple[Split, ...] = ("held-out", "seen")


class Data(Frozen):
    """Numbers of distinct strings of every length and alphabet, held out or seen in training.

    At most ``largest_share`` of all strings is held out. ``seen`` strings are a sample of those
    that training draws from.
    """

    held_out: Count = 1000
    seen: Count = 1000
    largest_share: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.25


class Model(Frozen):
    """The width of the two hidden layers of the MLP probe, and the initial scale of both probes.

    Initial parameters are uniform within ± ``initial_scale``/√inputs.
    """

    hidden: Annotated[int, Field(gt=0, le=65_536)] = 128
    initial_scale: Annotated[float, Field(gt=0.0, le=100.0), AsNumber] = 1.0


class Training(TrainingSettings):
    """The budget, and the number of strings of every length per step."""

    strings: Count = 128


class Evaluation(Frozen):
    """The strings on which the probes are evaluated."""

    splits: Levels[Split] = SPLITS


class Enumerated(Frozen):
    """The enumerated cases: every width, alphabet and length with at most ``strings`` strings.

    ``precisions`` are the cell widths ε of the grid; values have standard normal coordinates. Draws
    are numbered from ``first_draw``, and a number names the same draw everywhere.
    """

    draws: Count = 12
    first_draw: Annotated[int, Field(ge=0, le=10**6), AsNumber] = 0
    precisions: Levels[Annotated[float, Field(gt=0.0), AsNumber]] = PRECISIONS
    lengths: Levels[Annotated[Length, AsNumber]] = LENGTHS
    strings: Annotated[int, Field(ge=2, le=2**20)] = 2**20


class EnumerationArm(ComputedArm, Enumerated):
    """The arm of the exact information of every frequency set, computed once."""

    computed: Literal["enumeration"]
    replicates: Literal["once"]


class Computation(Enumerated):
    """The settings that determine the exact information of one frequency set."""

    computed: Literal["enumeration"]
    variant: Variant


class ProbeConditions(Frozen):
    """The number of colours and the width of the values."""

    colours: Colours
    d: Width


class Arm(TrainedArm, ProbeConditions):
    """A trained arm: probes for one number of colours and one width."""


class Settings(StudySettings):
    """The exp3 section of config.yaml."""

    datasets: Mapping[Name, Data]
    arms: Arms[Arm, EnumerationArm]
    model: Model = Model()
    training: Training
    evaluation: Evaluation = Evaluation()


class Job(ProbeConditions, TrainedJob):
    """The settings that determine one trained variant, besides its seed."""

    variant: Variant
    data: Data
    model: Model
    training: Training
