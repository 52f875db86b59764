"""Figures, tables and printed numbers of exp5."""

import math
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

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


def tabulate(results: StudyResults) -> dict[str, Table]:
    """The largest errors, and the range of the negative control, by operator, precision and N."""
    largest = {
        metric: results.select(metric).groupby(_CASE)["value"].max()
        for metric in ("relative_error", "recurrence_error", "disagreement", "error_over_bound")
    }
    least = results.select("negative_control_error").groupby(_CASE)["value"].min()
    columns = [column.reindex(least.index) for column in (*largest.values(), least)]
    cosines = results.select("negative_control_cosine").groupby(_CASE)["value"]
    low_cosine, high_cosine = cosines.min(), cosines.max()
    heads = ["Journey", "Recurrence", "Both", "Error / bound", "Control", "Its cosine"]
    rows = [
        [
            results.labels[operator],
            precision,
            str(n),
            *("–" if math.isnan(column[case]) else scientific(column[case]) for column in columns),
            f"{low_cosine[case]:.2f} … {high_cosine[case]:.2f}".replace("-", "−"),
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
            caption="Largest relative errors over the draws: of the journey form, of the "
            "recurrence, and between both. Control: one power of R too many, with its smallest "
            "error and the range of its cosine.",
            frame=shown,
            notes="∞: the result was not finite in its precision. –: the bound is at least 1 in "
            "every draw and therefore promises nothing.",
            numeric=("N", *heads),
        ),
        "checks": plot.ranges(
            results,
            METRICS,
            dict.fromkeys(("identity_error", "negative_control_error"), ("operator",))
            | {"one_minus_cosine": ("operator", "precision"), "scan_error": ("precision",)},
        ),
    }


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Counts of cases, overflows and lost states, and the ends of errors that the prose cites."""
    error = results.select("relative_error")["value"]
    lost = results.select("state_lost", operator="growing", precision="float64", N=200)["value"]
    cosines = results.select("negative_control_cosine", operator="growing")["value"]
    identity = float(results.select("identity_error")["value"].max())
    return {
        "cases": len(error),
        "overflows": int(np.isinf(error).sum()),
        "bounded": len(results.select("error_over_bound")),
        "lost": int((lost >= 1).sum()),
        "lost.of": len(lost),
        "identity_error.max": identity if math.isfinite(identity) else "∞",
        "negative_control_error.min": float(
            results.select("negative_control_error")["value"].min()
        ),
        "negative_control_cosine.growing.size": cosines.abs().median() if len(cosines) else "n/a",
    }


def _against_length(
    metric: str, limits: tuple[float, float], results: StudyResults
) -> Figure | None:
    rows = results.tidy(metric)
    figure, panels = plot.facets(
        rows.assign(value=rows["value"].clip(_SMALLEST, limits[1])),
        1.9,
        "length N",
        "relative error",
        col="model",
        ylim=limits,
    )
    for axes, part in panels.values():
        axes.set(yscale="log")
        plot.seeds(axes, part, plot.styles(PRECISIONS), x="N", y="value", hue="precision")
        if metric == "relative_error":
            bounds = results.select("bound", operator=list(part["operator"].unique()))
            largest = bounds.groupby(["precision", "N"])["value"].max()
            plot.anchors(
                axes, {f"bound, {p}": (range(len(largest[p])), largest[p]) for p in PRECISIONS}
            )
        elif metric == "negative_control_error":
            plot.anchors(axes, {"as large as the state": 1.0})
        axes.minorticks_off()
    return plot.legend_above(figure)


FIGURES: plot.Figures = {
    "error": plot.Drawn(
        partial(_against_length, "relative_error", (_SMALLEST, 1e5)),
        "Relative error of the journey form against the length N; the truth is computed in "
        f"arbitrary precision. {_DRAWS} The dashed and dotted lines are the largest bound "
        "100·u·N·G² over the draws, with the unit roundoff u and the largest norm G of a power of "
        "R or R⁻¹. Where powers grow, the bound leaves the panel; errors beyond the panel are "
        "drawn at its edge.",
    ),
    "control": plot.Drawn(
        partial(_against_length, "negative_control_error", (0.03, 30.0)),
        "Negative control: the journey form with one power of R too many, in arbitrary precision. "
        "If the comparison can detect a mistake, these errors are of order one at every length. "
        "The line at 1 marks an error as large as the state itself.",
    ),
    "forms": plot.Drawn(
        partial(_against_length, "recurrence_error", (_SMALLEST, 1.0)),
        "Relative error of the recurrence, which needs no inverse, for the same draws. Errors of "
        "the journey form in excess of these are caused by the powers of R and R⁻¹.",
    ),
}
