"""What config.yaml may say about exp12, and the models it may name."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, Tag

from journeylab.config import (
    ByKind,
    ComputedArm,
    Count,
    Frozen,
    Name,
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

Variant = Literal["A", "A-plus-causal", "A-tail", "B", "B-mlm", "A-repository", "B-repository"]
SPECS: dict[Variant, Spec] = {
    "A": native(),
    "A-plus-causal": native("both"),
    "A-tail": native("tail"),
    "B": linearised("rope"),
    "B-mlm": linearised("rope", objective="mlm"),
    "A-repository": native(),
    "B-repository": linearised("rope"),
}
"""Every model by its name in config.yaml; B writes its KG facts in one template, held out."""
CONSULTING: tuple[Variant, ...] = ("A-repository", "B-repository")
"""Models whose text attends to the KG facts, which they do not learn."""

Check = Literal["cache", "order", "splits"]


class Data(Frozen):
    """One of two worlds, ``k`` times the size of exp7's.

    ``family``: its kinship and geography, with facts that follow from others. ``attributes``:
    random values of people, of which nothing follows; the share ``bridging`` of all facts is read
    in text and as KG facts, ``transfer`` is asked for after it was read as KG facts only, and
    ``unseen`` is read nowhere. The rest is read as KG facts only, and not asked for.
    """

    world: Literal["family", "attributes"] = "family"
    k: Annotated[int, Field(ge=1, le=10)] = 3
    bridging: Annotated[float, Field(gt=0.0, le=0.7)] = 0.7


TRANSFER, UNSEEN = 0.2, 0.1
"""Shares of an attribute world that are asked for at tiers 2 and 3, whatever is bridged."""


class Reading(Frozen):
    """How many tokens an entity's name has: one for itself, two syllables, or four characters."""

    tokens: Literal[1, 2, 4] = 1


class Arm(TrainedArm, Reading):
    """One condition."""


class Certificate(ComputedArm):
    """What is checked without training."""

    computed: Literal["certificates"]
    replicates: Literal["once"]
    draws: Count = 20


class Computation(Frozen):
    """All that determines one check."""

    computed: Literal["certificates"]
    variant: Check
    draws: Count = 20
    model: Model


class Settings(StudySettings):
    """The exp12 section of config.yaml."""

    datasets: Mapping[Name, Data]
    arms: Mapping[
        Name,
        Annotated[
            Annotated[Arm, Tag("(trained)")] | Annotated[Certificate, Tag("(computed)")], ByKind
        ],
    ]
    model: Model = Model()
    training: Training
    evaluation: Evaluation = Evaluation()


class Job(Reading, TrainedJob):
    """All that determines one trained variant, besides its seed."""

    variant: Variant
    data: Data
    model: Model
    training: Training

    @property
    def spec(self) -> Spec:
        """What the variant's name means."""
        return SPECS[self.variant]

    @property
    def attention(self) -> Literal["softmax"]:
        """Every model's."""
        return "softmax"

    @property
    def frequencies(self) -> Literal["standard"]:
        """Every model's."""
        return "standard"

    @property
    def linearised_templates(self) -> tuple[int, ...]:
        """The templates of its KG rows; none for a native model."""
        return LINEARISED_TEMPLATES["none" if self.spec.kg == "native" else "held"]
