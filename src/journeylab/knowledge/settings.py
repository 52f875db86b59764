"""Settings in config.yaml that the studies of facts share: model, training and evaluation."""

from typing import Annotated, Literal, Protocol

from pydantic import Field, NonNegativeFloat, PositiveFloat

from journeylab.config import AsNumber, Count, Frozen, Levels, TrainingSettings

TEMPLATES = (0, 1, 2)
TIERS = ("T1", "T2", "T3")

Linearisation = Literal["none", "all", "held", "same"]
LINEARISED_TEMPLATES: dict[Linearisation, tuple[int, ...]] = {
    "none": (),
    "all": TEMPLATES,
    "held": (1,),
    "same": (0,),
}
"""The templates of the KG rows of a model without native triples."""


Objective = Literal["mlm", "tail", "causal", "both", "copy"]
"""The training objective of KG rows:

mlm     predict masked parts or masked characters
tail    predict the masked tail
causal  predict the next token
both    mlm, and in a second pass causal
copy    predict all tokens, with nothing masked
"""


class Spec(Frozen):
    """Specification of a model: angles × KG handling × value aggregation, and its KG objective.

    ``positions``: a native triple restarts its positions in each slot (reset) or counts through.
    ``slots``: the slot angles θ are learned or held at zero.
    """

    angles: Literal["rope", "slots", "tokens"]
    kg: Literal["native", "linearised"]
    values: Literal["commutative", "operator"] = "commutative"
    objective: Objective
    slots: Literal["learned", "zero"] = "zero"
    positions: Literal["reset", "sequential"] = "sequential"


def native(
    objective: Objective = "mlm",
    values: Literal["commutative", "operator"] = "commutative",
    slots: Literal["learned", "zero"] = "learned",
    positions: Literal["reset", "sequential"] = "reset",
) -> Spec:
    """Specify a model that reads native triples."""
    return Spec(
        angles="slots",
        kg="native",
        values=values,
        objective=objective,
        slots=slots,
        positions=positions,
    )


def linearised(
    angles: Literal["rope", "tokens"],
    values: Literal["commutative", "operator"] = "commutative",
    objective: Literal["mlm", "causal"] = "causal",
) -> Spec:
    """Specify a model that reads its KG facts as sentences."""
    return Spec(angles=angles, kg="linearised", values=values, objective=objective)


Share = Annotated[float, Field(gt=0.0, lt=1.0)]


class Model(Frozen):
    """The sizes of the transformer, the same for all variants, and the scales of initialisation.

    ``embedding_scale`` and ``output_scale`` multiply the transformer's initial embeddings and
    output projection; both were chosen on pilot seeds.
    """

    d: Annotated[int, Field(ge=4, le=512, multiple_of=2)] = 64
    layers: Annotated[int, Field(ge=1, le=12)] = 2
    embedding_scale: PositiveFloat = 0.02
    output_scale: PositiveFloat = 5.0
    slot_scale: NonNegativeFloat = 0.5
    token_angle_spread: NonNegativeFloat = 0.1


class Training(TrainingSettings):
    """The budget, and the rows of a step: loss = mean over text + kg_weight · mean over KG."""

    text_rows: Count = 48
    kg_rows: Count = 32
    kg_weight: NonNegativeFloat = 0.5
    mask_rate: Share = 0.3


class Evaluation(Frozen):
    """The scored templates, and the hits@1 at tier 1 from which a run counts as trained."""

    templates: Levels[Annotated[Literal[0, 1, 2], AsNumber]] = (0, 1, 2)
    gate: Annotated[float, Field(gt=0.0, le=1.0)] = 0.95


class ReaderJob(Protocol):
    """The settings that a model and its training depend on; the studies' jobs implement it."""

    @property
    def spec(self) -> Spec:
        """Angles, KG handling, value aggregation and KG objective."""
        ...

    @property
    def model(self) -> Model:
        """Sizes and scales."""
        ...

    @property
    def training(self) -> Training:
        """Budget and rows of a step."""
        ...

    @property
    def attention(self) -> Literal["softmax", "softplus"]:
        """How attention scores become weights."""
        ...

    @property
    def frequencies(self) -> Literal["standard", "integer"]:
        """The rotation frequencies ω."""
        ...
