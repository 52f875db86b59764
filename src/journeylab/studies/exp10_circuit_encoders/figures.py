"""Figures of exp10."""

import pandas as pd

from journeylab import plotting as plot
from journeylab.plotting import StudyResults
from journeylab.plotting.captions import CURVES, SEEDS
from journeylab.studies.exp10_circuit_encoders.metrics import ARMS
from journeylab.studies.exp10_circuit_encoders.tables import GAIN, numbers, tabulate

_HEADS = tuple(arm for arm in ARMS if arm.startswith("heads-"))
_LAST = ("degree", "digits")


def _anchors(results: StudyResults, _: str, part: pd.DataFrame) -> plot.Lines:
    known = {"wiring-blind ceiling": "blind_ceiling", "most frequent answer": "commonest"}
    arm = part["arm"].iloc[0]
    return {name: results.anchor(metric, arm=arm) for name, metric in known.items()}


FIGURES: plot.Figures = {
    "accuracy": plot.multiples(
        "Accuracy on the test split; the ceiling is the best answer that depends on the types of "
        "the operations but not on their inputs, and empty rows were not trained. Twice the steps "
        f"would add up to {GAIN} to these encoders (one pilot seed). {SEEDS} Vertical lines are "
        "medians over seeds: of the exact ceiling, and of the most frequent answer in training.",
        "accuracy",
        {"arm": _LAST},
        height=(0.75, 0.13),
        labels=("accuracy", ""),
        lines=_anchors,
        col="data",
        xlim=(0.0, 1.05),
    ),
    "heads": plot.multiples(
        "Accuracy on the test split for degrees, with other heads: the mean over nodes, attention "
        "pooling, or a special token. Symbols and lines as before.",
        "accuracy",
        {"arm": _HEADS},
        height=(0.75, 0.13),
        labels=("accuracy", ""),
        lines=_anchors,
        col="data",
        xlim=(0.0, 1.05),
    ),
    "learning": plot.multiples(
        f"Accuracy on the test split against the training step. {CURVES} The horizontal lines are "
        "those of the first figure.",
        "accuracy",
        {"arm": _LAST},
        curve=True,
        height=2.4,
        labels=("step", "accuracy"),
        form=plot.curves,
        lines=_anchors,
        col="data",
        sharex=False,
        ylim=(0.0, 1.05),
    ),
}
