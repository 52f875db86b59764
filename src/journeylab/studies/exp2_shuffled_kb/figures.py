"""Figures of exp2."""

from journeylab import plotting as plot
from journeylab.studies.exp2_shuffled_kb import panels
from journeylab.studies.exp2_shuffled_kb.settings import ORDERS, VARIANTS
from journeylab.studies.exp2_shuffled_kb.tables import numbers, tabulate

_TESTED = {order: f"tested {order}" for order in ORDERS}
_TRAINED = [f"trained {order}" for order in ORDERS]

FIGURES: plot.Figures = {
    "sizes": plot.multiples(
        "accuracy",
        panels.lookups,
        height=1.45,
        labels=("entries M", "accuracy"),
        names={"order": _TESTED},
        rows=panels.add_conditions,
        lines=panels.keyless_by_size,
        x="M",
        row="trained",
        row_order=_TRAINED,
        col="order",
        ylim=(0.0, 1.05),
    ),
    "orders": plot.multiples(
        {title: ("accuracy", {"order": order}) for order, title in _TESTED.items()}
        | {"answers that flip": "flip_rate"},
        panels.lookups,
        height=1.45,
        rows=panels.smallest,
        limits=panels.size_below,
        lines=panels.keyless,
        row="trained",
        row_order=_TRAINED,
        col="measure",
        col_order=[*_TESTED.values(), "answers that flip"],
        xlim=(-0.03, 1.05),
    ),
    "logits": plot.multiples(
        {order: ("max_logit_change", {"order": order}) for order in ORDERS},
        panels.lookups,
        height=1.75,
        labels=("max |Δlogit|", ""),
        rows=panels.changes,
        limits=panels.decades,
        lines={"tolerance": 1e-4},
        shown=_TRAINED,
        hue="trained",
        col="M",
    ),
    "relations": plot.multiples(
        "accuracy",
        {"variant": VARIANTS["relations"], "order": "shuffled"},
        height=(0.55, 0.22),
        labels=("accuracy", ""),
        lines=panels.untagged,
        col="data",
        xlim=(0.0, 1.05),
    ),
    "learning": plot.multiples(
        {order: f"accuracy_{order}" for order in ORDERS},
        curve=True,
        height=1.4,
        labels=("step", "accuracy"),
        rows=panels.in_training_order,
        col="data",
        col_wrap=4,
        sharex=False,
        ylim=(0.0, 1.05),
    ),
}
