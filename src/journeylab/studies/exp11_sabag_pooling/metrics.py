"""Printed names of exp11: title, question, tuning, arms, poolings and metrics."""

from collections.abc import Iterable

from journeylab.config import Factors, Metric
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


def _shapes(*shapes: tuple[int, int]) -> Factors:
    return {"shape": tuple(f"{n} → {k}" for n, k in shapes)}


def _levels(values: Iterable[float]) -> tuple[str | int, ...]:
    return tuple(f"{value:g}" for value in values)


_CERTIFIED = _shapes((5, 2), (5, 5), (5, 10), (2, 44))
_TAU: Factors = {"temperature": _levels(TEMPERATURES)}
_APART = {
    name: _levels(sorted(set(deviations)))
    for name, deviations in zip(("scale", "queries"), zip(*APART, strict=True), strict=True)
}
_SCALE: Factors = {"scale": _levels(SCALES)}
_RATES: Factors = {
    "optimiser": ("SGD", "Adam"),
    "scale": ("small", "unit"),
    "base": _levels(sorted({base for bases in COMPARED.values() for base in bases})),
    "multiplier": (1, MULTIPLIERS[-1]),
}
_GRID = _shapes(*SHAPES) | _TAU | {"scale": _levels(SCALES)}

METRICS = {
    "accuracy": Metric("token accuracy"),
    "exact": Metric("exact match"),
    "ceiling": Metric("permutation-invariant ceiling"),
    "diagonal": Metric("diagonal mass of S"),
    "least_pair": Metric("smallest difference of two outputs' weights"),
    "row_sum_error": Metric("|row sum of S − 1|", _CERTIFIED),
    "row_sum_control": Metric("the same, softmax over queries", _CERTIFIED),
    "rank_excess": Metric("rank(H_out) − min(n, k)", _CERTIFIED),
    "rank_control": Metric("the same, with noise added to H_out", _CERTIFIED),
    "invariance_error": Metric("change of H_out if inputs are permuted", _CERTIFIED),
    "invariance_control": Metric("the same, with positions", _CERTIFIED),
    "identity_gap": Metric("1 − the largest diagonal mass on “Hello”"),
    "twin_gap": Metric("difference of the weights of two equal letters"),
    "printed_twin_gap": Metric("difference of the printed weights of two equal letters"),
    "centres_missing": Metric("k − different centres", _shapes((5, 10), (2, 44), (3, 50))),
    "selection_gradient": Metric("gradient through the selection"),
    "query_gradient": Metric("gradient of queries"),
    "shape_error": Metric("wrong sizes", _CERTIFIED),
    "shape_control": Metric("the same, n and k swapped", _shapes((5, 2), (5, 10), (2, 44))),
    "arithmetic_error": Metric("error in units of the last digit", {"item": ITEMS}),
    "arithmetic_control": Metric("the same, print changed by ±1", {"item": ITEMS}),
    "q_error": Metric("relative error of the document's ∂L/∂Q", _TAU),
    "q_repaired_error": Metric("the same, divided by τ", _TAU),
    "h_error": Metric("relative error of ∂L/∂H", _TAU),
    "h_unscored_error": Metric("the same without the part through the scores", _TAU),
    "h_untempered_error": Metric("the same without 1/τ", _TAU),
    "omitted_share": Metric("omitted share of ‖∂L‖", _TAU),
    "gradient_ratio": Metric("‖∂L/∂H‖ / ‖∂L/∂Q‖", _GRID),
    "query_norm": Metric("‖∂L/∂Q‖", _GRID),
    "ratio_apart": Metric("‖∂L/∂H‖ / ‖∂L/∂Q‖, different deviations", _APART),
    "law_error": Metric("relative change of ratio × variance of the embeddings", _APART),
    "law_control": Metric("the same at deviation 1"),
    "loss_change": Metric(
        "change of the loss in one step", {"precision": PRECISIONS, "rate": ("0.001", "1")}
    ),
    "mean_loss": Metric("mean training loss", _RATES),
    "final_loss": Metric("final loss", _RATES | {"after": ("tenth", "end")}),
    "learned": Metric("share of starts that learn their targets", _RATES),
    "search_loss": Metric(
        "mean training loss of pilot seeds",
        _RATES | {"base": _levels(BASES), "multiplier": MULTIPLIERS},
    ),
    "matched_ratio": Metric("‖∂L/∂H‖ / ‖∂L/∂Q‖ at ‖∂L/∂Q‖ = 0.0049"),
    "matched_scale": Metric("deviation at ‖∂L/∂Q‖ = 0.0049"),
    "matched_norm": Metric("‖∂L/∂H‖ at ‖∂L/∂Q‖ = 0.0049"),
    "largest_rise": Metric("largest rise of the loss at rate 0.001"),
    "largest_change": Metric(
        "largest change of the loss", _SCALE | {"rate": ("0.001", "1"), "moved": ("queries", "all")}
    ),
    "safe_rate": Metric("rate up to which no step raises the loss", _SCALE),
    "safe_change": Metric("largest change of the loss up to that rate", _SCALE),
    "ascent_change": Metric("change of the loss in a step upwards", _SCALE),
    "rise_rate": Metric("smallest rate that raises the loss", _SCALE),
    "characters": Metric("characters produced"),
    "characters_control": Metric("the same with queries of 0"),
}
