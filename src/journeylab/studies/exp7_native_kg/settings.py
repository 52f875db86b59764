"""What config.yaml may say about exp7, and the models it may name."""

import difflib
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, Tag, model_validator

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
"""What the plan counts."""

PLANNED: dict[Quantity, float] = {
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
"""The plan's own sizes; of its three to four generations the larger number."""

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
"""Every model by its name in config.yaml."""


class Data(Frozen):
    """The world: sizes of the generations and of the geography, and how derived facts are split.

    ``teaching`` and ``transfer`` are rounded up per relation; generalisation keeps the rest.
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


class Checked(Frozen):
    """How often, and at which width of a name, something is checked without training."""

    draws: Count = 20
    name_width: Annotated[int, Field(gt=0, le=1000)] = 6


class Algebra(ComputedArm, Checked):
    """What needs no training, checked once; a variant is a law, or the plan's counts."""

    computed: Literal["algebra"]
    replicates: Literal["once"]


class Computation(Checked):
    """All that determines the check of one law."""

    computed: Literal["algebra"]
    variant: Literal["slots", "text", "keys", "decoding", "counts"]
    model: Model


class Conditions(Frozen):
    """How KG facts become text, and which ablation of the attention is on."""

    linearisation: Linearisation = "none"
    attention: Literal["softmax", "softplus"] = "softmax"
    frequencies: Literal["standard", "integer"] = "standard"


class Arm(TrainedArm, Conditions):
    """One condition."""

    @model_validator(mode="after")
    def _variants_fit(self) -> Self:
        for variant in self.variants:
            _check_variant(variant, self.linearisation)
        return self


class Settings(StudySettings):
    """The exp7 section of config.yaml."""

    datasets: Mapping[Name, Data]
    arms: Mapping[
        Name,
        Annotated[Annotated[Arm, Tag("(trained)")] | Annotated[Algebra, Tag("(computed)")], ByKind],
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
    def _variant_fits(self) -> Self:
        _check_variant(self.variant, self.linearisation)
        return self

    @property
    def spec(self) -> Spec:
        """What the variant's name means."""
        return SPECS[self.variant]

    @property
    def linearised_templates(self) -> tuple[int, ...]:
        """The templates of its KG rows; none for a native model."""
        return LINEARISED_TEMPLATES[self.linearisation]


def _check_variant(variant: str, linearisation: Linearisation) -> None:
    if variant not in SPECS:
        close = difflib.get_close_matches(variant, list(SPECS), n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise ValueError(f"unknown variant {variant!r}; {hint}accepted: {', '.join(SPECS)}")
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
