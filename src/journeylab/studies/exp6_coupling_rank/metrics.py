"""What exp6 reports, in print: its title, how it was tuned, its models and metrics."""

from journeylab.config import Metric
from journeylab.studies.exp6_coupling_rank.settings import (
    ARITHMETICS,
    FREQUENCIES,
    HEADS,
    OPERATORS,
    D,
    Frequencies,
    Variant,
)

TITLE = "Coupling rank: one journey head against d additive heads"
TUNING = (
    "one rate and one initial spread for all, fixed on pilot seeds (1000 and above) before the "
    "first reported run, and the first budgets that were tried at which journey heads answer as "
    "well as memory does (labels) and up to four separable heads attain their least error (scores)"
)

ARMS = {
    "random-toral": "random ω, toral roles",
    "random-orthogonal": "random ω, orthogonal roles",
    "decaying-toral": "decaying ω, toral roles",
    "decaying-orthogonal": "decaying ω, orthogonal roles",
    "random-labels": "random labels",
    "random-toral-scores": "scores, random ω, toral roles",
    "random-orthogonal-scores": "scores, random ω, orthogonal roles",
    "decaying-toral-scores": "scores, decaying ω, toral roles",
    "decaying-orthogonal-scores": "scores, decaying ω, orthogonal roles",
}
"""Every arm's name in print, in the order of figures."""

LABELS: dict[Variant, str] = {
    "journey": "journey",
    "journey-learned": "journey, learned ω",
    "separable": "separable",
    "separable-matched": "separable, matched",
    "additive-scores": "additive scores",
    "additive-outputs": "additive outputs",
}
"""Every model's name in print, in the order of figures."""

FREQUENCY_SETS: dict[Frequencies, str] = {
    "decaying": "{1, .3, .1, .03}",
    "random": "random",
    "integer": "{0, 1, 2, 3}",
    "repeated": "{1, 1, .1, .03}",
}
"""Every set of frequencies by its name in config.yaml, with its name in print."""

_HEADS: dict[str, tuple[str | int, ...]] = {"H": HEADS}
_TEACHERS: dict[str, tuple[str | int, ...]] = {
    "frequencies": FREQUENCIES,
    "operators": OPERATORS,
}
_RANK = _TEACHERS | {"arithmetic": ARITHMETICS}

METRICS = {
    "accuracy": Metric(label="accuracy", factors=_HEADS),
    "parameters": Metric(label="parameters of one model", factors=_HEADS, better="lower"),
    "blind_ceiling": Metric(label="t-blind ceiling"),
    "memory": Metric(label="accuracy of the most frequent noisy label"),
    "truncated_accuracy": Metric(label="accuracy of the best rank-H scores", factors=_HEADS),
    "squared_error": Metric(label="‖S − M‖² / ‖M‖²", factors=_HEADS, better="lower"),
    "eckart_young": Metric(label="least ‖S − M‖² / ‖M‖² of rank H", factors=_HEADS, better="lower"),
    "excess": Metric(label="excess of ‖S − M‖² over Eckart–Young", factors=_HEADS, better="lower"),
    "rank": Metric(label="rank of M", factors=_RANK),
    "rank_defect": Metric(label="|rank of M − d|", factors=_RANK, better="lower"),
    "rank_error": Metric(label="|rank of M − what ω gives|", factors=_RANK, better="lower"),
    "rounded_error": Metric(
        label="|rank of M in single precision − what ω gives|", factors=_TEACHERS
    ),
    "gap": Metric(label="σ(r) / σ(r + 1) at the rank r", factors=_RANK),
    "singular_value": Metric(label="σ_i / σ_1", factors=_RANK | {"i": tuple(range(1, D + 2))}),
    "cancellation": Metric(label="change of softmax_e with t", factors=_HEADS, better="lower"),
}
