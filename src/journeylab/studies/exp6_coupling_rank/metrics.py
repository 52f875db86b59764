"""The printed title, question, names and metrics of exp6."""

from journeylab.config import Factors, Metric
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
QUESTION = "How many heads that read position and role separately can replace one journey head?"
TUNING = (
    "learning rate and initial standard deviation from one grid of 12 settings, searched for every "
    "judged arm on four pilot seeds (1000 and above); of the settings within 4 % of the smallest "
    "loss, the most central spread and the largest rate inside the grid; restarts raised until a "
    "journey head finds the frequencies of pilot seeds, the same number for the matched heads"
)

ARMS = {
    "random-toral": "random frequencies, toral",
    "random-orthogonal": "random frequencies, orthogonal",
    "decaying-toral": "decaying frequencies, toral",
    "random-labels": "random labels",
    "random-toral-scores": "scores, random frequencies, toral",
    "random-orthogonal-scores": "scores, random frequencies, orthogonal",
    "decaying-toral-scores": "scores, decaying frequencies, toral",
    "decaying-orthogonal-scores": "scores, decaying frequencies, orthogonal",
    "rank": "rank of the scores",
    "cancellation": "softmax of random tables",
    "fewer": "fewer heads than d, random tables",
}
"""Arm → printed name, in the order of figures."""
FITTED = tuple(arm for arm in ARMS if arm.endswith("-scores"))
"""The arms whose models are fitted to scores."""
LABELLED = tuple(arm for arm in ARMS if arm not in (*FITTED, "rank", "cancellation", "fewer"))
"""The arms whose models are trained on labels."""

LABELS: dict[Variant, str] = {
    "journey-learned": "journey, learned frequencies",
    "journey": "journey, given frequencies",
    "separable": "separable",
    "separable-matched": "separable, matched size",
    "additive": "additive",
    "additive-outputs": "additive outputs",
}
"""Variant → printed name, in the order of figures."""

FREQUENCY_SETS: dict[Frequencies, str] = {
    "decaying": "decaying {1, .3, .1, .03}",
    "random": "random",
    "integer": "{0, 1, 2, 3}",
    "repeated": "{1, 1, .1, .03}",
}
"""Set of frequencies, as in config.yaml → printed name."""

_HEADS: Factors = {"H": HEADS}
_TEACHERS: Factors = {"frequencies": FREQUENCIES, "operators": OPERATORS}
_RANK = _TEACHERS | {"arithmetic": ARITHMETICS}

METRICS = {
    "accuracy": Metric("accuracy", _HEADS),
    "parameters": Metric("parameters of one model", _HEADS),
    "blind_ceiling": Metric("position-blind ceiling"),
    "memory": Metric("accuracy of the most frequent noisy label"),
    "truncated_accuracy": Metric("accuracy of the best rank-H scores", _HEADS),
    "squared_error": Metric("‖S − M‖² / ‖M‖²", _HEADS),
    "eckart_young": Metric("smallest ‖S − M‖² / ‖M‖² of rank H", _HEADS),
    "excess": Metric("excess of ‖S − M‖² over Eckart–Young", _HEADS),
    "rank": Metric("rank of M", _RANK),
    "rank_defect": Metric("|rank of M − d|", _RANK),
    "rank_error": Metric("|rank of M − rank that ω gives|", _RANK),
    "rounded_error": Metric("|rank of M in single precision − rank that ω gives|", _TEACHERS),
    "gap": Metric("σ(r) / σ(r + 1) at the rank r", _RANK),
    "least_error": Metric("smallest ‖S − M‖ / ‖M‖ of d − 1 separable terms", _RANK),
    "singular_value": Metric("σ_i / σ_1", _RANK | {"i": tuple(range(1, D + 2))}),
    "cancellation": Metric("change of softmax_e with t", _HEADS),
    "lost_accuracy": Metric("accuracy lost against d heads", _HEADS),
}
