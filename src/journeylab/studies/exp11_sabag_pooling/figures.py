"""Figures of exp11."""

from journeylab import plotting as plot
from journeylab.studies.exp11_sabag_pooling import panels
from journeylab.studies.exp11_sabag_pooling import settings as own
from journeylab.studies.exp11_sabag_pooling.tables import numbers, tabulate

FIGURES: plot.Figures = {
    "accuracy": plot.multiples(
        {
            "accuracy": ("accuracy", {"arm": panels.TASKS}),
            "exact": ("exact", {"arm": "string-sorted"}),
        },
        height=1.25,
        labels=("accuracy", ""),
        rows=panels.title_exact,
        lines=panels.ceiling,
        col="data",
        col_wrap=4,
        xlim=(-0.05, 1.05),
    ),
    "learning": plot.multiples(
        "accuracy",
        {"arm": panels.TASKS},
        curve=True,
        labels=("step", "accuracy"),
        lines=panels.ceiling,
        col="data",
        col_wrap=3,
        sharex=False,
        ylim=(-0.02, 1.05),
    ),
    "ratio": plot.multiples(
        "gradient_ratio",
        {"arm": "ratio"},
        height=1.7,
        labels=("standard deviation", "ratio"),
        names={
            "temperature": {f"{tau:g}": f"τ = {tau:g}" for tau in own.TEMPERATURES},
            "scale": {f"{scale:g}": f"{scale:g}" for scale in own.SCALES},
            "shape": {f"{n} → {k}": f"{n} → {k}" for n, k in own.SHAPES},
        },
        lines={"printed": 0.58 / 0.0049},
        limits={"yscale": "log", "ylim": (0.03, 3e4)},
        x="scale",
        hue="temperature",
        col="shape",
        col_wrap=3,
    ),
    "rates": plot.multiples(
        "mean_loss",
        {"arm": "rates"},
        height=1.7,
        labels=("base rate", "mean training loss"),
        names={"multiplier": {many: f"queries × {many}" for many in (1, own.MULTIPLIERS[-1])}},
        rows=panels.add_case,
        limits={"yscale": "log"},
        x="base",
        hue="multiplier",
        col="case",
        sharex=False,
    ),
}
