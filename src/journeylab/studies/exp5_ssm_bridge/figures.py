"""Figures and tables of exp5."""

import math
from typing import Any

import pandas as pd

from journeylab import plotting as plot
from journeylab.plotting import StudyResults, Table
from journeylab.studies.exp5_ssm_bridge.settings import OPERATORS, PRECISIONS
from journeylab.wording.typography import scientific

_CASE = ["operator", "precision", "N"]
_SMALLEST = 1e-18
_LARGEST = {
    "Journey": "relative_error",
    "Recurrence": "recurrence_error",
    "Both": "disagreement",
    "Error / bound": "error_over_bound",
}


def tabulate(results: StudyResults) -> dict[str, Table]:
    """The largest errors, and the range of the negative control, by operator, precision and N."""

    def grouped(metric: str) -> Any:
        return results.select(metric).groupby(_CASE)["value"]

    largest = {head: grouped(metric).max() for head, metric in _LARGEST.items()}
    ends = pd.DataFrame(largest | {"Control": grouped("negative_control_error").min()})
    cosines = grouped("negative_control_cosine")
    low, high = cosines.min(), cosines.max()
    rows = [
        {"Operator": results.labels[case[0]], "Precision": case[1], "N": f"{case[2]:.0f}"}
        | {head: "–" if math.isnan(x) else scientific(x) for head, x in ends.loc[case].items()}
        | {"Its cosine": f"{low[case]:.2f} … {high[case]:.2f}".replace("-", "−")}
        for case in sorted(ends.index, key=lambda case: OPERATORS.index(case[0]))
    ]
    return {"errors": plot.table(rows, words=2)}


def _bounds(results: StudyResults, _: str, part: pd.DataFrame) -> plot.Lines:
    rows = results.select("bound", operator=list(part["operator"].unique()))
    largest = rows.groupby(["precision", "N"])["value"].max()
    return {f"bound, {p}": (range(len(of)), of) for p, of in largest.groupby("precision")}


def _against_length(metric: str, limits: tuple[float, float], **options: Any) -> plot.Draw:
    return plot.multiples(
        metric,
        clip=(_SMALLEST, limits[1]),
        height=1.9,
        labels=("length N", "relative error"),
        limits={"yscale": "log"},
        shown=PRECISIONS,
        x="N",
        hue="precision",
        col="model",
        ylim=limits,
        **options,
    )


FIGURES: plot.Figures = {
    "error": _against_length("relative_error", (_SMALLEST, 1e5), lines=_bounds),
    "control": _against_length(
        "negative_control_error",
        (0.03, 30.0),
        lines={"as large as the state": 1.0},
    ),
    "forms": _against_length("recurrence_error", (_SMALLEST, 1.0)),
}
