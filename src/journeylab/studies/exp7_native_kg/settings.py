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
    LINEARISED_TEMPLATES,
    Evaluation,
    Linearisation,
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

SPECS: dict[str, Spec] = {
    "A": native(),
    "Aprime": native(values="operator"),
    "A-no-slots": native(slots="zero"),
    "A-causal": native(objective="causal"),
    "A-predict-all": native(objective="copy"),
    "A-sequential": native(slots="zero", positions="sequential"),
    "B": linearised("rope"),
    "Bprime": linearised("rope", values="operator"),
    "C": linearised("tokens"),
    "Cprime": linearised("tokens", values="operator"),
    "B-mlm": linearised("rope", objective="mlm"),
}
"""Name in config.yaml → model."""


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


class ReadingConditions(Frozen):
    """The templates of linearised KG rows, and ablations of attention and frequencies."""

    linearisation: Linearisation = "none"
    attention: Literal["softmax", "softplus"] = "softmax"
    frequencies: Literal["standard", "integer"] = "standard"


class Arm(TrainedArm, ReadingConditions):
    """A trained arm."""

    @model_validator(mode="after")
    def _variants_fit(self) -> Self:
        for variant in self.variants:
            _check_variant(variant, self.linearisation)
        return self


class Settings(StudySettings):
    """The exp7 section of config.yaml."""

    datasets: Mapping[Name, Data]
    arms: Arms[Arm, Algebra]
    model: Model = Model()
    training: Training
    evaluation: Evaluation = Evaluation()


class Job(ReadingConditions, TrainedJob):
    """The settings of one trained variant, without its seed."""

    data: Data
    model: Model
    training: Training

    @model_validator(mode="after")
    def _variant_fits(self) -> Self:
        _check_variant(self.variant, self.linearisation)
        return self

    @property
    def spec(self) -> Spec:
        """The model that the variant names."""
        return SPECS[self.variant]

    @property
    def linearised_templates(self) -> tuple[int, ...]:
        """The templates of the KG rows; none for a native model."""
        return LINEARISED_TEMPLATES[self.linearisation]


def _check_variant(variant: str, linearisation: Linearisation) -> None:
    if variant not in SPECS:
        raise ValueError(f"unknown variant {variant!r};{accepted(variant, list(SPECS))}")
    native = SPECS[variant].kg == "native"
    if native and linearisation != "none":
        raise ValueError(
            f"variant {variant!r} reads native triples: it needs linearisation none, "
            f"not {linearisation!r}"
        )
    if not native and linearisation == "none":
        raise ValueError(
            f"variant {variant!r} reads triples as text: it needs linearisation all, held or same"
        )
