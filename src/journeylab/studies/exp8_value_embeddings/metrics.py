"""The printed title, question, names and metrics of exp8."""

from journeylab.config import Factors, Metric
from journeylab.studies.exp8_value_embeddings.settings import (
    CASES,
    CHANCE_WIDTHS,
    COARSE,
    DECODERS,
    DISTANCES,
    EXPONENTS,
    FINE,
    MOMENTS,
    PAIRS,
    PRINTED,
    STAGES,
    TESTS,
    VARIANTS,
    WIDTHS,
)

TITLE = "Value embeddings: numeric embeddings of costs for assignment problems"
QUESTION = "Which numeric embeddings of the costs let a small model solve assignment problems?"
TUNING = (
    "rates and initial scales were chosen on pilot seeds 1000 to 1002 by the training loss, for "
    "every embedding alike, and the report has tables of all that were tried; the width of the MLP "
    "is the first value that was tried"
)

ARMS = {
    "axial": "axial attention",
    "full": "full attention",
    "table-unit": "axial attention, large table",
    "categorical": "permuted cost labels",
    "learning-axial": "axial attention, half the steps",
    "learning-full": "full attention, half the steps",
    "geometry": "untrained embeddings",
    "certificates": "certificates",
}
"""Arm → printed name, in the order of figures."""

LABELS: dict[str, str] = {
    "discrete": "discrete table",
    "sinusoidal": "sinusoidal",
    "sinusoidal-standardised": "sinusoidal, standardised",
    "hybrid25": "hybrid, 25 % sinusoidal",
    "hybrid50": "hybrid, 50 % sinusoidal",
    "hybrid75": "hybrid, 75 % sinusoidal",
    "fourier-low": "Fourier, 0.5–4 cycles",
    "fourier-high": "Fourier, 0.5–32 cycles",
    "periodic": "periodic, learned",
    "scalar": "scalar × vector",
    "thermometer": "thermometer",
}
"""Variant → printed name, in the order of figures."""

TEST_SETS: dict[str, str] = {
    "iid": "i.i.d.",
    "close": "close calls",
    "held-out": "held-out values",
    "shifted": "shifted costs",
}
DECODING: dict[str, str] = {
    "token": "token by token",
    "row": "row argmax",
    "hungarian": "Hungarian",
}

_ANSWERS: Factors = {"decoder": DECODERS, "test": TESTS}
_TESTS: Factors = {"test": TESTS}
_STAGES: Factors = {"stage": STAGES}
_EMBEDDINGS: Factors = {"embedding": VARIANTS}
_CASES: Factors = {"case": CASES}
_BANDS: Factors = {
    "d": WIDTHS,
    "exponent": tuple(EXPONENTS),
    "pair": tuple(f"{u}-{v}" for u, v in (FINE, COARSE)),
}
_PRINTED: Factors = {"d": WIDTHS, "exponent": tuple(EXPONENTS)}

METRICS = {
    "optimal": Metric("rate of optimal answers", _ANSWERS),
    "valid": Metric("rate of valid permutations", _ANSWERS),
    "gap": Metric("gap of valid answers, sum / optimum − 1", _ANSWERS),
    "random_optimal": Metric("rate of optimal answers, random permutation", _TESTS),
    "random_gap": Metric("gap, random permutation", _TESTS),
    "greedy_optimal": Metric("rate of optimal answers, greedy", _TESTS),
    "greedy_gap": Metric("gap, greedy", _TESTS),
    "early_valid": Metric(
        "rate of valid permutations, early", {"moment": MOMENTS, "decoder": ("token", "row")}
    ),
    "loss_area": Metric("mean training loss over all steps"),
    "loss_kink": Metric("median |second difference| of the loss, later half"),
    "loss_roughness": Metric("RMS second difference of the loss, later half"),
    "loss_relative_kink": Metric("median |second difference| of the log loss, later half"),
    "reached": Metric("rate of optimal answers, half the steps"),
    "order": Metric("rank correlation of similarity and nearness", _STAGES),
    "order_change": Metric("rank correlation of similarity and nearness, change by training"),
    "learned_order": Metric("rank correlation of similarity and nearness, learned part", _STAGES),
    "first_component": Metric("share of the first principal component", _STAGES),
    "effective_rank": Metric("effective rank", _STAGES),
    "similarity": Metric("mean cosine similarity", _STAGES | {"distance": DISTANCES}),
    "untrained_cosine": Metric(
        "cosine similarity, untrained", _EMBEDDINGS | {"pair": tuple(f"{u}-{v}" for u, v in PAIRS)}
    ),
    "untrained_component": Metric("share of the first principal component, untrained", _EMBEDDINGS),
    "untrained_rank": Metric("effective rank, untrained", _EMBEDDINGS),
    "untrained_order": Metric(
        "rank correlation of similarity and nearness, untrained", _EMBEDDINGS
    ),
    "printed_similarity": Metric(
        "cosine similarity", _PRINTED | {"pair": tuple(f"{u}-{v}" for u, v in PRINTED)}
    ),
    "printed_error": Metric("difference from the printed similarities", _PRINTED),
    "cycles": Metric("cycles of the fastest wave", _PRINTED),
    "upper_share": Metric("share of the higher half of the frequencies", _BANDS),
    "lower_share": Metric("share of the lower half of the frequencies", _BANDS),
    "chance": Metric("P(|cosine| as large as printed), random table", {"d": CHANCE_WIDTHS}),
    "rise": Metric("largest rise of similarity with distance", _CASES),
    "spacing_error": Metric("largest difference of two ratios of neighbouring frequencies", _CASES),
    "dimension_error": Metric("missing or surplus dimensions", _CASES),
    "rms_error": Metric("|RMS − 1|", _CASES),
    "optimum_error": Metric("sum − smallest sum of all permutations", _CASES),
    "equivariance_error": Metric("change of a logit under permuted rows and columns", _CASES),
    "relabelling_error": Metric("change of a logit under renamed costs", _CASES),
}
