"""The settings of exp7 in config.yaml, and the models that it may name."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

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
    accepted,
)
from journeylab.knowledge.settings import (
    TEMPLATES,
    Evaluation,
    Model,
    Share,
    Spec,
    Training,
    linearised,
    native,
)

Quantity = Literal[
    "generations",
    "people",
    "cities",
    "countries",
    "relations",
    "triples",
    "text tokens",
    "symbols",
    "teaching share",
    "transfer share",
    "generalisation share",
]
"""The sizes that the reviewer plan states."""

DOCUMENTED: dict[Quantity, float] = {
    "generations": 4,
    "people": 30,
    "cities": 10,
    "countries": 5,
    "relations": 8,
    "triples": 91,
    "text tokens": 7000,
    "symbols": 64,
    "teaching share": 0.6,
    "transfer share": 0.2,
    "generalisation share": 0.2,
}
"""The sizes in the reviewer plan; of its “3-4 generations” the larger number."""

NATIVE, OTHER, ALL = (), (1,), TEMPLATES
"""The templates of a model's KG rows: none, one that is not the prompts' own, or every one."""

MODELS: dict[str, tuple[Spec, tuple[int, ...]]] = {
    "A": (native(), NATIVE),
    "Aprime": (native(values="operator"), NATIVE),
    "B": (linearised("rope"), OTHER),
    "Bprime": (linearised("rope", values="operator"), OTHER),
    "C": (linearised("tokens"), OTHER),
    "Cprime": (linearised("tokens", values="operator"), OTHER),
    "B-mlm": (linearised("rope", objective="mlm"), OTHER),
    "B-all": (linearised("rope"), ALL),
}
"""Name in config.yaml → model, and the templates of its KG rows."""


class Data(SeveralWorlds):
    """Sizes of the generations and of the geography, and the split of the derived facts.

    In every relation ``teaching`` and ``transfer`` are rounded up; generalisation gets the rest.
    """

    generations: tuple[Count, ...] = (4, 8, 9, 9)
    cities: Count = 10
    countries: Count = 5
    teaching: Share = 0.6
    transfer: Share = 0.2

    @model_validator(mode="after")
    def _is_functional(self) -> Self:
        sizes = self.generations
        if len(sizes) != 4:
            raise ValueError(f"write four generations, not {len(sizes)}")
        for parents, children in pairwise(sizes):
            if not parents <= children <= 2 * parents:
                raise ValueError(
                    f"{children} children of {parents} fathers: each father needs one or two, so "
                    "that every relation is functional"
                )
        if sum(sizes) > 300:
            raise ValueError(f"{sum(sizes)} people: there are names for 300")
        if not self.countries <= self.cities <= 100:
            raise ValueError(f"{self.cities} cities: write {self.countries} (countries) to 100")
        if self.teaching + self.transfer >= 1.0:
            raise ValueError("teaching + transfer must leave a share for generalisation")
        return self


class AlgebraSettings(Frozen):
    """Number of random cases, and the width of a name in them."""

    draws: Count = 20
    name_width: Annotated[int, Field(gt=0, le=1000)] = 6


class Algebra(ComputedArm, AlgebraSettings):
    """Exact checks without training; a variant is an identity, or the documented counts."""

    computed: Literal["algebra"]
    replicates: Literal["once"]


class Computation(AlgebraSettings):
    """The settings of one check."""

    computed: Literal["algebra"]
    variant: Literal["slots", "text", "keys", "decoding", "counts"]
    model: Model


class Reading(Frozen):
    """The tokens of text: characters, or words, where a name is one token."""

    tokens: Literal["characters", "words"] = "characters"


class Arm(TrainedArm, Reading):
    """A trained arm."""

    @model_validator(mode="after")
    def _variants_are_known(self) -> Self:
        for variant in self.variants:
            if variant not in MODELS:
                raise ValueError(f"unknown variant {variant!r};{accepted(variant, list(MODELS))}")
        return self


class Settings(StudySettings):
    """The exp7 section of config.yaml."""

    datasets: Mapping[Name, Data]
    arms: Arms[Arm, Algebra]
    model: Model = Model()
    training: Training
    evaluation: Evaluation = Evaluation()


class Job(Reading, TrainedJob):
    """The settings of one trained variant, without its seed."""

    data: Data
    model: Model
    training: Training

    @property
    def spec(self) -> Spec:
        """The model that the variant names."""
        return MODELS[self.variant][0]

    @property
    def linearised_templates(self) -> tuple[int, ...]:
        """The templates of the KG rows; none for a native model."""
        return MODELS[self.variant][1]

    @property
    def attention(self) -> Literal["softmax"]:
        """The same for every model."""
        return "softmax"

    @property
    def frequencies(self) -> Literal["standard"]:
        """The same for every model."""
        return "standard"
