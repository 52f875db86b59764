"""The printed title, question, names and metrics of exp8."""

from journeylab.config import Metric
from journeylab.studies.exp8_value_embeddings.settings import (
    CASES,
    CHANCE_WIDTHS,
    DECODERS,
    DISTANCES,
    EARLY,
    EXPONENTS,
    PAIRS,
    PRINTED,
    STAGES,
    TESTS,
    UNTRAINED,
    WIDTHS,
)

TITLE = "Value embeddings: numeric embeddings of costs for assignment problems"
QUESTION = "Which numeric embeddings of the costs let a small model solve assignment problems?"
TUNING = (
    "one learning rate and one budget for all variants, as the protocol states them; models learn "
    "the task with them on pilot seeds (1000 and above, before the first reported run); the width "
    "of the MLP and the spread of learned frequencies are the first values that were tried"
)

ARMS = {
    "axial": "axial attention",
    "full": "full attention",
    "categorical": "permuted cost labels",
    "learning": "loss of every step",
    "geometry": "untrained embeddings",
    "certificates": "certificates",
}
"""Arm → printed name, in the order of figures."""

LABELS: dict[str, str] = {
    "discrete": "discrete table",
    "discrete-double": "discrete table, double budget",
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
_EMBEDDINGS: dict[str, tuple[str | int, ...]] = {"embedding": UNTRAINED}
_CASES: dict[str, tuple[str | int, ...]] = {"case": CASES}
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
        factors={"step": (0, EARLY), "decoder": ("token", "row")},
    ),
    "loss_area": Metric(label="mean training loss over all steps", better="lower"),
    "loss_roughness": Metric(label="RMS second difference of the loss", better="lower"),
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
    "chance": Metric(
        label="P(|cosine| as large as printed), random table", factors={"d": CHANCE_WIDTHS}
    ),
    "rise": Metric(label="largest rise of similarity with distance", factors=_CASES),
    "dimension_error": Metric(label="missing or surplus dimensions", factors=_CASES),
    "rms_error": Metric(label="|RMS − 1|", factors=_CASES, better="lower"),
    "optimum_error": Metric(label="sum − smallest sum of all permutations", factors=_CASES),
    "equivariance_error": Metric(
        label="change of a logit under permuted rows and columns", factors=_CASES
    ),
    "relabelling_error": Metric(label="change of a logit under renamed costs", factors=_CASES),
}
