"""Figures of exp10."""

import pandas as pd

from journeylab import plotting as plot
from journeylab.plotting import StudyResults
from journeylab.studies.exp10_circuit_encoders.tables import numbers, tabulate

_HEADS = ("heads-mean", "heads-attention", "heads-token")
_LAST = ("degree", "digits")


def _anchors(results: StudyResults, _: str, part: pd.DataFrame) -> plot.Lines:
    known = {"wiring-blind ceiling": "blind_ceiling", "most frequent answer": "commonest"}
    arm = part["arm"].iloc[0]
    return {name: results.anchor(metric, arm=arm) for name, metric in known.items()}


def _by_encoder(arms: tuple[str, ...]) -> plot.Draw:
    return plot.multiples(
        "accuracy",
        {"arm": arms},
        height=(0.75, 0.13),
        labels=("accuracy", ""),
        lines=_anchors,
        col="data",
        xlim=(0.0, 1.05),
    )


FIGURES: plot.Figures = {
    "accuracy": _by_encoder(_LAST),
    "heads": _by_encoder(_HEADS),
    "learning": plot.multiples(
        "accuracy",
        {"arm": _LAST},
        curve=True,
        height=2.4,
        labels=("step", "accuracy"),
        lines=_anchors,
        col="data",
        sharex=False,
        ylim=(0.0, 1.05),
    ),
}
