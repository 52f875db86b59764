"""What exp2 reports, in print: its title, how it was tuned, its models and metrics."""

from journeylab.config import Metric
from journeylab.studies.exp2_shuffled_kb.settings import ORDERS

TITLE = "Shuffled knowledge base: operators by place or by content"
TUNING = (
    "one learning rate for all variants; on four pilot seeds budgets were raised until what is "
    "judged had learned its task: 3000 steps at M = 20, where RoPE with integer frequencies "
    "reaches 0.97 on sorted entries (0.91 at 1500), and 6000 for identical content, where the head "
    "without a tag is within 0.001 of its ceiling"
)

LABELS = {
    "position-free": "position-free",
    "rope": "RoPE",
    "rope-integer": "RoPE, integer",
    "cumulative": "cumulative",
    "cumulative-as-shipped": "cumulative, as shipped",
    "content": "content",
    "untagged": "no tag",
    "tag": "additive tag",
    "operator": "relation operator",
}
"""Every model's name in print, in the order of figures."""

ARMS = {
    **{f"M{size}-{order}": f"M = {size}, {order}" for size in (20, 50, 100) for order in ORDERS},
    "relations": "identical content",
}
"""Every arm's name in print, in the order of figures; another one is called as in config.yaml."""

_BY_ORDER: dict[str, tuple[str | int, ...]] = {"order": ORDERS}
_CASE: dict[str, tuple[str | int, ...]] = {
    "M": (20, 50, 100),
    "precision": ("float32", "float64"),
}

METRICS = {
    "accuracy": Metric(label="accuracy", factors=_BY_ORDER),
    "flip_rate": Metric(label="answers that flip", factors=_BY_ORDER, better="lower"),
    "max_logit_change": Metric(label="max |Δlogit|", factors=_BY_ORDER, better="lower"),
    "relative_logit_change": Metric(
        label="max |Δlogit| over the logits' spread", factors=_BY_ORDER, better="lower"
    ),
    "ceiling": Metric(label="ceiling without a tag"),
    "invariance_error": Metric(label="change of a logit", factors=_CASE, better="lower"),
    "witness_change": Metric(label="change of a logit when two entries swap"),
    "ceiling_error": Metric(label="recursion against enumeration", better="lower"),
}
