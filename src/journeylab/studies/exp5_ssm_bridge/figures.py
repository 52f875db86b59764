"""Figures, tables and numbers of exp5."""

import math

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from journeylab.plotting import StudyResults, Table, anchors, facets, legend_above, looks, seeds
from journeylab.studies.exp5_ssm_bridge.settings import OPERATORS, PRECISIONS
from journeylab.typography import scientific

CAPTIONS = {
    "error": (
        "Relative error of the journey form against arbitrary-precision truth, over the length N. "
        "Every dot is one draw, markers are medians, vertical lines their distribution-free 95 % "
        "intervals. The dashed and dotted lines are the largest bound 100·u·N·G² of the draws, u "
        "the unit roundoff and G the largest norm of a power of R or R⁻¹; it leaves the panel "
        "where powers grow, and errors beyond the panel stand at its edge. ✗ counts draws that "
        "overflowed their precision: they have no error, and intervals take them as lying anywhere."
    ),
    "control": (
        "Negative control: the journey form with one power of R too many, in arbitrary precision. "
        "A comparison that can fail shows errors of order one here, at every length. The line at 1 "
        "is an error as large as the state itself."
    ),
    "forms": (
        "The same states computed by the recurrence, which needs no inverse. What the first figure "
        "shows beyond this one is the price of the powers of R and R⁻¹."
    ),
}

_CASE = ["operator", "precision", "N"]
_LEAST = 1e-18


def draw(results: StudyResults) -> dict[str, Figure]:
    """Error against N with its bound, the negative control, and the recurrence beside it."""
    return {
        "error": _against_length(results, "relative_error", (_LEAST, 1e5)),
        "control": _against_length(results, "negative_control_error", (0.03, 30.0)),
        "forms": _against_length(results, "recurrence_error", (_LEAST, 1.0)),
    }


def tabulate(results: StudyResults) -> dict[str, Table]:
    """The largest value of every metric per operator, precision and N."""
    largest = {
        metric: results.select(metric).groupby(_CASE)["value"].max()
        for metric in ("relative_error", "recurrence_error", "disagreement", "error_over_bound")
    }
    least = results.select("negative_control_error").groupby(_CASE)["value"].min()
    columns = [column.reindex(least.index) for column in (*largest.values(), least)]
    cosines = results.select("negative_control_cosine").groupby(_CASE)["value"]
    least_cosine, most_cosine = cosines.min(), cosines.max()
    heads = ["Journey", "Recurrence", "Both", "Error / bound", "Control", "Its cosine"]
    rows = [
        [
            results.labels[operator],
            precision,
            str(n),
            *("–" if math.isnan(column[case]) else scientific(column[case]) for column in columns),
            f"{least_cosine[case]:.2f} … {most_cosine[case]:.2f}".replace("-", "−"),
        ]
        for operator in OPERATORS
        for precision in PRECISIONS
        for n in sorted(int(n) for n in results.measurements["N"].unique())
        if (case := (operator, precision, n)) in least.index
    ]
    shown = pd.DataFrame(rows, columns=["Operator", "Precision", "N", *heads])
    return {
        "errors": Table(
            name="errors",
            caption=(
                "Relative errors of the journey form, of the recurrence and between both: the "
                "largest over the draws of every case. Of the control, one power of R too many: "
                "the least error, and the range of its cosine."
            ),
            frame=shown,
            notes=(
                "∞: the result was not finite in its precision. –: the bound is not below 1 in any "
                "draw, and promises nothing."
            ),
            numeric=("N", *heads),
        )
    }


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Draws, overflows, the largest errors and the certificate in arbitrary precision."""
    found: dict[str, float | int | str] = {}
    error = results.select("relative_error")
    found["draws"] = int(error["draw"].nunique())
    found["overflows"] = int(np.isinf(error["value"]).sum())
    found["cases"] = len(error)
    identity = results.select("identity_error")["value"]
    found["identity_error.max"] = _finite_or_word(float(identity.max()))
    control = results.select("negative_control_error")["value"]
    found["negative_control_error.min"] = _finite_or_word(float(control.min()))
    cosine = results.select("negative_control_cosine")
    for operator, rows in cosine.groupby("operator")["value"]:
        found[f"negative_control_cosine.{operator}.min"] = float(rows.min())
        found[f"negative_control_cosine.{operator}.max"] = float(rows.max())
        found[f"negative_control_cosine.{operator}.size"] = float(rows.abs().median())
    found["bounded"] = len(results.select("error_over_bound"))
    lost = results.select("state_lost", operator="growing", precision="float64", N=200)["value"]
    found["lost"], found["lost.of"] = int((lost >= 1).sum()), len(lost)
    for metric in ("relative_error", "recurrence_error", "one_minus_cosine", "error_over_bound"):
        values = results.select(metric)
        for operator in OPERATORS:
            for precision in PRECISIONS:
                here = (values["operator"] == operator) & (values["precision"] == precision)
                if here.any():
                    largest = float(values.loc[here, "value"].max())
                    found[f"{metric}.{operator}.{precision}.max"] = _finite_or_word(largest)
    return found


def _against_length(results: StudyResults, metric: str, limits: tuple[float, float]) -> Figure:
    rows = results.tidy(metric)
    figure, panels = facets(
        rows.assign(value=rows["value"].clip(_LEAST, limits[1])),
        1.9,
        "length N",
        "relative error",
        col="model",
        ylim=limits,
    )
    for axes, part in panels.values():
        axes.set(yscale="log")
        seeds(axes, part, looks(PRECISIONS), x="N", y="value", hue="precision")
        if metric == "relative_error":
            bounds = results.select("bound", operator=list(part["operator"].unique()))
            largest = bounds.groupby(["precision", "N"])["value"].max()
            anchors(axes, {f"bound, {p}": (range(len(largest[p])), largest[p]) for p in PRECISIONS})
        elif metric == "negative_control_error":
            anchors(axes, {"as large as the state": 1.0})
        axes.minorticks_off()
    legend_above(figure)
    return figure


def _finite_or_word(value: float) -> float | str:
    return value if math.isfinite(value) else "∞"
