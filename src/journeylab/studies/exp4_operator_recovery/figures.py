"""Figures of exp4."""

from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from journeylab import plotting as plot
from journeylab.plotting import StudyResults
from journeylab.studies.exp4_operator_recovery.tables import (
    EACH,
    ONE,
    SHORT,
    STAGE,
    numbers,
    tabulate,
)

_OF_ONE = ("off_block", "block_defect", "modulus_spread", "orthogonality_defect", "angle_linearity")
_OF_EACH = ("off_block", "block_defect", "commutator", "joint_off_block", "transport_linearity")
NULL = "random operators"
STYLES = plot.styles((*STAGE.values(), NULL))


def add_null(arm: str, results: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """Both stages of each run, and the random operators of an arm with the same initialisation."""
    runs = rows[["metric", "measure", "variant", "run"]].drop_duplicates()
    random = pd.concat([results.pool(metric, arm=arm) for metric in runs["metric"].unique()])
    drawn = random[["metric", "variant", "value"]].merge(runs, on=["metric", "variant"])
    trained = rows.assign(shown=rows["stage"].map(STAGE))
    joined = pd.concat([trained, drawn.assign(shown=NULL)], ignore_index=True)
    # two lines per label, since the panels need the width
    broken = {name: name.replace(", ", "\n", 1) for name in rows["run"].cat.categories}
    return joined.assign(run=joined["run"].cat.rename_categories(broken))


def bigram(results: StudyResults, *_: object) -> plot.Lines:
    """The loss of a model that knows the previous character."""
    return {"bigram model": float(results.pool("bigram")["value"].median())}


def draw_eigenvalues(results: StudyResults) -> Figure | None:
    """All eigenvalues of single operators, before and after training."""
    angle, modulus = (results.tidy(name, arm=ONE) for name in ("eigen_angle", "eigen_modulus"))
    if angle.empty:
        return None
    on = ["arm", "variant", "seed", "stage", "rank"]
    rows = angle.merge(modulus[[*on, "value"]], on=on, suffixes=("", "_modulus"))
    far = float(max(1.1, rows["value_modulus"].max() * 1.05))
    figure, panels = plot.facets(
        rows, 1.7, "Re λ", "Im λ", row="data", col="model", xlim=(-far, far), ylim=(-far, far)
    )
    around = np.linspace(0.0, 2.0 * np.pi, 200)
    for axes, part in panels.values():
        axes.set_aspect("equal")
        plot.anchors(axes, {"unit circle": (np.cos(around), np.sin(around))})
        for stage, label in STAGE.items():
            here, style = part[part["stage"] == stage], STYLES[label]
            points = here["value_modulus"] * np.exp(1j * here["value"])
            axes.scatter(
                np.real(points),
                np.imag(points),
                s=7,
                color=style.color,
                marker=style.marker,
                alpha=0.7,
                linewidth=0,
                label=label,
                zorder=3,
            )
    return plot.legend_above(figure)


def _beside_null(metrics: tuple[str, ...], arms: tuple[str, ...], null: str) -> plot.Draw:
    """Metrics of trained operators, and of the random operators of an arm."""
    panels = plot.multiples(
        {SHORT[metric]: metric for metric in metrics},
        {"arm": arms},
        height=(0.5, 0.28),
        rows=partial(add_null, null),
        shown=STYLES,
        y="run",
        hue="shown",
        col="measure",
        sharex=False,
    )

    def draw(results: StudyResults) -> Figure | None:
        """The panels with few and small tick labels, which would overlap."""
        figure = panels(results)
        for axes in figure.axes if figure else []:
            axes.locator_params(axis="x", nbins=2)
            axes.tick_params(axis="x", labelsize=plot.SMALLEST)
            axes.xaxis.set_major_formatter("{x:g}")
        return figure

    return draw


FIGURES: plot.Figures = {
    "single": _beside_null(_OF_ONE, ONE, "random-one"),
    "positions": _beside_null(_OF_EACH, EACH, "random-each"),
    "eigenvalues": draw_eigenvalues,
    "angles": plot.multiples(
        "leading_angle",
        {"arm": EACH},
        height=1.5,
        labels=("steps s", "angle, radians"),
        names={"stage": STAGE},
        form=plot.curves,
        shown=STYLES,
        x="position",
        hue="stage",
        row="model",
        col="data",
        sharey="row",
    ),
    "loss": plot.multiples(
        "loss",
        {"stage": "trained"},
        height=(0.8, 0.16),
        labels=("held-out loss, nats per character", ""),
        lines=bigram,
        y="run",
    ),
    "training": plot.multiples(
        "loss",
        curve=True,
        height=1.5,
        labels=("step", "held-out loss"),
        lines=bigram,
        col="data",
        col_wrap=3,
    ),
}
