"""Figures of exp11."""

import pandas as pd

from journeylab import plotting as plot
from journeylab.plotting import StudyResults
from journeylab.studies.exp11_sabag_pooling import settings as own
from journeylab.studies.exp11_sabag_pooling.tables import numbers, tabulate

_TASKS = (
    *("string-first2", "string-copy", "string-reverse", "string-sorted"),
    *("string-extremes", "string-double", "sentence"),
)
"""The arms that are trained."""
_CEILING = {"permutation-invariant ceiling": "ceiling"}


def _title_exact(results: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """Panels of tasks; exact matches in a panel of their own, beside the accuracy."""
    ends = {"accuracy": "", "exact": ", exact match"}
    titles = [f"{results.arms[arm]}{end}" for arm in _TASKS for end in ends.values()]
    title = pd.Categorical(rows["data"].astype(str) + rows["measure"].map(ends), titles)
    return rows.assign(data=title.remove_unused_categories())


def _add_case(_: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """Optimiser and start as the case of a panel; base rates in their order."""
    in_order = rows.sort_values("base", key=lambda base: base.astype(float), kind="stable")
    return in_order.assign(case=in_order["optimiser"] + ", " + in_order["scale"] + " start")


FIGURES: plot.Figures = {
    "accuracy": plot.multiples(
        {
            "accuracy": ("accuracy", {"arm": _TASKS}),
            "exact": ("exact", {"arm": "string-sorted"}),
        },
        height=1.25,
        labels=("accuracy", ""),
        rows=_title_exact,
        lines=_CEILING,
        col="data",
        col_wrap=4,
        xlim=(-0.05, 1.05),
    ),
    "learning": plot.multiples(
        "accuracy",
        {"arm": _TASKS},
        curve=True,
        labels=("step", "accuracy"),
        lines=_CEILING,
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
        rows=_add_case,
        limits={"yscale": "log"},
        x="base",
        hue="multiplier",
        col="case",
        sharex=False,
    ),
}
