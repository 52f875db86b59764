"""Figures of exp6."""

from collections.abc import Collection

from journeylab import plotting as plot
from journeylab.plotting.captions import AS_BEFORE, CURVES, SEEDS
from journeylab.studies.exp6_coupling_rank import panels
from journeylab.studies.exp6_coupling_rank.metrics import FITTED, FREQUENCY_SETS, LABELLED
from journeylab.studies.exp6_coupling_rank.printed import WHOLE, tabulate
from journeylab.studies.exp6_coupling_rank.settings import ARITHMETICS, HEADS, STACKED, D


def _by_heads(caption: str, arms: Collection[str]) -> plot.Drawn:
    return plot.multiples(
        caption,
        "accuracy",
        {"arm": arms, "variant": STACKED},
        labels=("heads H", "accuracy"),
        rows=panels.count_heads,
        form=plot.curves,
        lines=panels.references,
        limits={"xticks": HEADS},
        x="H",
        col="data",
        col_wrap=2,
        ylim=(0.0, 1.05),
    )


FIGURES: plot.Figures = {
    "fitted": _by_heads(
        "Accuracy of separable heads that were fitted to the noiseless scores, against the number "
        "of heads H; the horizontal line is one journey head. A panel is named after its teacher. "
        f"{CURVES} The journey head has learned frequencies if they were trained; its line is the "
        "median over seeds.",
        FITTED,
    ),
    "heads": _by_heads(
        "Accuracy on the whole noiseless table against the number of heads H, for models that were "
        "trained on the labels of noisy queries. A panel is named after the frequencies of its "
        f"teacher and the kind of its role operators. {AS_BEFORE} Horizontal lines are medians "
        "over seeds: of one journey head, of the most frequent noisy label at every position and "
        "role, and of the exact ceiling of answers that do not depend on the position. Models at "
        "the line of the most frequent label have learned their labels with the noise, and "
        "differences between them cannot show.",
        LABELLED,
    ),
    "models": plot.multiples(
        f"Accuracy of models with eight heads, and of models without a number of heads. {SEEDS} "
        "The broken line is the ceiling of answers that do not depend on the position, median over "
        "seeds.",
        {
            "whole": ("accuracy", {"variant": WHOLE}),
            "stacked": ("accuracy", {"variant": STACKED, "H": D}),
        },
        {"arm": LABELLED},
        height=(0.5, 0.17),
        labels=("accuracy", ""),
        rows=panels.name_heads,
        lines=panels.ceiling,
        y="case",
        hue="model",
        col="data",
        col_wrap=2,
        xlim=(0.0, 1.05),
    ),
    "errors": plot.multiples(
        "Squared error of separable heads that were fitted to the noiseless scores, in units of "
        "the mean square of M. The line is the smallest error of H separable terms (Eckart–Young), "
        f"median over seeds; with d terms it is 0. {AS_BEFORE} Values below the lower edge of a "
        "panel are drawn at that edge.",
        "squared_error",
        {"arm": FITTED, "variant": "separable"},
        height=1.5,
        labels=("heads H", "squared error"),
        rows=panels.clip_errors,
        lines=panels.least_errors,
        limits={"yscale": "log"},
        x="H",
        y="value",
        col="data",
        col_wrap=2,
        ylim=(panels.LOWEST / 2, 2.0),
    ),
    "spectrum": plot.multiples(
        "Singular values of the coupling, for every set of frequencies. Every dot is one draw of a "
        "teacher with toral or orthogonal roles, markers are medians over draws. Values that are "
        "zero in exact arithmetic show the rounding error of the arithmetic.",
        "singular_value",
        {"arm": "rank"},
        height=1.7,
        labels=("i", "σᵢ / σ₁"),
        names={"frequencies": FREQUENCY_SETS},
        rows=panels.clip_spectrum,
        shown=ARITHMETICS,
        limits={"yscale": "log"},
        x="i",
        y="value",
        hue="arithmetic",
        col="frequencies",
        ylim=(1e-34, 10.0),
    ),
    "learning": plot.multiples(
        "Accuracy on the whole noiseless table against the training step. Models with several "
        "heads are shown with eight, models with several restarts with the restart of smallest "
        f"training loss at that step. {CURVES}",
        {
            "whole": ("accuracy", {"variant": WHOLE}),
            "stacked": (f"accuracy_{D}", {"variant": STACKED}),
        },
        {"arm": LABELLED},
        curve=True,
        labels=("step", "accuracy"),
        form=plot.curves,
        col="data",
        col_wrap=2,
        ylim=(0.0, 1.05),
    ),
}
