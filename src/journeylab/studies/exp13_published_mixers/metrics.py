"""Title, question, tuning, printed names and metrics of exp13."""

from journeylab.config import Factors, Metric
from journeylab.models.mixers.names import mechanism_names
from journeylab.studies.exp13_published_mixers.settings import FACTORS, WORD_TASKS, TaskName

TITLE = "Published mechanisms beside the journey"
QUESTION = (
    "Which sequence mechanisms of equal size track states, recall pairs and keep working on longer "
    "rows, and at what cost?"
)
TUNING = (
    "one grid of learning rates and initial scales for every mechanism of a judged row, on pilot "
    "seeds; other runs have the usual rate and scale, and no verdict"
)

FAMILIES: dict[str, dict[str, str]] = {
    "no operator, or a number per head": {
        "none": "no positions",
        "alibi": "ALiBi",
        "cope": "CoPE",
        "fox": "FoX",
    },
    "rotations by distance": {"rope": "RoPE", "liere": "LieRE"},
    "operators from content that commute": {
        "selective-rope": "Selective RoPE",
        "mamba3-real": "Mamba-3, real",
        "mamba3": "Mamba-3",
        "toral-attention": "toral softmax journey",
        "toral-transport": "toral softmax journey, values too",
        "toral-product": "toral product",
        "toral-aggregation": "toral aggregation",
    },
    "operators from content that do not commute": {
        "path": "PaTH",
        "path-fox": "PaTH-FoX",
        "delta": "DeltaNet, [0, 1]",
        "delta-signed": "DeltaNet, [−1, 1]",
        "delta-gated": "Gated DeltaNet",
        "delta-product": "DeltaProduct 2, [0, 1]",
        "delta-product-signed": "DeltaProduct 2, [−1, 1]",
        "orthogonal-product": "orthogonal product",
        "linear-product": "linear product",
        "orthogonal-aggregation": "orthogonal aggregation",
        "linear-aggregation": "linear aggregation",
        "orthogonal-attention": "softmax journey",
        "orthogonal-transport": "softmax journey, values too",
    },
    "a state that is no linear map of the one before": {"gru": "GRU"},
}
"""Kinds of mechanisms, by what moves a key or a state, and the printed names of mechanisms."""

_PRINTED = {name: printed for family in FAMILIES.values() for name, printed in family.items()}
LABELS = _PRINTED | {name: name for name in mechanism_names() if name not in _PRINTED}
"""Mechanism → printed name, in the order of figures; others keep the name of the configuration."""

ARMS: dict[TaskName | str, str] = {
    "S3": "S3",
    "A4xZ5": "A4 × Z5",
    "A5": "A5",
    "S5": "S5",
    "Z60": "Z60",
    "parity": "parity",
    "arithmetic": "arithmetic",
    "flip-flop": "flip-flop",
    "associative": "recall",
    "certificates": "checks without training",
}
"""Arm → printed name, in the order of figures: groups that do not commute, tasks whose answer
commutes, other states, and memory."""

_TIMES: Factors = {"times": FACTORS}
_WORDS: Factors = {"case": WORD_TASKS}
_MECHANISMS: Factors = {"case": tuple(mechanism_names())}
_GROUPS: Factors = {"case": ("S3", "A5", "S5")}

METRICS = {
    "accuracy": Metric("accuracy", _TIMES),
    "short_accuracy": Metric("accuracy on rows of n/4 tokens"),
    "gap": Metric("accuracy − Parikh ceiling", _TIMES),
    "ceiling": Metric("Parikh ceiling", _WORDS | _TIMES),
    "chance": Metric("best constant answer", _WORDS | _TIMES),
    "ceiling_error": Metric(
        "ceiling by dynamic programming against ceiling by enumeration", _WORDS
    ),
    "mismatch": Metric("|parameters of a block / those of the settings − 1|", _MECHANISMS),
    "kiloflops": Metric("thousand operations of a forward pass per token", _MECHANISMS | _TIMES),
    "order_change": Metric(
        "relative change of a product state by the order of letters",
        {"case": ("toral-product", "orthogonal-product", "linear-product")},
    ),
    "reflections": Metric("reflections that a generator needs", _GROUPS),
    "relation_error": Metric("difference of two products for one element", _GROUPS),
    "delta_error": Metric("states of delta steps against the maps of the group", _GROUPS),
    "projection_error": Metric(
        "states of delta steps that project against the maps of the group", _GROUPS
    ),
}
