"""Figures of exp8."""

from typing import Any

from journeylab import plotting as plot
from journeylab.plotting import StudyResults
from journeylab.plotting.captions import AS_BEFORE, CURVES, SEEDS_UNBOUNDED
from journeylab.studies.exp8_value_embeddings.metrics import DECODING, TEST_SETS
from journeylab.studies.exp8_value_embeddings.settings import DOCUMENT_WIDTH, PRINTED
from journeylab.studies.exp8_value_embeddings.tables import EXPONENT_TITLES, numbers, tabulate

_ATTENTION = ("axial", "full")
_SHOWN = ("discrete", "sinusoidal", "hybrid50", "fourier-high", "scalar")
"""The variants whose learning curves are drawn; more lines would hide each other."""
_COSINES = (0.985, 0.9975)


def _answers(results: StudyResults, level: tuple[str, str], _: Any) -> plot.Lines:
    """The rates of two answers without a model on the test set of a panel."""
    test = next(test for test, title in TEST_SETS.items() if title == level[1])
    answers = {"greedy": "greedy_optimal", "random permutation": "random_optimal"}
    return {name: results.anchor(of, test=test, arm="axial") for name, of in answers.items()}


FIGURES: plot.Figures = {
    "tests": plot.multiples(
        "Rate of optimal answers by row argmax, with axial and with full attention; empty rows "
        "were not trained. In close calls, the second-best assignment costs 1 more than the best. "
        f"{SEEDS_UNBOUNDED} Vertical lines are medians over seeds of two answers without a model: "
        "greedy choice of the cheapest free cell, and the expectation for a random permutation.",
        "optimal",
        {"arm": _ATTENTION, "decoder": "row"},
        height=(0.5, 0.17),
        labels=("optimal answers", ""),
        names={"test": TEST_SETS},
        lines=_answers,
        row="data",
        col="test",
        xlim=(-0.03, 1.03),
    ),
    "decoders": plot.multiples(
        "Axial models on i.i.d. instances with every decoder: rate of valid permutations "
        "(above) and of optimal answers (below). Hungarian decoding is always valid. " + AS_BEFORE,
        {"valid": "valid", "optimal": "optimal"},
        {"arm": "axial", "test": "iid"},
        height=(0.4, 0.15),
        labels=("rate", ""),
        names={"decoder": DECODING},
        row="measure",
        col="decoder",
        xlim=(-0.03, 1.03),
    ),
    "arms": plot.multiples(
        "Rate of optimal answers by row argmax on i.i.d. instances and on held-out values, with "
        "axial attention: the hybrid whose table starts at a root mean square of 1 (large table), "
        f"and the control with permuted cost labels. Empty rows were not trained. {AS_BEFORE}",
        "optimal",
        {"arm": ("table-unit", "categorical"), "decoder": "row", "test": ("iid", "held-out")},
        height=(0.5, 0.22),
        labels=("rate of optimal answers", ""),
        names={"test": TEST_SETS},
        row="test",
        col="data",
        xlim=(-0.03, 1.03),
    ),
    "learning": plot.multiples(
        "Training loss (mean since the previous point) and rate of optimal answers by row argmax "
        f"on part of the i.i.d. test, against the training step. {CURVES}",
        {"training loss": "train_loss", "optimal answers": "optimal_row"},
        {"arm": _ATTENTION, "variant": _SHOWN},
        curve=True,
        height=1.7,
        labels=("step", ""),
        form=plot.curves,
        row="data",
        col="measure",
        sharex=False,
        sharey=False,
    ),
    "similarity": plot.multiples(
        "Mean cosine similarity of the vectors of two costs against the distance of the costs, "
        "before and after training, over the costs that occur in training. Lines and bands as "
        "before.",
        "similarity",
        {"arm": "axial"},
        height=1.15,
        labels=("distance", "cosine"),
        names={"stage": {"initial": "before training", "trained": "after training"}},
        form=plot.curves,
        x="distance",
        hue="stage",
        col="model",
        col_wrap=3,
        ylim=(-1.05, 1.05),
    ),
    "printed": plot.multiples(
        "Cosine similarity of the sinusoidal vectors of 10 and 50 against their width, for the "
        "frequencies of the document (exponent −i/d) and the usual frequencies (−2i/d). The "
        "horizontal line is the similarity that the document prints, the vertical line its width.",
        "printed_similarity",
        {"arm": "certificates", "pair": "10-50"},
        height=2.3,
        labels=("width d", "cosine of 10 and 50"),
        names={"exponent": EXPONENT_TITLES},
        form=plot.curves,
        lines={
            "printed": PRINTED[10, 50],
            "width of the document": ([DOCUMENT_WIDTH] * 2, _COSINES),
        },
        x="d",
        hue="exponent",
        units="draw",
        xscale="log",
        ylim=_COSINES,
    ),
}
