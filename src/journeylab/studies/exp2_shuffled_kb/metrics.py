"""The title, question, printed names and metrics of exp2."""

from journeylab.config import Factors, Metric
from journeylab.studies.exp2_shuffled_kb.settings import ORDERS

TITLE = "Shuffled knowledge base: position operators by slot or by content"
QUESTION = (
    "How much does a retrieval head lose when the entries of its knowledge base are shuffled, if "
    "its position operators depend on slots or on contents?"
)
TUNING = (
    "six points of learning rate and initial scale, on a pilot seed, for the runs in the table of "
    "the search; all other runs have the common setting, except that RoPE with integer frequencies "
    "has its rate at every M. Budgets were raised until judged variants had learned, that of RoPE "
    "with integer frequencies at M = 20 to 6000 steps"
)

LABELS = {
    "position-free": "position-free",
    "rope": "RoPE",
    "rope-integer": "RoPE (integer)",
    "cumulative": "cumulative",
    "cumulative-as-shipped": "cumulative (as shipped)",
    "content": "content",
    "untagged": "no tag",
    "tag": "additive tag",
    "operator": "relation operator",
}
"""The printed name of every variant, in the order of figures."""

ARMS = {
    **{f"M{size}-{order}": f"M = {size}, {order}" for size in (20, 50, 100) for order in ORDERS},
    "relations": "identical content",
    "invariance": "random weights",
    "invariance-cumulative": "random weights, cumulative",
    "witness": "two-entry witness",
    "recursion": "exact ceilings",
}
"""The printed name of every arm, in the order of figures; others keep their config.yaml name."""

_BY_ORDER: Factors = {"order": ORDERS}
_CASE: Factors = {"M": (20, 50, 100), "precision": ("float32", "float64")}

METRICS = {
    "accuracy": Metric("accuracy", _BY_ORDER),
    "flip_rate": Metric("answers that flip", _BY_ORDER),
    "max_logit_change": Metric("max |Δlogit|", _BY_ORDER),
    "relative_logit_change": Metric("max |Δlogit| over the logits' spread", _BY_ORDER),
    "ceiling": Metric("ceiling without a tag"),
    "invariance_error": Metric("change of a logit", _CASE),
    "witness_change": Metric("change of a logit when two entries swap"),
    "ceiling_error": Metric("ceiling by recursion against enumeration"),
}
