"""Plot forms on seaborn: every seed, the median and its distribution-free interval."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Self

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.ticker import LogLocator, NullLocator
from numpy.typing import ArrayLike

from journeylab.claims import statistics
from journeylab.plotting.style import SMALLEST, TEXT, Style

Lines = Mapping[str, Any]
"""Reference lines by their names in the legend: numbers, a curve, or None for no line."""

_ANCHORS: tuple[dict[str, Any], ...] = (
    {"color": "#202020", "linewidth": 0.9, "linestyle": (0, (5, 2))},
    {"color": "#202020", "linewidth": 1.0, "linestyle": (0, (1, 1.2))},
    {"color": "#707070", "linewidth": 0.9, "linestyle": (0, (6, 1.5, 1, 1.5))},
    {"color": "#707070", "linewidth": 0.8, "linestyle": "-"},
    {"color": "#707070", "linewidth": 0.9, "linestyle": (0, (1, 3))},
)

Panel = tuple[Axes, pd.DataFrame]


def median_interval(values: ArrayLike) -> tuple[float, float]:
    """The 95 % interval [x₍k₎, x₍n+1−k₎] of the population median, as in verdicts.

    A missing value (NaN) counts as −∞ in the lower end and as ∞ in the upper end.
    """
    x = np.asarray(values, dtype=np.float64)
    return statistics.median_interval(x, statistics.interval_rank(len(x), 0.025))


class _Grid(sns.FacetGrid):  # type: ignore[misc]  # seaborn has no types
    """A grid without a first layout of seaborn's: the figure's engine makes the only one."""

    def tight_layout(self, *_: Any, **__: Any) -> Self:
        return self


def facets(
    rows: pd.DataFrame, height: float, x: str = "", y: str = "", **options: Any
) -> tuple[Figure, dict[Any, Panel]]:
    """Small multiples as wide as the text: the figure, and axes and rows by facet.

    ``options`` go to ``seaborn.FacetGrid``: row, col, col_wrap, sharex, ylim, …. A panel is
    ``height`` inches high; ``x`` and ``y`` label the outer axes. The key of a facet is its level,
    or the pair (row, column). Column names stand above the panels, row names beside them.
    """
    if "col_wrap" in options:
        options["col_wrap"] = min(options["col_wrap"], rows[options["col"]].nunique())
    grid = _Grid(rows, despine=False, **options)
    plt.close(grid.figure)
    down = len(np.unique([each.get_subplotspec().rowspan.start for each in grid.axes.flat]))
    grid.figure.set(layout_engine="constrained", size_inches=(TEXT, down * height + 0.3))
    grid.set_titles("{col_name}")
    grid.set_axis_labels(x, y)
    if grid.row_names:
        for each in grid.axes[1:].flat:
            each.set_title("")
        for each, name in zip(grid.axes[:, 0], grid.row_names, strict=True):
            each.set_ylabel(f"{name}\n{y}".strip())
    parts = {
        grid.facet_axis(i, j, modify_state=False): part for (i, j, _), part in grid.facet_data()
    }
    return grid.figure, {key: (each, parts[each]) for key, each in grid.axes_dict.items()}


def canvas(height: float, x: str = "", y: str = "") -> tuple[Figure, Axes]:
    """A figure as wide as the text, and its axes."""
    figure = Figure(figsize=(TEXT, height), layout="constrained")
    axes = figure.subplots()
    axes.set(xlabel=x, ylabel=y)
    return figure, axes


def seeds(
    axes: Axes,
    rows: pd.DataFrame,
    styles: Mapping[str, Style],
    *,
    x: str = "value",
    y: str | None = None,
    hue: str = "model",
) -> None:
    """Every seed as a faint dot; the median over seeds as a marker, its 95 % interval as a line.

    One of ``x`` and ``y`` is ``value``, the other the column of categories. Without ``y``, it is
    ``value`` where ``x`` is a category, else ``model``. Set limits and scale of the axes first:
    where failed seeds leave an interval unbounded, its line runs to the edge. ✗ beside the axes
    counts the rows without a value.
    """
    down = x == "value"
    y = y or ("model" if down else "value")
    shown = [name for name in styles if name in set(rows[hue])]
    if not shown:
        return
    category = y if down else x
    levels = rows[category]
    ordered = list(levels.cat.categories if levels.dtype == "category" else levels.unique())
    if pd.api.types.is_numeric_dtype(levels):
        ordered.sort()
    rows = rows.astype({hue: str})
    nested = rows.groupby(category, observed=True)[hue].nunique().max() > 1
    spread = 0.8 * (1 - 1 / len(shown)) if nested else 0.0
    given = {
        "x": x,
        "y": y,
        "order": ordered,
        "hue": hue,
        "hue_order": shown,
        "palette": {name: styles[name].color for name in shown},
        "orient": "y" if down else "x",
        "legend": False,
        "ax": axes,
    }
    axis_labels = axes.get_xlabel(), axes.get_ylabel()
    jitter = 0.14 if not spread else 0.07
    sns.stripplot(
        rows, **given, dodge=spread > 0, jitter=jitter, size=2.3, alpha=0.45, linewidth=0, zorder=2
    )
    sns.pointplot(
        rows,
        **given,
        dodge=spread or False,
        estimator=_median(axes.xaxis if down else axes.yaxis),
        errorbar=_interval(rows, [category, hue], axes.xaxis if down else axes.yaxis),
        markers=[styles[name].marker for name in shown],
        linestyles="none",
        markersize=4.4,
        markeredgecolor="white",
        markeredgewidth=0.35,
        linewidth=1.0,
        err_kws={"linewidth": 1.1},
        zorder=3,
    )
    axes.set(xlabel=axis_labels[0], ylabel=axis_labels[1])
    axes.grid(visible=False, axis="both")
    axes.grid(visible=True, axis="x" if down else "y")
    without = rows[rows["value"].isna()].groupby([category, hue], observed=True)
    counted: list[Any] = []
    for (level, name), lost in without:
        shift = spread * (shown.index(str(name)) / (len(shown) - 1) - 0.5) if spread else 0.0
        _count_failures(axes, ordered.index(level) + shift, len(lost), down, counted.count(level))
        counted.append(level)
    if hue != category:
        _name(axes, {name: styles[name] for name in shown}, lines=False)


def curves(
    axes: Axes,
    rows: pd.DataFrame,
    styles: Mapping[str, Style],
    *,
    x: str = "step",
    hue: str = "model",
    units: str = "seed",
) -> None:
    """Every seed as a thin line, the median over seeds as a thick one, its 95 % interval as a band.

    ✗ above the axes counts the seeds without a line.
    """
    shown = {name: style for name, style in styles.items() if name in set(rows[hue])}
    if not shown:
        return
    axis_labels = axes.get_xlabel(), axes.get_ylabel()
    rows = rows.astype({hue: str})
    palette = {name: style.color for name, style in shown.items()}
    given: dict[str, Any] = {"x": x, "y": "value", "hue": hue, "hue_order": list(shown)}
    given |= {"palette": palette, "legend": False, "ax": axes}
    sns.lineplot(rows, **given, units=units, estimator=None, linewidth=0.4, alpha=0.3, zorder=2)
    sns.lineplot(
        rows,
        **given,
        style=hue,
        dashes={name: style.dashes or "" for name, style in shown.items()},
        estimator=_median(axes.yaxis),
        errorbar=_interval(rows, [x, hue], axes.yaxis),
        err_kws={"alpha": 0.13, "linewidth": 0},
        zorder=3,
    )
    axes.set(xlabel=axis_labels[0], ylabel=axis_labels[1])
    if lost := len(rows.loc[rows["value"].isna(), [hue, units]].drop_duplicates()):
        axes.set_title(f"✗{lost}", loc="right")
    _name(axes, shown, lines=True)


def anchors(axes: Axes, lines: Lines, *, x: bool = False) -> None:
    """Ceilings, floors and chance, named in the legend; styled by their position in ``lines``.

    A number is a line across the axes (at this x, if ``x``), a list of numbers is several, a pair
    of arrays is a curve, and None is not drawn. Raises ValueError for more lines than there are
    styles.
    """
    if len(lines) > len(_ANCHORS):
        raise ValueError(f"{len(lines)} lines, but {len(_ANCHORS)} styles: {', '.join(lines)}")
    for (label, line), style in zip(lines.items(), _ANCHORS, strict=False):
        if isinstance(line, tuple):
            axes.plot(*line, **style, label=label, zorder=4)
        elif line is not None:
            for at in line if isinstance(line, list) else [line]:
                (axes.axvline if x else axes.axhline)(at, **style, label=label, zorder=1)


def legend_above(figure: Figure) -> Figure:
    """The figure with one legend above all axes; each label once, in as many columns as fit."""
    entries = {
        label: handle
        for each in figure.axes
        for handle, label in zip(*each.get_legend_handles_labels(), strict=True)
    }
    if entries:
        columns = int(TEXT / (0.48 + 0.058 * max(map(len, entries))))
        figure.legend(
            list(entries.values()), list(entries), loc="outside upper left", ncols=max(columns, 1)
        )
    return figure


def _median(axis: Axis) -> Callable[["pd.Series[float]"], float]:
    """The median; seaborn passes logarithms if the axis is logarithmic."""
    scale = axis.get_transform()
    back = scale.inverted()
    return lambda values: float(scale.transform([np.median(back.transform(values.to_numpy()))])[0])


def _interval(
    rows: pd.DataFrame, group: list[str], axis: Axis
) -> Callable[["pd.Series[float]"], tuple[float, float]]:
    """The ``errorbar`` of seaborn; rows of the group without a value count as missing."""
    missing = rows["value"].isna().groupby([rows[name] for name in group], observed=True)
    lost = missing.transform("sum")
    edges = axis.get_transform().transform(np.array(axis.get_view_interval()))

    def ends(values: "pd.Series[float]") -> tuple[float, float]:
        failed = int(lost.loc[values.index[0]])
        low, high = median_interval(np.append(values, [np.nan] * failed))
        if len(values) + failed < 6:
            return math.nan, math.nan
        return max(low, float(edges.min())), min(high, float(edges.max()))

    return ends


def plain_ticks(axes: Axes) -> None:
    """Numbers on logarithmic axes without small exponents; more than powers below three decades."""
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log":
            axis.set_major_formatter("{x:g}")
            low, high = sorted(axis.get_view_interval())
            if high < 1000 * low:
                shown = (1, 1.5, 2, 3, 4, 5, 7) if high < 20 * low else (1, 3)
                axis.set_major_locator(LogLocator(subs=shown, numticks=15))
                axis.set_minor_locator(NullLocator())


def label_right(axes: Axes, height: float, text: str) -> None:
    """Write ``text`` to the right of the axes, at a height in units of the data."""
    axes.annotate(
        text,
        (1.0, height),
        xycoords=("axes fraction", "data"),
        xytext=(5, 0),
        textcoords="offset points",
        va="center",
        fontsize=SMALLEST,
    )


def _count_failures(axes: Axes, position: float, count: int, down: bool, line: int) -> None:
    """✗ and a number beside the axes; above them, ``line`` lines higher than the lowest."""
    axes.annotate(
        f"✗{count}",
        (1.0, position) if down else (position, 1.0),
        xycoords=("axes fraction", "data") if down else ("data", "axes fraction"),
        xytext=(2, 0) if down else (0, 1 + 7 * line),
        textcoords="offset points",
        ha="left" if down else "center",
        va="center" if down else "bottom",
        fontsize=SMALLEST,
    )
    if not down:
        counts = [
            text for each in axes.figure.axes for text in each.texts if "✗" in text.get_text()
        ]
        highest = max(text.xyann[1] for text in counts if isinstance(text, Annotation))
        for each in axes.figure.axes:
            each.set_title(each.get_title("left"), loc="left", pad=10 + highest)


def _name(axes: Axes, styles: Mapping[str, Style], *, lines: bool) -> None:
    """Add entries to the legend: a line or a marker."""
    for name, style in styles.items():
        kind = {"linestyle": style.line} if lines else {"linestyle": "none", "marker": style.marker}
        axes.plot([], [], color=style.color, label=name, **kind)
