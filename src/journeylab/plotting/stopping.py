"""The figure of sequential looks: with how many seeds each claim ended, and how."""

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from journeylab.plotting.plots import canvas, label_right
from journeylab.plotting.style import SMALLEST, styles
from journeylab.wording.rows import Row, StudyRows
from journeylab.wording.verdicts import tag

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
