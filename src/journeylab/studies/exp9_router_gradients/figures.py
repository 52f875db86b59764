"""Figures, tables and numbers of exp9."""

import pandas as pd
from matplotlib.figure import Figure

from journeylab.plotting import StudyResults, Table, median
from journeylab.studies.exp9_router_gradients.metrics import LABELS

CAPTIONS: dict[str, str] = {}


def draw(results: StudyResults) -> dict[str, Figure]:
    """None yet."""
    del results
    return {}


def tabulate(results: StudyResults) -> dict[str, Table]:
    """The hard error of every estimator."""
    rows = []
    for name, label in LABELS.items():
        found = results.pool("hard_mse", arm="training", variant=name, budget="long")
        rows.append([label, median(found["value"])])
    frame = pd.DataFrame(rows, columns=["Estimator", "Error"])
    return {"errors": Table(name="errors", caption="Hard test error.", frame=frame)}


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """None yet."""
    del results
    return {}
