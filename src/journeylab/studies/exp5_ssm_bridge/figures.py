"""Figures, tables and numbers of exp5."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from journeylab.plotting import Look, StudyResults, Table, canvas, legend_above, looks
from journeylab.studies.exp5_ssm_bridge.settings import OPERATORS, PRECISIONS
from journeylab.typography import scientific

CAPTIONS = {
    "error": (
        "Relative error of the journey form against arbitrary-precision truth, over the length N. "
        "Every point is one draw, bars are medians. The dashed and dotted lines are the largest "
        "bound 100·u·N·G² of the draws, u the unit roundoff and G the largest norm of a power of R "
        "or R⁻¹; where the bound leaves the panel its value at the largest N is written instead. "
        "Draws that overflowed their precision have no error and are counted at the top."
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

_TITLES = {
    "rotation": "rotation",
    "orthogonal": "orthogonal",
    "contracted": "contracted",
    "nonnormal": "non-normal",
    "growing": "growing",
}
_CASE = ["operator", "precision", "N"]
_FLOOR, _CEILING = 1e-18, 1e5


def draw(results: StudyResults) -> dict[str, Figure]:
    """Error against N with its bound, the negative control, and the recurrence beside it."""
    return {
        "error": _against_length(results, "relative_error", bound=True),
        "control": _against_length(results, "negative_control_error", bound=False),
        "forms": _against_length(results, "recurrence_error", bound=False),
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
            _TITLES[operator],
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


def _against_length(results: StudyResults, metric: str, *, bound: bool) -> Figure:
    errors = results.select(metric)
    present = [o for o in OPERATORS if o in set(errors["operator"])]
    look = looks(PRECISIONS)
    figure, axes = canvas(1, len(present), height=2.25, sharey=True, sharex=True)
    lengths = sorted(int(n) for n in errors["N"].unique())
    for each, operator in zip(axes, present, strict=True):
        each.set_title(_TITLES[operator])
        each.set_xticks(range(len(lengths)), [str(n) for n in lengths])
        each.set(yscale="log", xlabel="length N", xlim=(-0.6, len(lengths) - 0.4))
        for side, precision in ((-1, "float32"), (1, "float64")):
            rows = errors[(errors["operator"] == operator) & (errors["precision"] == precision)]
            _draws(each, rows, lengths, look[precision], side, precision)
            if bound:
                limit = results.select("bound", operator=operator, precision=precision)
                _bound(each, limit, lengths, look[precision], precision)
        if bound:
            each.set_ylim(_FLOOR, _CEILING)
        elif metric == "negative_control_error":
            each.set_ylim(1e-3, 1e2)
            each.axhline(1.0, color="#555555", lw=0.8, ls=(0, (4, 2)))
        else:
            each.set_ylim(_FLOOR, 1e0)
        each.minorticks_off()
    axes[0].set_ylabel("relative error")
    legend_above(figure, axes)
    return figure


def _draws(
    axes: Axes, rows: pd.DataFrame, lengths: list[int], look: Look, side: int, label: str
) -> None:
    for i, length in enumerate(lengths):
        values = rows.loc[rows["N"] == length, "value"].to_numpy()
        seen = values[np.isfinite(values)]
        at = i + 0.16 * side
        across = at + (np.arange(len(seen)) % 5 - 2) * 0.035
        axes.scatter(
            across,
            np.maximum(seen, _FLOOR),
            s=8,
            marker=look.marker,
            color=look.color,
            alpha=0.5,
            linewidth=0,
            label=label,
            zorder=3,
        )
        if len(seen):
            bar = [np.median(seen)] * 2
            axes.plot([at - 0.13, at + 0.13], bar, color=look.color, lw=1.8, zorder=4)
        if lost := len(values) - len(seen):
            axes.annotate(
                f"{lost} of {len(values)}\noverflow",
                (at, 0.985),
                xycoords=("data", "axes fraction"),
                ha="center",
                va="top",
                fontsize=5.5,
                color=look.color,
            )


def _bound(axes: Axes, rows: pd.DataFrame, lengths: list[int], look: Look, precision: str) -> None:
    largest = rows.groupby("N")["value"].max().reindex(lengths).to_numpy()
    style = "--" if precision == "float32" else ":"
    axes.plot(
        range(len(lengths)),
        largest,
        color=look.color,
        ls=style,
        lw=1.0,
        label=f"bound, {precision}",
        zorder=2,
    )
    outside = [(i, b) for i, b in enumerate(largest) if b > _CEILING]
    if outside:
        i, value = outside[-1]
        power = f"10^{{{math.floor(math.log10(value))}}}" if math.isfinite(value) else r"\infty"
        axes.annotate(
            f"bound ${power}$",
            (i + 0.35, 0.72 if precision == "float32" else 0.66),
            xycoords=("data", "axes fraction"),
            ha="right",
            fontsize=5.5,
            color=look.color,
        )


def _finite_or_word(value: float) -> float | str:
    return value if math.isfinite(value) else "∞"
