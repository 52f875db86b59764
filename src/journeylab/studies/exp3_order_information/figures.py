"""Figures of exp3."""

from functools import partial

from journeylab import plotting as plot
from journeylab.plotting.captions import AS_BEFORE, CURVES, seed_dots
from journeylab.studies.exp3_order_information import panels
from journeylab.studies.exp3_order_information.information import (
    blind_ceiling,
    blind_count,
    blind_information,
)
from journeylab.studies.exp3_order_information.settings import LENGTHS
from journeylab.studies.exp3_order_information.tables import numbers, tabulate

_SEEDS = seed_dots(
    lines="vertical lines",
    failed="✗ counts failed seeds, which count as ±∞ in the intervals and not at all in medians",
)
_by_length = partial(plot.multiples, height=1.25, rows=panels.add_colours, x="N", y="value")
_by_probe = partial(
    _by_length, names={"probe": {"mlp": "MLP", "linear": "linear"}}, row="data", col="probe"
)

FIGURES: plot.Figures = {
    "information": plot.Drawn(
        panels.draw_information,
        "Information about the order, given the counts, that the aggregate carries when rounded to "
        "a grid of cell width ε, by enumeration of all strings of two colours. Precision increases "
        "to the right. Thin lines are draws of the values, thick lines medians over the draws. "
        "Horizontal lines are the maximum H(order | counts) for the same N. The dashed line is the "
        "precision law d·log₂(1 + range/ε) at the largest N and the median range: on average over "
        "its offset, no grid carries more. Mean pooling coincides with the sum.",
    ),
    "bits": _by_length(
        "V-information of the MLP probe about the colours at all positions of held-out strings, "
        f"against N. {_SEEDS} The dotted line is the maximum, N·log₂ C bits. The dashed line is "
        "the information of a reader that knows only the counts. Negative values mean overfitting: "
        "confident wrong answers cost more bits than not reading s at all.",
        "v_information",
        {"probe": "mlp", "strings": "held-out"},
        labels=("length N", "V-information, bits"),
        limits=panels.bits,
        lines=partial(panels.known, {"counts only": blind_information, "maximum": panels.maximum}),
        col="data",
        col_wrap=2,
        sharey=False,
    ),
    "positions": _by_probe(
        "Position accuracy of the MLP probe and of the linear probe on held-out strings, against "
        f"N. {AS_BEFORE} The dashed line is the exact order-blind ceiling E[max n]/N, the best "
        "accuracy of a reader that knows only the counts.",
        "position_accuracy",
        {"strings": "held-out"},
        labels=("length N", "position accuracy"),
        limits=partial(panels.accuracies, 0.2),
        lines=partial(panels.known, {"order-blind ceiling": blind_ceiling}),
    ),
    "counts": _by_probe(
        "Count accuracy on held-out strings, the share of right counts over all colours, against "
        f"N. {AS_BEFORE} The dashed line is the exact floor max P(n = k), the accuracy of the best "
        "constant answer, which does not use s. The dotted line is the claimed margin 0.99.",
        "count_accuracy",
        {"strings": "held-out"},
        labels=("length N", "count accuracy"),
        limits=partial(panels.accuracies, 0.0),
        lines=partial(
            panels.known, {"best constant answer": blind_count, "margin 0.99": lambda *_: 0.99}
        ),
    ),
    "training": plot.multiples(
        "Position accuracy of the MLP probe on held-out strings at the largest N, against the "
        f"training step. {CURVES}",
        f"position_accuracy_{max(LENGTHS)}",
        curve=True,
        height=1.35,
        labels=("step", "position accuracy"),
        form=plot.curves,
        col="data",
        col_wrap=2,
    ),
}
