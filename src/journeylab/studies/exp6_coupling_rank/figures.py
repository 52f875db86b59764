"""Figures of exp6."""

from collections.abc import Collection

from journeylab import plotting as plot
from journeylab.studies.exp6_coupling_rank import panels
from journeylab.studies.exp6_coupling_rank.printed import (
    FITTED,
    FREQUENCY_NAMES,
    LABELLED,
    WHOLE,
    tabulate,
)
from journeylab.studies.exp6_coupling_rank.settings import ARITHMETICS, HEADS, STACKED, D


def _by_heads(arms: Collection[str]) -> plot.Draw:
    return plot.multiples(
        "accuracy",
        {"arm": arms, "variant": STACKED},
        labels=("heads H", "accuracy"),
        rows=panels.count_heads,
        form=plot.curves,
        lines=panels.references,
        limits={"xticks": HEADS},
        x="H",
        col="data",
        col_wrap=2,
        ylim=(0.0, 1.05),
    )


FIGURES: plot.Figures = {
    "fitted": _by_heads(FITTED),
    "heads": _by_heads(LABELLED),
    "models": plot.multiples(
        {
            "whole": ("accuracy", {"variant": WHOLE}),
            "stacked": ("accuracy", {"variant": STACKED, "H": D}),
        },
        {"arm": LABELLED},
        height=(0.5, 0.17),
        labels=("accuracy", ""),
        rows=panels.name_heads,
        lines=panels.ceiling,
        y="case",
        hue="model",
        col="data",
        col_wrap=2,
        xlim=(0.0, 1.05),
    ),
    "errors": plot.multiples(
        "squared_error",
        {"arm": FITTED, "variant": "separable"},
        height=1.5,
        labels=("heads H", "squared error"),
        rows=panels.clip_errors,
        lines=panels.least_errors,
        limits={"yscale": "log"},
        x="H",
        col="data",
        col_wrap=2,
        ylim=(panels.LOWEST / 2, 2.0),
    ),
    "spectrum": plot.multiples(
        "singular_value",
        {"arm": "rank"},
        height=1.7,
        labels=("i", "σᵢ / σ₁"),
        names={"frequencies": FREQUENCY_NAMES},
        rows=panels.clip_spectrum,
        shown=ARITHMETICS,
        limits={"yscale": "log"},
        x="i",
        hue="arithmetic",
        col="frequencies",
        ylim=(1e-34, 10.0),
    ),
    "learning": plot.multiples(
        {
            "whole": ("accuracy", {"variant": WHOLE}),
            "stacked": (f"accuracy_{D}", {"variant": STACKED}),
        },
        {"arm": LABELLED},
        curve=True,
        labels=("step", "accuracy"),
        col="data",
        col_wrap=2,
        ylim=(0.0, 1.05),
    ),
}
