"""Figures of exp6."""

from collections.abc import Collection

import pandas as pd

from journeylab import plotting as plot
from journeylab.plotting import Lines, StudyResults
from journeylab.studies.exp6_coupling_rank.printed import (
    FITTED,
    FREQUENCY_NAMES,
    LABELLED,
    WHOLE,
    tabulate,
)
from journeylab.studies.exp6_coupling_rank.settings import ARITHMETICS, HEADS, JOURNEYS, STACKED, D

LOWEST = 1e-8
"""Errors below this are drawn at it."""
_CEILING = {"position-blind ceiling": "blind_ceiling"}


def name_heads(results: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """Models, with their number of heads if they have one."""
    heads = {results.labels[variant]: f"{results.labels[variant]}, H = {D}" for variant in STACKED}
    return rows.assign(case=rows["model"].cat.rename_categories(heads))


def references(results: StudyResults, _: str, part: pd.DataFrame) -> Lines:
    """A journey head; of labels also the most frequent noisy one, and the ceiling without t."""
    arm = part["arm"].iloc[0]
    trained = (results.anchor("accuracy", arm=arm, variant=head) for head in JOURNEYS)
    journey = {"journey": next((middle for middle in trained if middle is not None), None)}
    noisy = {"most frequent noisy label": "memory"}
    return journey | noisy | _CEILING if arm in LABELLED else journey


def least_errors(results: StudyResults, _: str, part: pd.DataFrame) -> Lines:
    """The smallest errors of H separable terms."""
    least = results.pool("eckart_young", arm=part["arm"].iloc[0], variant="separable")
    line = least.groupby("H")["value"].median().clip(lower=LOWEST).to_numpy(float)
    return {"Eckart–Young": (range(len(line)), line)}


def _by_heads(arms: Collection[str]) -> plot.Draw:
    return plot.multiples(
        "accuracy",
        {"arm": arms, "variant": STACKED},
        labels=("heads H", "accuracy"),
        form=plot.curves,
        lines=references,
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
        rows=name_heads,
        lines={"journey": None, "most frequent noisy label": None, **_CEILING},
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
        clip=(LOWEST, None),
        lines=least_errors,
        limits={"yscale": "log"},
        x="H",
        col="data",
        col_wrap=2,
        ylim=(LOWEST / 2, 2.0),
    ),
    "spectrum": plot.multiples(
        "singular_value",
        {"arm": "rank"},
        height=1.7,
        labels=("i", "σᵢ / σ₁"),
        names={"frequencies": FREQUENCY_NAMES},
        clip=(1e-33, None),
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
