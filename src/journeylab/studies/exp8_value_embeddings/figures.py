"""Figures of exp8."""

from pathlib import Path

from journeylab import plotting as plot
from journeylab.studies.exp8_value_embeddings.settings import DOCUMENT_WIDTH, PRINTED
from journeylab.studies.exp8_value_embeddings.tables import EXPONENT_TITLES, numbers, tabulate
from journeylab.wording.names import read_names

_WORDS = read_names(Path(__file__).parent).words
_TESTS = _WORDS["tests"]
_ATTENTION = ("axial", "full")
_SHOWN = ("discrete", "sinusoidal", "hybrid50", "fourier-high", "scalar")
"""The variants whose learning curves are drawn; more lines would hide each other."""
_COSINES = (0.985, 0.9975)


FIGURES: plot.Figures = {
    "tests": plot.multiples(
        "optimal",
        {"arm": _ATTENTION, "decoder": "row"},
        height=(0.5, 0.17),
        labels=("optimal answers", ""),
        names={"test": _TESTS},
        lines={"greedy": "greedy_optimal", "random permutation": "random_optimal"},
        row="data",
        col="test",
        xlim=(-0.03, 1.03),
    ),
    "decoders": plot.multiples(
        {"valid": "valid", "optimal": "optimal"},
        {"arm": "axial", "test": "iid"},
        height=(0.4, 0.15),
        labels=("rate", ""),
        names={"decoder": _WORDS["decoders"]},
        row="measure",
        col="decoder",
        xlim=(-0.03, 1.03),
    ),
    "arms": plot.multiples(
        "optimal",
        {"arm": ("table-unit", "categorical"), "decoder": "row", "test": ("iid", "held-out")},
        height=(0.5, 0.22),
        labels=("rate of optimal answers", ""),
        names={"test": _TESTS},
        row="test",
        col="data",
        xlim=(-0.03, 1.03),
    ),
    "learning": plot.multiples(
        {"training loss": "train_loss", "optimal answers": "optimal_row"},
        {"arm": _ATTENTION, "variant": _SHOWN},
        curve=True,
        height=1.7,
        labels=("step", ""),
        row="data",
        col="measure",
        sharex=False,
        sharey=False,
    ),
    "similarity": plot.multiples(
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
