"""The settings of exp12 in config.yaml, and the models that it may name."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from journeylab.config import (
    Arms,
    ComputedArm,
    Count,
    Frozen,
    Name,
    SeveralWorlds,
    StudySettings,
    TrainedArm,
    TrainedJob,
)
from journeylab.knowledge.settings import (
    LINEARISED_TEMPLATES,
    Evaluation,
    Model,
    Spec,
    Training,
    linearised,
    native,
)

__all__ = ["Computation", "Data", "Evaluation", "Job", "Settings"]

Variant = Literal["A", "A-plus-causal", "A-tail", "B", "B-mlm"]
SPECS: dict[Variant, Spec] = {
    "A": native(),
    "A-plus-causal": native("both"),
    "A-tail": native("tail"),
    "B": linearised("rope"),
    "B-mlm": linearised("rope", objective="mlm"),
}
"""Name in config.yaml → model; B reads its KG facts in template 1 only."""

Check = Literal["cache", "order", "splits"]


class Data(SeveralWorlds):
    """One of two worlds, ``k`` times the size of exp7's world.

    ``family``: the kinship and geography of exp7, where some facts follow from others.
    ``attributes``: random values of people, where no fact follows from others. The share
    ``bridging`` of all facts is read in text and as KG rows, the share TRANSFER as KG rows only,
    and the share UNSEEN nowhere. The remaining facts are read as KG rows only and are not tested.
    """

    world: Literal["family", "attributes"] = "family"
    k: Annotated[int, Field(ge=1, le=10)] = 3
    bridging: Annotated[float, Field(gt=0.0, le=0.7)] = 0.7


TRANSFER, UNSEEN = 0.2, 0.1
"""Shares of an attribute world that tiers 2 and 3 test, for every ``bridging``."""


class Reading(Frozen):
    """Tokens of an entity's name: 1 (a symbol of its own), 2 (syllables) or 4 (characters)."""

    tokens: Literal[1, 2, 4] = 1


class Arm(TrainedArm, Reading):
    """A trained arm."""


class TransferChecks(ComputedArm):
    """Exact checks without training."""

    computed: Literal["certificates"]
    replicates: Literal["once"]
    draws: Count = 20


class Computation(Frozen):
    """The settings of one check."""

    computed: Literal["certificates"]
    variant: Check
    draws: Count = 20
    model: Model


class Settings(StudySettings):
    """The exp12 section of config.yaml."""

    datasets: Mapping[Name, Data]
    arms: Arms[Arm, TransferChecks]
    model: Model = Model()
    training: Training
    evaluation: Evaluation = Evaluation()


class Job(Reading, TrainedJob):
    """The settings of one trained variant, without its seed."""

    variant: Variant
    data: Data
    model: Model
    training: Training

    @property
    def spec(self) -> Spec:
        """The model that the variant names."""
        return SPECS[self.variant]

    @property
    def attention(self) -> Literal["softmax"]:
        """The same for every model."""
        return "softmax"

    @property
    def frequencies(self) -> Literal["standard"]:
        """The same for every model."""
        return "standard"

    @property
    def linearised_templates(self) -> tuple[int, ...]:
        """The templates of the KG rows; none for a native model."""
        return LINEARISED_TEMPLATES["none" if self.spec.kg == "native" else "held"]
