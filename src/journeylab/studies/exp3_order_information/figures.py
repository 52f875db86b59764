"""Figures of exp3."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from journeylab import plotting as plot
from journeylab.plotting import StudyResults
from journeylab.studies.exp3_order_information.information import (
    blind_ceiling,
    blind_count,
    blind_information,
    precision_law,
)
from journeylab.studies.exp3_order_information.settings import LENGTHS, Arm
from journeylab.studies.exp3_order_information.tables import numbers, reach_of, tabulate

_CELLS = (100.0, 6e-4)
_SHOWN = ("sum", "as-shipped", "one-two", "standard", "quarter-turns")


def add_colours(results: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """The number of colours of each run."""
    colours = {name: arm.colours for name, arm in results.arms_of(Arm).items()}
    return rows.assign(colours=rows["arm"].map(colours))


def known(
    values: Mapping[str, Callable[[int, int], float]],
    _: StudyResults,
    level: object,
    part: pd.DataFrame,
) -> plot.Lines:
    """Values by length and number of colours; lengths are categories on the axis."""
    colours, positions = int(part["colours"].iloc[0]), range(len(LENGTHS))
    return {name: (positions, [of(n, colours) for n in LENGTHS]) for name, of in values.items()}


def maximum(length: int, colours: int) -> float:
    """All bits about the colours of a string."""
    return length * float(np.log2(colours))


def bits(title: str, rows: pd.DataFrame) -> Mapping[str, Any]:
    """From −3 bits, or the lowest of the panel, to the maximum."""
    part = rows[rows["data"] == title]
    return _span(-3.0, part["value"].min(), maximum(max(LENGTHS), part["colours"].iloc[0]))


def accuracies(least: float, _: object, rows: pd.DataFrame) -> Mapping[str, Any]:
    """From ``least``, or the lowest of all panels, to 1."""
    return _span(least, rows["value"].min(), 1.0)


def _span(least: float, lowest: float, most: float) -> Mapping[str, Any]:
    low = min(least, lowest - 0.05 * (most - lowest))
    return {"ylim": (low, most + 0.04 * (most - low))}


def draw_information(results: StudyResults) -> Figure | None:
    """Bits about the order by grid, with all bits and the precision law, by set and width."""
    rows = results.tidy("mutual_information", C=2, arm="enumeration", variant=_SHOWN)
    if rows.empty:
        return None
    rows = rows.astype({"epsilon": float})
    rows["length"], rows["width"] = "N = " + rows["N"].astype(str), "d = " + rows["d"].astype(str)
    # two lines per title, since the panels are narrow
    rows["model"] = rows["model"].cat.rename_categories(lambda name: name.replace(" {", "\n{"))
    entropies = results.select("order_entropy", C=2)
    top, longest = 1.3 * float(entropies["value"].max()), max(rows["N"])
    figure, panels = plot.facets(
        rows,
        1.5,
        "ε",
        "bits about the order",
        row="width",
        col="model",
        ylim=(-0.05 * top, top),
        xlim=_CELLS,
    )
    style = plot.styles(f"N = {length}" for length in LENGTHS)
    for axes, part in panels.values():
        axes.set(xscale="log")
        plot.curves(axes, part, style, x="epsilon", hue="length", units="draw")
        [width], [variant] = part["d"].unique(), part["variant"].unique()
        case = {"C": 2, "d": width, "frequencies": variant}
        for length in part["N"].unique():
            ceiling = results.select("order_entropy", **case, N=length)["value"].median()
            axes.axhline(ceiling, color=style[f"N = {length}"].color, lw=0.7, zorder=1)
        cells, reach = np.geomspace(*_CELLS), reach_of(results, {**case, "N": longest})
        law = np.array([precision_law(width, reach, cell) for cell in cells])
        plot.anchors(axes, {f"law, N = {longest}": (cells, law)})
    return plot.legend_above(figure)


_by_length = partial(plot.multiples, height=1.25, rows=add_colours, x="N")
_by_probe = partial(
    _by_length, names={"probe": {"mlp": "MLP", "linear": "linear"}}, row="data", col="probe"
)

FIGURES: plot.Figures = {
    "information": draw_information,
    "bits": _by_length(
        "v_information",
        {"probe": "mlp", "strings": "held-out"},
        labels=("length N", "V-information, bits"),
        limits=bits,
        lines=partial(known, {"counts only": blind_information, "maximum": maximum}),
        col="data",
        col_wrap=2,
        sharey=False,
    ),
    "positions": _by_probe(
        "position_accuracy",
        {"strings": "held-out"},
        labels=("length N", "position accuracy"),
        limits=partial(accuracies, 0.2),
        lines=partial(known, {"order-blind ceiling": blind_ceiling}),
    ),
    "counts": _by_probe(
        "count_accuracy",
        {"strings": "held-out"},
        labels=("length N", "count accuracy"),
        limits=partial(accuracies, 0.0),
        lines=partial(known, {"best constant answer": blind_count, "margin 0.99": lambda *_: 0.99}),
    ),
    "training": plot.multiples(
        f"position_accuracy_{max(LENGTHS)}",
        curve=True,
        height=1.35,
        labels=("step", "position accuracy"),
        col="data",
        col_wrap=2,
    ),
}
