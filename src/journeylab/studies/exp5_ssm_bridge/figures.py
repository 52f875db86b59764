"""Figures and tables of exp5."""

import math
from typing import Any

import pandas as pd

from journeylab import plotting as plot
from journeylab.plotting import StudyResults, Table
from journeylab.plotting.captions import seed_dots
from journeylab.studies.exp5_ssm_bridge.metrics import METRICS
from journeylab.studies.exp5_ssm_bridge.settings import OPERATORS, PRECISIONS
from journeylab.wording.typography import scientific

_DRAWS = seed_dots(
    "one draw",
    lines="vertical lines",
    failed="✗ counts draws that overflowed, which count as ±∞ in the intervals",
)
_CASE = ["operator", "precision", "N"]
_SMALLEST = 1e-18
_CHECKS: dict[str, tuple[str, ...]] = {
    "identity_error": ("operator",),
    "negative_control_error": ("operator",),
    "one_minus_cosine": ("operator", "precision"),
    "scan_error": ("precision",),
}
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
    errors = plot.table(
        "errors",
        "Largest relative errors over the draws: of the journey form, of the recurrence, and "
        "between both. Control: one power of R too many, with its smallest error and the range of "
        "its cosine.",
        rows,
        "∞: the result was not finite in its precision. –: the bound is at least 1 in every draw "
        "and therefore promises nothing.",
        words=2,
    )
    return {"errors": errors, "checks": plot.ranges(results, METRICS, _CHECKS)}


def _bounds(results: StudyResults, _: str, part: pd.DataFrame) -> plot.Lines:
    rows = results.select("bound", operator=list(part["operator"].unique()))
    largest = rows.groupby(["precision", "N"])["value"].max()
    return {f"bound, {p}": (range(len(of)), of) for p, of in largest.groupby("precision")}


def _against_length(
    caption: str, metric: str, limits: tuple[float, float], **options: Any
) -> plot.Drawn:
    return plot.multiples(
        caption,
        metric,
        rows=lambda _, rows: rows.assign(value=rows["value"].clip(_SMALLEST, limits[1])),
        height=1.9,
        labels=("length N", "relative error"),
        limits={"yscale": "log"},
        shown=PRECISIONS,
        x="N",
        y="value",
        hue="precision",
        col="model",
        ylim=limits,
        **options,
    )


FIGURES: plot.Figures = {
    "error": _against_length(
        "Relative error of the journey form against the length N; ✗ counts draws that overflowed. "
        f"The truth is computed in arbitrary precision. {_DRAWS} The dashed and dotted lines are "
        "the largest bound 100·u·N·G² over the draws, with the unit roundoff u and the largest "
        "norm G of a power of R or R⁻¹. Where powers grow, the bound leaves the panel; errors "
        "beyond the panel are drawn at its edge.",
        "relative_error",
        (_SMALLEST, 1e5),
        lines=_bounds,
    ),
    "control": _against_length(
        "Negative control: the journey form with one power of R too many, in arbitrary precision. "
        "If the comparison can detect a mistake, these errors are of order one at every length. "
        "The line at 1 marks an error as large as the state itself.",
        "negative_control_error",
        (0.03, 30.0),
        lines={"as large as the state": 1.0},
    ),
    "forms": _against_length(
        "Relative error of the recurrence, which needs no inverse, for the same draws. Errors of "
        "the journey form in excess of these are caused by the powers of R and R⁻¹.",
        "recurrence_error",
        (_SMALLEST, 1.0),
    ),
}
