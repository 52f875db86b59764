"""The figures of a study: a table of names, and how each is drawn."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from journeylab.plotting.plots import (
    Lines,
    anchors,
    canvas,
    curves,
    facets,
    label_right,
    legend_above,
    plain_ticks,
    seeds,
)
from journeylab.plotting.results import Level, StudyResults, in_names, in_order
from journeylab.plotting.style import SMALLEST, Style, styles
from journeylab.wording.rows import Row, StudyRows
from journeylab.wording.verdicts import tag

Draw = Callable[[StudyResults], Figure | None]
"""Draws a figure, or returns None where its runs are missing."""
Figures = Mapping[str, Draw]
"""The figures of a study by name; the first stands on the first page of its report."""


def draw_figures(figures: Figures, results: StudyResults) -> dict[str, Figure]:
    """The figures for which there are results, by name."""
    drawn = {name: draw(results) for name, draw in figures.items()}
    made = {name: figure for name, figure in drawn.items() if figure is not None}
    for figure in made.values():
        for axes in figure.axes:
            plain_ticks(axes)
    return made


Form = Callable[..., None]
"""How seeds are drawn: :func:`seeds` or :func:`curves`."""
Where = Mapping[str, Level]
"""The levels of factors at which a metric is shown."""
_NONE: Mapping[str, Any] = MappingProxyType({})


def multiples(
    metrics: str | Mapping[str, str | tuple[str, Where]],
    where: Where | Callable[[StudyResults], Where] = _NONE,
    *,
    height: float | tuple[float, float] = 1.4,
    labels: tuple[str, str] = ("", ""),
    names: Mapping[str, Mapping[Any, str]] = _NONE,
    clip: tuple[float | None, float | None] = (None, None),
    rows: Callable[[StudyResults, pd.DataFrame], pd.DataFrame] = lambda results, rows: rows,
    limits: Mapping[str, Any] | Callable[[Any, pd.DataFrame], Mapping[str, Any]] = _NONE,
    curve: bool = False,
    form: Form = seeds,
    shown: Mapping[str, Style] | Iterable[str] | None = None,
    lines: Lines | Callable[[StudyResults, Any, pd.DataFrame], Lines] = _NONE,
    **options: Any,
) -> Draw:
    """A figure of small multiples: a metric at some levels, filtered, named, and drawn in panels.

    Several ``metrics`` by title, each with levels of its own if it is a pair, have their titles in
    the column ``measure``; of a ``curve`` they are recorded in training, and drawn as curves, else
    in ``form``. ``names`` are the printed names of levels by factor, in their order: other levels
    are left out. Values are at least and at most the ends of ``clip``. ``rows`` changes the table
    last. A pair as ``height`` is that of an empty panel and what each level of ``y`` adds.
    ``labels`` are those of x and y. ``shown`` are the styles of ``hue``, or all its levels; without
    it, models have their own and others those of the levels that are present. ``lines`` are
    :func:`anchors`, or a function of results, facet and its rows; a text is a metric, whose median
    over the seeds of a panel is the line. ``limits`` are set on the axes, or a function of facet
    and all rows. Of ``options``, x, y, hue and units go to the form, the others to :func:`facets`,
    or to the axes if there is neither ``row`` nor ``col``. A legend is above; without rows there is
    no figure.
    """
    encoding = {name: options.pop(name) for name in ("x", "y", "hue", "units") if name in options}
    drawn = curves if curve else form

    def draw(results: StudyResults) -> Figure | None:
        levels = where(results) if callable(where) else where
        table = _gather(results, metrics, levels, curve)
        if table.empty or not names.keys() <= set(table):  # nothing was measured
            return None
        for factor, printed in names.items():
            table = table[table[factor].isin(list(printed))]
            table = table.assign(**{factor: in_names(table[factor], printed)})
        table = rows(results, table.assign(value=table["value"].clip(*clip)))
        if table.empty:
            return None
        high, each = height if isinstance(height, tuple) else (height, 0.0)
        if each:
            high += each * table[encoding.get("y", "model")].nunique()
        if options.keys() & {"row", "col"}:
            figure, panels = facets(table, high, *labels, **options)
        else:
            figure, axes = canvas(high, *labels)
            axes.set(**options)
            panels = {None: (axes, table)}
        of_hue = _styles(results, table, encoding.get("hue", "model"), shown)
        for level, (axes, part) in panels.items():
            axes.set(**(limits(level, table) if callable(limits) else limits))
            drawn(axes, part, of_hue, **encoding)
            known = lines(results, level, part) if callable(lines) else lines
            known = {name: _read(results, line, part, names) for name, line in known.items()}
            anchors(axes, known, x=drawn is seeds and encoding.get("x", "value") == "value")
        return legend_above(figure)

    return draw


def _read(
    results: StudyResults, line: Any, part: pd.DataFrame, names: Mapping[str, Mapping[Any, str]]
) -> Any:
    """A line, or the anchor that it names, in the arms and at the levels of a panel's rows."""
    if not isinstance(line, str):
        return line
    metric, where = results.names.metrics.get(line), {}
    for factor in ("arm", *(metric.factors if metric else ())):
        if factor in part:
            shown = part[factor].unique()
            known = names.get(factor, {level: level for level in shown})
            where[factor] = [level for level, name in known.items() if name in shown]
    return results.anchor(line, **where)


def _styles(
    results: StudyResults,
    table: pd.DataFrame,
    hue: str,
    shown: Mapping[str, Style] | Iterable[str] | None,
) -> Mapping[str, Style]:
    if isinstance(shown, Mapping) or (shown is None and hue == "model"):
        return results.styles if shown is None else shown
    if shown is None:
        column = table[hue]
        shown = column.cat.categories if column.dtype == "category" else column.unique()
    return styles(shown)


def _gather(
    results: StudyResults,
    metrics: str | Mapping[str, str | tuple[str, Where]],
    where: Where,
    curve: bool,
) -> pd.DataFrame:
    """The rows of one metric, or of several with the title of each as ``measure``."""
    of = results.learning if curve else results.tidy
    if isinstance(metrics, str):
        return of(metrics, **where)
    tables = []
    for title, metric in metrics.items():
        name, own = (metric, {}) if isinstance(metric, str) else metric
        tables.append(of(name, **{**where, **own}).assign(measure=title))
    tables = [table for table in tables if len(table)] or tables[:1]
    joined = pd.concat(tables, ignore_index=True)
    for column, names in (("data", results.arms), ("model", results.labels)):
        joined[column] = in_order(joined[column], {name: name for name in names.values()})
    runs = joined.sort_values(["data", "model"], kind="stable")["run"].unique()
    return joined.assign(run=pd.Categorical(joined["run"], runs))


_ENDS = ("supported", "refuted", "withheld", "settled", "open", "depends")


def stopping(study: StudyRows) -> Figure | None:
    """The claims over seeds against the looks: a marker where each claim ended.

    None if the study has no sequential looks, or no claim that is judged at them.
    """
    rows = [row for row in study.verdicts if row.state]
    if not study.looks or not rows:
        return None
    names = [row.id.removeprefix("exp") for row in rows]
    table = pd.DataFrame(
        {"row": range(len(rows)), "seeds": [row.n for row in rows], "end": [*map(_end, rows)]}
    )
    figure, axes = canvas(0.155 * len(rows) + 0.62, "seeds, with ticks at the looks")
    drawn = styles(_ENDS)
    axes.hlines(table["row"], 0, table["seeds"], color="#c8c8c8", linewidth=1.0, zorder=1)
    sns.scatterplot(
        table,
        x="seeds",
        y="row",
        hue="end",
        style="end",
        palette={name: style.color for name, style in drawn.items()},
        markers={name: style.marker for name, style in drawn.items()},
        s=26,
        legend=False,
        ax=axes,
        zorder=3,
    )
    for height, row in enumerate(rows):
        label_right(axes, height, tag(row.word if row.state == "decided" else row.state))
    axes.set(ylabel="", ylim=(len(rows) - 0.4, -0.6))
    axes.set(xlim=(0, study.looks[-1] + 1), xticks=study.looks)
    axes.set_yticks(range(len(rows)), names)
    axes.tick_params(axis="y", length=0, labelsize=SMALLEST)
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x")
    return figure


def _end(row: Row) -> str:
    """The judge's verdict on a decided claim, or the state of another one."""
    return str(row.verdict if row.state == "decided" else row.state)
