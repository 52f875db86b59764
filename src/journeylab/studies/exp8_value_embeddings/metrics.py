"""The printed title, question, names and metrics of exp8."""

from journeylab.config import Metric
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

_ANSWERS: dict[str, tuple[str | int, ...]] = {"decoder": DECODERS, "test": TESTS}
_TESTS: dict[str, tuple[str | int, ...]] = {"test": TESTS}
_STAGES: dict[str, tuple[str | int, ...]] = {"stage": STAGES}
_EMBEDDINGS: dict[str, tuple[str | int, ...]] = {"embedding": VARIANTS}
_CASES: dict[str, tuple[str | int, ...]] = {"case": CASES}
_BANDS: dict[str, tuple[str | int, ...]] = {
    "d": WIDTHS,
    "exponent": tuple(EXPONENTS),
    "pair": tuple(f"{u}-{v}" for u, v in (FINE, COARSE)),
}
_PRINTED: dict[str, tuple[str | int, ...]] = {"d": WIDTHS, "exponent": tuple(EXPONENTS)}

METRICS = {
    "optimal": Metric(label="rate of optimal answers", factors=_ANSWERS),
    "valid": Metric(label="rate of valid permutations", factors=_ANSWERS),
    "gap": Metric(
        label="gap of valid answers, sum / optimum − 1", factors=_ANSWERS, better="lower"
    ),
    "random_optimal": Metric(label="rate of optimal answers, random permutation", factors=_TESTS),
    "random_gap": Metric(label="gap, random permutation", factors=_TESTS, better="lower"),
    "greedy_optimal": Metric(label="rate of optimal answers, greedy", factors=_TESTS),
    "greedy_gap": Metric(label="gap, greedy", factors=_TESTS, better="lower"),
    "early_valid": Metric(
        label="rate of valid permutations, early",
        factors={"moment": MOMENTS, "decoder": ("token", "row")},
    ),
    "loss_area": Metric(label="mean training loss over all steps", better="lower"),
    "loss_kink": Metric(label="median |second difference| of the loss, later half", better="lower"),
    "loss_roughness": Metric(label="RMS second difference of the loss, later half", better="lower"),
    "loss_relative_kink": Metric(
        label="median |second difference| of the log loss, later half", better="lower"
    ),
    "reached": Metric(label="rate of optimal answers, half the steps"),
    "order": Metric(label="rank correlation of similarity and nearness", factors=_STAGES),
    "order_change": Metric(label="rank correlation of similarity and nearness, change by training"),
    "learned_order": Metric(
        label="rank correlation of similarity and nearness, learned part", factors=_STAGES
    ),
    "first_component": Metric(label="share of the first principal component", factors=_STAGES),
    "effective_rank": Metric(label="effective rank", factors=_STAGES),
    "similarity": Metric(label="mean cosine similarity", factors=_STAGES | {"distance": DISTANCES}),
    "untrained_cosine": Metric(
        label="cosine similarity, untrained",
        factors=_EMBEDDINGS | {"pair": tuple(f"{u}-{v}" for u, v in PAIRS)},
    ),
    "untrained_component": Metric(
        label="share of the first principal component, untrained", factors=_EMBEDDINGS
    ),
    "untrained_rank": Metric(label="effective rank, untrained", factors=_EMBEDDINGS),
    "untrained_order": Metric(
        label="rank correlation of similarity and nearness, untrained", factors=_EMBEDDINGS
    ),
    "printed_similarity": Metric(
        label="cosine similarity",
        factors=_PRINTED | {"pair": tuple(f"{u}-{v}" for u, v in PRINTED)},
    ),
    "printed_error": Metric(
        label="difference from the printed similarities", factors=_PRINTED, better="lower"
    ),
    "cycles": Metric(label="cycles of the fastest wave", factors=_PRINTED),
    "upper_share": Metric(label="share of the higher half of the frequencies", factors=_BANDS),
    "lower_share": Metric(label="share of the lower half of the frequencies", factors=_BANDS),
    "chance": Metric(
        label="P(|cosine| as large as printed), random table", factors={"d": CHANCE_WIDTHS}
    ),
    "rise": Metric(label="largest rise of similarity with distance", factors=_CASES),
    "spacing_error": Metric(
        label="largest difference of two ratios of neighbouring frequencies", factors=_CASES
    ),
    "dimension_error": Metric(label="missing or surplus dimensions", factors=_CASES),
    "rms_error": Metric(label="|RMS − 1|", factors=_CASES, better="lower"),
    "optimum_error": Metric(label="sum − smallest sum of all permutations", factors=_CASES),
    "equivariance_error": Metric(
        label="change of a logit under permuted rows and columns", factors=_CASES
    ),
    "relabelling_error": Metric(label="change of a logit under renamed costs", factors=_CASES),
}
