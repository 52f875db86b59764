"""Figures of exp3."""

from functools import partial

from journeylab import plotting as plot
from journeylab.studies.exp3_order_information import panels
from journeylab.studies.exp3_order_information.information import (
    blind_ceiling,
    blind_count,
    blind_information,
)
from journeylab.studies.exp3_order_information.settings import LENGTHS
from journeylab.studies.exp3_order_information.tables import numbers, tabulate

_by_length = partial(plot.multiples, height=1.25, rows=panels.add_colours, x="N")
_by_probe = partial(
    _by_length, names={"probe": {"mlp": "MLP", "linear": "linear"}}, row="data", col="probe"
)

FIGURES: plot.Figures = {
    "information": panels.draw_information,
    "bits": _by_length(
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
        "position_accuracy",
        {"strings": "held-out"},
        labels=("length N", "position accuracy"),
        limits=partial(panels.accuracies, 0.2),
        lines=partial(panels.known, {"order-blind ceiling": blind_ceiling}),
    ),
    "counts": _by_probe(
        "count_accuracy",
        {"strings": "held-out"},
        labels=("length N", "count accuracy"),
        limits=partial(panels.accuracies, 0.0),
        lines=partial(
            panels.known, {"best constant answer": blind_count, "margin 0.99": lambda *_: 0.99}
        ),
    ),
    "training": plot.multiples(
        f"position_accuracy_{max(LENGTHS)}",
        curve=True,
        height=1.35,
        labels=("step", "position accuracy"),
        col="data",
        col_wrap=2,
    ),
}
