"""What studies of facts share in config.yaml: models, how they are trained, how they are asked."""

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
"""The templates in which a model without native triples reads its KG facts."""


Objective = Literal["mlm", "tail", "causal", "both", "copy"]
"""What a KG row asks for: parts and scattered tokens that are hidden, the hidden tail, the next
token, hidden parts and in a second reading the next token, or all tokens with nothing hidden."""


class Spec(Frozen):
    """What makes a model: angles × KG handling × value aggregation, and its KG objective.

    ``positions``: a native triple restarts its positions in each slot, or counts through.
    ``slots``: the slot angles θ are learned, or held at zero.
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
    """A model of native triples, whose slots have angles of their own."""
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
    """A model that reads its KG facts as sentences."""
    return Spec(angles=angles, kg="linearised", values=values, objective=objective)


Share = Annotated[float, Field(gt=0.0, lt=1.0)]


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


class Learner(Protocol):
    """What a model and its training depend on; the jobs of studies are such."""

    @property
    def spec(self) -> Spec:
        """Its angles, how it reads KG facts, and what they ask for."""
        ...

    @property
    def model(self) -> Model:
        """Its sizes."""
        ...

    @property
    def training(self) -> Training:
        """Its budget."""
        ...

    @property
    def attention(self) -> Literal["softmax", "softplus"]:
        """How scores become weights."""
        ...

    @property
    def frequencies(self) -> Literal["standard", "integer"]:
        """How fast positions turn."""
        ...
