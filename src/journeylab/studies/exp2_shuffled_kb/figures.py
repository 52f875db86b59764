"""Figures of exp2."""

from journeylab import plotting as plot
from journeylab.plotting.captions import AS_BEFORE, CURVES, seed_dots
from journeylab.studies.exp2_shuffled_kb import panels
from journeylab.studies.exp2_shuffled_kb.settings import ORDERS, VARIANTS
from journeylab.studies.exp2_shuffled_kb.tables import numbers, tabulate

_TESTED = {order: f"tested {order}" for order in ORDERS}
_TRAINED = [f"trained {order}" for order in ORDERS]

FIGURES: plot.Figures = {
    "sizes": plot.multiples(
        "Accuracy against the number of entries M, by the order of entries in training (rows) and "
        "in the test (columns); dashed and dotted lines are readers that see no keys. "
        f"{seed_dots(lines='vertical lines')} The readers are chance and the best accuracies "
        "without keys: the most frequent value and, for sorted entries, the vote of the slots, "
        "each weighted by the probability that it holds the key.",
        "accuracy",
        panels.lookups,
        height=1.45,
        labels=("entries M", "accuracy"),
        names={"order": _TESTED},
        rows=panels.add_conditions,
        lines=panels.keyless_by_size,
        x="M",
        y="value",
        row="trained",
        row_order=_TRAINED,
        col="order",
        ylim=(0.0, 1.05),
    ),
    "orders": plot.multiples(
        "The smallest repositories, by the order of entries in training (rows): accuracy in the "
        "test, and the share of answers that flip when the entries are permuted from the training "
        "order (last column). Symbols and anchors as in Figure 1, but horizontal lines are "
        "intervals here and vertical lines anchors. Empty rows were not run.",
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
        "Largest change of any logit, over all held-out repositories, when the entries are "
        "permuted from the training order, by the number of entries M. For heads with content "
        "operators or no operators only rounding errors of single precision remain. The dashed "
        "line is the tolerance of the exact claim. " + AS_BEFORE,
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
        "Accuracy on repositories in which all entries of a subject have the same key. "
        f"{AS_BEFORE} The lines are chance and the exact ceiling of a reader that cannot "
        "distinguish these entries.",
        "accuracy",
        {"variant": VARIANTS["relations"], "order": "shuffled"},
        height=(0.55, 0.22),
        labels=("accuracy", ""),
        lines=panels.untagged,
        col="data",
        xlim=(0.0, 1.05),
    ),
    "learning": plot.multiples(
        "Accuracy on held-out repositories in the training order against the training step. "
        + CURVES,
        {order: f"accuracy_{order}" for order in ORDERS},
        curve=True,
        height=1.4,
        labels=("step", "accuracy"),
        rows=panels.in_training_order,
        form=plot.curves,
        col="data",
        col_wrap=4,
        sharex=False,
        ylim=(0.0, 1.05),
    ),
}
