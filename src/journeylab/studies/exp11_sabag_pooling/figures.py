"""Figures of exp11."""

from journeylab import plotting as plot
from journeylab.plotting.captions import AS_BEFORE, CURVES, SEEDS
from journeylab.studies.exp11_sabag_pooling import panels
from journeylab.studies.exp11_sabag_pooling.metrics import TASKS
from journeylab.studies.exp11_sabag_pooling.settings import (
    MULTIPLIERS,
    SCALES,
    SHAPES,
    TEMPERATURES,
)
from journeylab.studies.exp11_sabag_pooling.tables import numbers, tabulate

FIGURES: plot.Figures = {
    "accuracy": plot.multiples(
        "Token accuracy on the test strings, by task; for sorted strings also the share of strings "
        "with only correct symbols; the line is the exact ceiling of poolings that do not know the "
        f"order of their inputs. {SEEDS}",
        {"accuracy": ("accuracy", {"arm": TASKS}), "exact": ("exact", {"arm": "string-sorted"})},
        height=1.25,
        labels=("accuracy", ""),
        rows=panels.title_exact,
        lines=panels.ceiling,
        col="data",
        col_wrap=4,
        xlim=(-0.05, 1.05),
    ),
    "learning": plot.multiples(
        f"Token accuracy on the test strings against the training step. {CURVES} The horizontal "
        "line is the same ceiling.",
        "accuracy",
        {"arm": TASKS},
        curve=True,
        labels=("step", "accuracy"),
        form=plot.curves,
        lines=panels.ceiling,
        col="data",
        col_wrap=3,
        sharex=False,
        ylim=(-0.02, 1.05),
    ),
    "ratio": plot.multiples(
        "Norm of the embeddings' gradient divided by that of the queries' gradient, at the start, "
        "against the standard deviation of both; n inputs → k outputs. Each dot is one start; "
        "symbols as in the figures before. The line “printed” is the ratio of the norms that the "
        "document prints, 0.58 / 0.0049. The claim is judged where the queries' gradient has the "
        "printed norm, between 0.02 and 0.1 of the first panel.",
        "gradient_ratio",
        {"arm": "ratio"},
        height=1.7,
        labels=("standard deviation", "ratio"),
        names={
            "temperature": {f"{tau:g}": f"τ = {tau:g}" for tau in TEMPERATURES},
            "scale": {f"{scale:g}": f"{scale:g}" for scale in SCALES},
            "shape": {f"{n} → {k}": f"{n} → {k}" for n, k in SHAPES},
        },
        lines={"printed": 0.58 / 0.0049},
        limits={"yscale": "log", "ylim": (0.03, 3e4)},
        x="scale",
        y="value",
        hue="temperature",
        col="shape",
        col_wrap=3,
    ),
    "rates": plot.multiples(
        "Mean training loss of “abc” → “ab” against the rate of all weights but the queries, whose "
        "rate is the same or 1000 times higher. Small starts have standard deviation 0.1, unit "
        f"starts 1. {AS_BEFORE}",
        "mean_loss",
        {"arm": "rates"},
        height=1.7,
        labels=("base rate", "mean training loss"),
        names={"multiplier": {many: f"queries × {many}" for many in (1, MULTIPLIERS[-1])}},
        rows=panels.add_case,
        limits={"yscale": "log"},
        x="base",
        y="value",
        hue="multiplier",
        col="case",
        sharex=False,
    ),
}
