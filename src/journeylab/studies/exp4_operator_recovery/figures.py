"""Figures of exp4."""

from functools import partial

from journeylab import plotting as plot
from journeylab.studies.exp4_operator_recovery import panels
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


def _beside_null(metrics: tuple[str, ...], arms: tuple[str, ...], null: str) -> plot.Draw:
    """Metrics of trained operators, and of the random operators of an arm."""
    return panels.narrow(
        plot.multiples(
            {SHORT[metric]: metric for metric in metrics},
            {"arm": arms},
            height=(0.5, 0.28),
            rows=partial(panels.add_null, null),
            shown=panels.STYLES,
            y="run",
            hue="shown",
            col="measure",
            sharex=False,
        )
    )


FIGURES: plot.Figures = {
    "single": _beside_null(_OF_ONE, ONE, "random-one"),
    "positions": _beside_null(_OF_EACH, EACH, "random-each"),
    "eigenvalues": panels.draw_eigenvalues,
    "angles": plot.multiples(
        "leading_angle",
        {"arm": EACH},
        height=1.5,
        labels=("steps s", "angle, radians"),
        names={"stage": STAGE},
        form=plot.curves,
        shown=panels.STYLES,
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
        lines=panels.bigram,
        y="run",
    ),
    "training": plot.multiples(
        "loss",
        curve=True,
        height=1.5,
        labels=("step", "held-out loss"),
        lines=panels.bigram,
        col="data",
        col_wrap=3,
    ),
}
