"""What exp8 reports, in print: its title, how it was tuned, its models and metrics."""

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

TITLE = "Value embeddings: how a model that assigns by cost should be told the costs"
TUNING = (
    "one rate and one budget for all, those of the protocol, kept since on pilot seeds (1000 and "
    "above, before the first reported run) models learn the task in them; the width of the MLP and "
    "the spread of learned frequencies were the first that were tried"
)

ARMS = {"axial": "axial", "full": "full attention", "categorical": "categorical control"}
"""Every arm's name in print, in the order of figures."""

LABELS: dict[str, str] = {
    "discrete": "discrete",
    "discrete-double": "discrete, twice the budget",
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
"""Every embedding's name in print, in the order of figures."""

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
    "gap": Metric(label="gap of valid answers, sum / least − 1", factors=_ANSWERS, better="lower"),
    "random_optimal": Metric(label="rate of optimal answers, random", factors=_TESTS),
    "random_gap": Metric(label="gap, random", factors=_TESTS, better="lower"),
    "greedy_optimal": Metric(label="rate of optimal answers, greedy", factors=_TESTS),
    "greedy_gap": Metric(label="gap, greedy", factors=_TESTS, better="lower"),
    "early_valid": Metric(
        label="rate of valid permutations, early",
        factors={"step": (0, EARLY), "decoder": ("token", "row")},
    ),
    "loss_area": Metric(label="mean training loss over all steps", better="lower"),
    "loss_roughness": Metric(label="RMS second difference of the loss", better="lower"),
    "order": Metric(label="Spearman of cosine and nearness", factors=_STAGES),
    "order_change": Metric(label="Spearman of cosine and nearness, of what training added"),
    "learned_order": Metric(label="Spearman of cosine and nearness, learned part", factors=_STAGES),
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
        label="Spearman of cosine and nearness, untrained", factors=_EMBEDDINGS
    ),
    "printed_similarity": Metric(
        label="cosine similarity",
        factors=_PRINTED | {"pair": tuple(f"{u}-{v}" for u, v in PRINTED)},
    ),
    "printed_error": Metric(
        label="distance from the printed similarities", factors=_PRINTED, better="lower"
    ),
    "cycles": Metric(label="cycles of the fastest wave", factors=_PRINTED),
    "chance": Metric(
        label="P(|cosine| as large as printed), random table", factors={"d": CHANCE_WIDTHS}
    ),
    "rise": Metric(label="largest rise of similarity with distance", factors=_CASES),
    "dimension_error": Metric(label="dimensions too many or too few", factors=_CASES),
    "rms_error": Metric(label="|RMS − 1|", factors=_CASES, better="lower"),
    "optimum_error": Metric(label="sum − least of all permutations", factors=_CASES),
    "equivariance_error": Metric(label="change of a logit, moved back", factors=_CASES),
    "relabelling_error": Metric(label="change of a logit", factors=_CASES),
}
