"""Printed names of exp11: title, question, tuning, arms, poolings and metrics."""

from collections.abc import Iterable

from journeylab.config import Metric
from journeylab.studies.exp11_sabag_pooling.settings import (
    APART,
    BASES,
    COMPARED,
    MULTIPLIERS,
    PRECISIONS,
    SCALES,
    SHAPES,
    TEMPERATURES,
)

TITLE = "Sabag pooling: one attention for compression, identity and expansion"
QUESTION = (
    "Can learned queries pool n inputs to fewer, equally many or more outputs as well as k-means++ "
    "and multi-head attention, and do they need a 1000 times higher rate?"
)
TUNING = (
    "rate and deviation of the initial embeddings by a search on pilot seeds 1000 and 1001, on "
    "sorting, maximum and minimum, and the sentence, for the poolings that claims compare there. "
    "The search was extended at its edges, so that poolings differ in the settings tried; its "
    "table has them all. Copying, doubling and other poolings use settings that were not chosen by "
    "such a search"
)

ARMS = {
    "string-first2": "first two",
    "string-copy": "copy",
    "string-reverse": "reverse",
    "string-sorted": "sorted",
    "string-extremes": "max and min",
    "string-double": "double",
    "sentence": "the sentence",
    "ratio": "gradient ratio",
    "sign": "one gradient step",
    "rates": "rates of the queries",
    "search": "search for rates",
    "exact": "certificates",
}
"""Arms in print, in the order of figures."""
TASKS = tuple(arm for arm in ARMS if arm.startswith(("string", "sentence")))
"""The arms that are trained."""

LABELS: dict[str, str] = {
    "sabag": "Sabag",
    "sabag-positions": "Sabag + positions",
    "pma": "PMA",
    "pma-positions": "PMA + positions",
    "kmeans": "k-means++",
    "mean": "mean",
    "all": "drawn starts",
}
"""Poolings in print, in the order of figures; “all” stands for runs that train no pooling."""

ITEMS = (
    *("characters", "expansion", "gradient ratio", "rate ratio"),
    *("change at 0.001", "change at 1.0", "row sums", "row sums, Hello"),
)


def _shapes(*shapes: tuple[int, int]) -> dict[str, tuple[str | int, ...]]:
    return {"shape": tuple(f"{n} → {k}" for n, k in shapes)}


def _levels(values: Iterable[float]) -> tuple[str | int, ...]:
    return tuple(f"{value:g}" for value in values)


_CERTIFIED = _shapes((5, 2), (5, 5), (5, 10), (2, 44))
_TAU: dict[str, tuple[str | int, ...]] = {"temperature": _levels(TEMPERATURES)}
_APART = {
    name: _levels(sorted(set(deviations)))
    for name, deviations in zip(("scale", "queries"), zip(*APART, strict=True), strict=True)
}
_SCALE: dict[str, tuple[str | int, ...]] = {"scale": _levels(SCALES)}
_RATES: dict[str, tuple[str | int, ...]] = {
    "optimiser": ("SGD", "Adam"),
    "scale": ("small", "unit"),
    "base": _levels(sorted({base for bases in COMPARED.values() for base in bases})),
    "multiplier": (1, MULTIPLIERS[-1]),
}
_GRID = _shapes(*SHAPES) | _TAU | {"scale": _levels(SCALES)}

METRICS = {
    "accuracy": Metric(label="token accuracy"),
    "exact": Metric(label="exact match"),
    "ceiling": Metric(label="permutation-invariant ceiling"),
    "diagonal": Metric(label="diagonal mass of S"),
    "least_pair": Metric(label="smallest difference of two outputs' weights"),
    "row_sum_error": Metric(label="|row sum of S − 1|", factors=_CERTIFIED, better="lower"),
    "row_sum_control": Metric(label="the same, softmax over queries", factors=_CERTIFIED),
    "rank_excess": Metric(label="rank(H_out) − min(n, k)", factors=_CERTIFIED, better="lower"),
    "rank_control": Metric(label="the same, with noise added to H_out", factors=_CERTIFIED),
    "invariance_error": Metric(
        label="change of H_out if inputs are permuted", factors=_CERTIFIED, better="lower"
    ),
    "invariance_control": Metric(label="the same, with positions", factors=_CERTIFIED),
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
    "shape_control": Metric(
        label="the same, n and k swapped", factors=_shapes((5, 2), (5, 10), (2, 44))
    ),
    "arithmetic_error": Metric(
        label="error in units of the last digit", factors={"item": ITEMS}, better="lower"
    ),
    "arithmetic_control": Metric(label="the same, print changed by ±1", factors={"item": ITEMS}),
    "q_error": Metric(label="relative error of the document's ∂L/∂Q", factors=_TAU, better="lower"),
    "q_repaired_error": Metric(label="the same, divided by τ", factors=_TAU, better="lower"),
    "h_error": Metric(label="relative error of ∂L/∂H", factors=_TAU, better="lower"),
    "h_unscored_error": Metric(label="the same without the part through the scores", factors=_TAU),
    "h_untempered_error": Metric(label="the same without 1/τ", factors=_TAU),
    "omitted_share": Metric(label="omitted share of ‖∂L‖", factors=_TAU),
    "gradient_ratio": Metric(label="‖∂L/∂H‖ / ‖∂L/∂Q‖", factors=_GRID),
    "query_norm": Metric(label="‖∂L/∂Q‖", factors=_GRID),
    "ratio_apart": Metric(label="‖∂L/∂H‖ / ‖∂L/∂Q‖, different deviations", factors=_APART),
    "law_error": Metric(
        label="relative change of ratio × variance of the embeddings",
        factors=_APART,
        better="lower",
    ),
    "law_control": Metric(label="the same at deviation 1"),
    "loss_change": Metric(
        label="change of the loss in one step",
        factors={"precision": PRECISIONS, "rate": ("0.001", "1")},
        better="lower",
    ),
    "mean_loss": Metric(label="mean training loss", factors=_RATES, better="lower"),
    "final_loss": Metric(
        label="final loss", factors=_RATES | {"after": ("tenth", "end")}, better="lower"
    ),
    "learned": Metric(label="share of starts that learn their targets", factors=_RATES),
    "search_loss": Metric(
        label="mean training loss of pilot seeds",
        factors=_RATES | {"base": _levels(BASES), "multiplier": MULTIPLIERS},
        better="lower",
    ),
    "matched_ratio": Metric(label="‖∂L/∂H‖ / ‖∂L/∂Q‖ at ‖∂L/∂Q‖ = 0.0049"),
    "matched_scale": Metric(label="deviation at ‖∂L/∂Q‖ = 0.0049"),
    "matched_norm": Metric(label="‖∂L/∂H‖ at ‖∂L/∂Q‖ = 0.0049"),
    "largest_rise": Metric(label="largest rise of the loss at rate 0.001"),
    "largest_change": Metric(
        label="largest change of the loss",
        factors=_SCALE | {"rate": ("0.001", "1"), "moved": ("queries", "all")},
        better="lower",
    ),
    "safe_rate": Metric(label="rate up to which no step raises the loss", factors=_SCALE),
    "safe_change": Metric(
        label="largest change of the loss up to that rate", factors=_SCALE, better="lower"
    ),
    "ascent_change": Metric(label="change of the loss in a step upwards", factors=_SCALE),
    "rise_rate": Metric(label="smallest rate that raises the loss", factors=_SCALE),
    "characters": Metric(label="characters produced"),
    "characters_control": Metric(label="the same with queries of 0"),
}
