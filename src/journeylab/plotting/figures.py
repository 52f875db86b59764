"""The figures of a study: a table of names, how each is drawn, and its caption."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from journeylab.plotting.plots import Lines, anchors, canvas, facets, legend_above, seeds
from journeylab.plotting.results import StudyResults
from journeylab.plotting.style import Style


class Drawn(NamedTuple):
    """How a figure is drawn, and its caption; ``draw`` returns None where its runs are missing."""

    draw: Callable[[StudyResults], Figure | None]
    caption: str


Figures = Mapping[str, Drawn]
"""The figures of a study by name; the first stands on the first page of its report."""


def draw_figures(figures: Figures, results: StudyResults) -> dict[str, Figure]:
    """The figures for which there are results, by name."""
    made = {name: each.draw(results) for name, each in figures.items()}
    return {name: figure for name, figure in made.items() if figure is not None}


Form = Callable[..., None]
"""How seeds are drawn: :func:`seeds` or :func:`curves`."""


def panels(
    results: StudyResults,
    rows: pd.DataFrame,
    height: float,
    x_label: str = "",
    y_label: str = "",
    *,
    styles: Mapping[str, Style] | None = None,
    form: Form = seeds,
    lines: Lines | Callable[[Any, pd.DataFrame], Lines] | None = None,
    limits: Mapping[str, Any] | Callable[[Any, pd.DataFrame], Mapping[str, Any]] | None = None,
    **options: Any,
) -> Figure | None:
    """Rows of results in a ``form`` in every facet, with a legend above; None without rows.

    ``lines`` are the :func:`anchors` of all panels, or a function of a facet's level and rows;
    ``limits`` are set on the axes first, likewise. Of ``options``, x, y, hue and units go to the
    form, the others to :func:`facets`, or to the axes if there is neither ``row`` nor ``col``.
    The ``styles`` are those of the models, if others are not given.
    """
    if rows.empty:
        return None
    drawn = {name: options.pop(name) for name in ("x", "y", "hue", "units") if name in options}
    if options.keys() & {"row", "col"}:
        figure, parts = facets(rows, height, x_label, y_label, **options)
    else:
        figure, [axes] = canvas(height, x=x_label, y=y_label)
        parts = {None: (axes, rows)}
        axes.set(**options)
    for level, (axes, part) in parts.items():
        axes.set(**(limits(level, part) if callable(limits) else limits or {}))
        form(axes, part, results.styles if styles is None else styles, **drawn)
        known = lines(level, part) if callable(lines) else lines or {}
        anchors(axes, known, x=form is seeds and drawn.get("x", "value") == "value")
    return legend_above(figure)
