"""What config.yaml may say about exp7, and the models it may name."""

import difflib
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeFloat, PositiveFloat, Tag, model_validator

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

TEMPLATES = (0, 1, 2)
TIERS = ("T1", "T2", "T3")

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

Linearisation = Literal["none", "all", "held", "same"]
LINEARISED_TEMPLATES: dict[Linearisation, tuple[int, ...]] = {
    "none": (),
    "all": TEMPLATES,
    "held": (1,),
    "same": (0,),
}
"""The templates in which a model without native triples reads its KG facts."""


class Spec(Frozen):
    """What makes a model: angles × KG handling × value aggregation, and its KG objective.

    ``positions``: a native triple restarts its positions in each slot, or counts through.
    ``slots``: the slot angles θ are learned, or held at zero.
    """

    angles: Literal["rope", "slots", "tokens"]
    kg: Literal["native", "linearised"]
    values: Literal["commutative", "operator"] = "commutative"
    objective: Literal["mlm", "causal", "copy"]
    slots: Literal["learned", "zero"] = "zero"
    positions: Literal["reset", "sequential"] = "sequential"


def _native(
    objective: Literal["mlm", "causal", "copy"] = "mlm",
    values: Literal["commutative", "operator"] = "commutative",
    slots: Literal["learned", "zero"] = "learned",
    positions: Literal["reset", "sequential"] = "reset",
) -> Spec:
    return Spec(
        angles="slots",
        kg="native",
        values=values,
        objective=objective,
        slots=slots,
        positions=positions,
    )


def _linearised(
    angles: Literal["rope", "tokens"],
    values: Literal["commutative", "operator"] = "commutative",
    objective: Literal["mlm", "causal"] = "causal",
) -> Spec:
    return Spec(angles=angles, kg="linearised", values=values, objective=objective)


SPECS: dict[str, Spec] = {
    "A": _native(),
    "Aprime": _native(values="operator"),
    "A-no-slots": _native(slots="zero"),
    "A-causal": _native(objective="causal"),
    "A-predict-all": _native(objective="copy"),
    "A-sequential": _native(slots="zero", positions="sequential"),
    "B": _linearised("rope"),
    "Bprime": _linearised("rope", values="operator"),
    "C": _linearised("tokens"),
    "Cprime": _linearised("tokens", values="operator"),
    "B-mlm": _linearised("rope", objective="mlm"),
}
"""Every model by its name in config.yaml."""

Share = Annotated[float, Field(gt=0.0, lt=1.0)]


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


class Model(Frozen):
    """The transformer that every variant shares, and the scales that it starts from.

    ``embedding_scale`` and ``output_scale`` multiply the transformer's own initial embeddings and
    output projection; both are fixed on pilot seeds.
    """

    d: Annotated[int, Field(ge=4, le=512, multiple_of=2)] = 64
    layers: Annotated[int, Field(ge=1, le=12)] = 2
    embedding_scale: PositiveFloat = 0.02
    output_scale: PositiveFloat = 5.0
    slot_scale: NonNegativeFloat = 0.5
    token_angle_spread: NonNegativeFloat = 0.1


class Training(TrainingSettings):
    """The budget, and how a step is composed: loss = mean over text + kg_weight · mean over KG."""

    text_rows: Count = 48
    kg_rows: Count = 32
    kg_weight: NonNegativeFloat = 0.5
    mask_rate: Share = 0.3


class Evaluation(Frozen):
    """Which templates are scored, and when a run counts as trained."""

    templates: Levels[Annotated[Literal[0, 1, 2], AsNumber]] = (0, 1, 2)
    gate: Annotated[float, Field(gt=0.0, le=1.0)] = 0.95


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
