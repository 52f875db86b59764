"""What exp11 reports, in print: its title, how it was tuned, its models and metrics."""

from journeylab.config import Metric
from journeylab.studies.exp11_sabag_pooling.settings import (
    MULTIPLIERS,
    PRECISIONS,
    SCALES,
    SHAPES,
    TEMPERATURES,
    Variant,
)

TITLE = "Sabag pooling: one attention for compression, identity and expansion"
TUNING = (
    "rate, batch and budget were given, one setting for all variants; pilot seeds (1000 and above) "
    "only showed what is learned in it"
)

ARMS = {
    "string-first2": "first two",
    "string-copy": "copy",
    "string-reverse": "reverse",
    "string-sorted": "sorted",
    "string-extremes": "maximum and minimum",
    "string-double": "double",
    "sentence": "the sentence",
}
"""Every arm's name in print, in the order of figures."""

LABELS: dict[Variant, str] = {
    "sabag": "Sabag",
    "sabag-positions": "Sabag + positions",
    "pma": "PMA",
    "pma-positions": "PMA + positions",
    "kmeans": "k-means++",
    "mean": "mean",
}
"""Every model's name in print, in the order of figures."""

ITEMS = (
    *("characters", "expansion", "gradient ratio", "rate ratio"),
    *("change at 0.001", "change at 1.0", "row sums", "row sums, Hello"),
)


def _shapes(*shapes: tuple[int, int]) -> dict[str, tuple[str | int, ...]]:
    return {"shape": tuple(f"{n} → {k}" for n, k in shapes)}


_CERTIFIED = _shapes((5, 2), (5, 5), (5, 10), (2, 44))
_TAU: dict[str, tuple[str | int, ...]] = {"temperature": tuple(f"{t:g}" for t in TEMPERATURES)}

METRICS = {
    "accuracy": Metric(label="token accuracy"),
    "exact": Metric(label="exact match"),
    "ceiling": Metric(label="permutation-invariant ceiling"),
    "diagonal": Metric(label="diagonal mass of S"),
    "least_pair": Metric(label="least difference of two outputs' weights"),
    "row_sum_error": Metric(label="|row sum of S − 1|", factors=_CERTIFIED, better="lower"),
    "rank_excess": Metric(label="rank(H_out) − min(n, k)", factors=_CERTIFIED, better="lower"),
    "invariance_error": Metric(
        label="change of H_out by a permutation", factors=_CERTIFIED, better="lower"
    ),
    "invariance_control": Metric(label="the same, positions added", factors=_CERTIFIED),
    "identity_gap": Metric(label="1 − the largest diagonal mass on “Hello”", better="lower"),
    "twin_gap": Metric(label="difference of the weights of two equal letters", better="lower"),
    "printed_twin_gap": Metric(
        label="difference of the printed weights of two equal letters", better="lower"
    ),
    "centres_missing": Metric(
        label="k − different centres", factors=_shapes((5, 10), (2, 44), (3, 50))
    ),
    "selection_gradient": Metric(label="gradient through the selection", better="lower"),
    "query_gradient": Metric(label="gradient of queries"),
    "shape_error": Metric(label="wrong sizes", factors=_CERTIFIED, better="lower"),
    "arithmetic_error": Metric(
        label="units in the last place", factors={"item": ITEMS}, better="lower"
    ),
    "q_error": Metric(label="relative error of the document's ∂L/∂Q", factors=_TAU, better="lower"),
    "q_repaired_error": Metric(
        label="relative error of it divided by τ", factors=_TAU, better="lower"
    ),
    "h_error": Metric(label="relative error of ∂L/∂H", factors=_TAU, better="lower"),
    "omitted_share": Metric(label="share of ‖∂L‖ that is left out", factors=_TAU),
    "gradient_ratio": Metric(
        label="‖∂L/∂H‖ / ‖∂L/∂Q‖",
        factors=_shapes(*SHAPES) | _TAU | {"scale": tuple(f"{s:g}" for s in SCALES)},
    ),
    "loss_change": Metric(
        label="change of the loss by one step",
        factors={"precision": PRECISIONS, "rate": ("0.001", "1")},
        better="lower",
    ),
    "final_loss": Metric(
        label="final loss",
        factors={
            "optimiser": ("SGD", "Adam"),
            "scale": ("small", "unit"),
            "multiplier": MULTIPLIERS,
        },
        better="lower",
    ),
}
