"""Figures of exp4."""

from functools import partial

from journeylab import plotting as plot
from journeylab.plotting.captions import CURVES, SEEDS_UNBOUNDED, seed_dots
from journeylab.studies.exp4_operator_recovery import panels
from journeylab.studies.exp4_operator_recovery.metrics import METRICS
from journeylab.studies.exp4_operator_recovery.tables import (
    EACH,
    ONE,
    SHORT,
    STAGE,
    numbers,
    tabulate,
)

_SEEDS = seed_dots(
    "one seed, or one draw of random operators",
    failed="✗ counts failed seeds, which count as ±∞ in the intervals",
)
_OF_ONE = ("off_block", "block_defect", "modulus_spread", "orthogonality_defect", "angle_linearity")
_OF_EACH = ("off_block", "block_defect", "commutator", "joint_off_block", "transport_linearity")
_beside_null = partial(
    plot.multiples,
    height=(0.5, 0.28),
    shown=panels.STYLES,
    y="run",
    hue="shown",
    col="measure",
    sharex=False,
)

FIGURES: plot.Figures = {
    "single": panels.narrow(
        _beside_null(
            "A single R before and after training, and random operators with the same "
            f"initialisation (the null); rotations in the standard basis have 0 in all panels but "
            f"that of R². {_SEEDS} R² is 1 for angles that progress linearly; those of RoPE do "
            "not, and those of random rotations nearly do. Only sd |λ| and R² do not depend on the "
            "basis.",
            {SHORT[metric]: metric for metric in _OF_ONE},
            {"arm": ONE},
            rows=partial(panels.add_null, "random-one"),
        )
    ),
    "positions": panels.narrow(
        _beside_null(
            "One operator R_s per position, with symbols as in Figure 1: means over s, and metrics "
            "of all R_s together. The joint off-block mass is measured at positions that were not "
            "used to fit the basis; it is 0 if the operators share their planes.",
            {SHORT[metric]: metric for metric in _OF_EACH},
            {"arm": EACH},
            rows=partial(panels.add_null, "random-each"),
        )
    ),
    "eigenvalues": plot.Drawn(
        panels.draw_eigenvalues,
        "Eigenvalues of a single R in the complex plane, all seeds, before and after training. "
        "Those of a rotation lie on the unit circle, evenly spaced if angles progress linearly.",
    ),
    "angles": plot.multiples(
        "The angle of T_(i,i−s), with i the last position, in the plane that the mean of all R_s "
        f"turns fastest, against s, before and after training. {CURVES} A linear progression would "
        "be a straight line through 0, as RoPE has it.",
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
        f"Held-out loss, in nats per character. {SEEDS_UNBOUNDED} The vertical line is the loss of "
        "a bigram model, which knows the previous character.",
        "loss",
        {"stage": "trained"},
        height=(0.8, 0.16),
        labels=(METRICS["loss"].label, ""),
        lines=panels.bigram,
        y="run",
    ),
    "training": plot.multiples(
        f"Loss on a sample of the held-out windows against the training step. {CURVES} The "
        "horizontal line is the loss of a bigram model.",
        "loss",
        curve=True,
        height=1.5,
        labels=("step", "held-out loss"),
        form=plot.curves,
        lines=panels.bigram,
        col="data",
        col_wrap=3,
    ),
}
