"""The printed title, question, names and metrics of exp6."""

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

_HEADS: dict[str, tuple[str | int, ...]] = {"H": HEADS}
_TEACHERS: dict[str, tuple[str | int, ...]] = {"frequencies": FREQUENCIES, "operators": OPERATORS}
_RANK = _TEACHERS | {"arithmetic": ARITHMETICS}

METRICS = {
    "accuracy": Metric(label="accuracy", factors=_HEADS),
    "parameters": Metric(label="parameters of one model", factors=_HEADS, better="lower"),
    "blind_ceiling": Metric(label="position-blind ceiling"),
    "memory": Metric(label="accuracy of the most frequent noisy label"),
    "truncated_accuracy": Metric(label="accuracy of the best rank-H scores", factors=_HEADS),
    "squared_error": Metric(label="‖S − M‖² / ‖M‖²", factors=_HEADS, better="lower"),
    "eckart_young": Metric(
        label="smallest ‖S − M‖² / ‖M‖² of rank H", factors=_HEADS, better="lower"
    ),
    "excess": Metric(label="excess of ‖S − M‖² over Eckart–Young", factors=_HEADS, better="lower"),
    "rank": Metric(label="rank of M", factors=_RANK),
    "rank_defect": Metric(label="|rank of M − d|", factors=_RANK, better="lower"),
    "rank_error": Metric(label="|rank of M − rank that ω gives|", factors=_RANK, better="lower"),
    "rounded_error": Metric(
        label="|rank of M in single precision − rank that ω gives|", factors=_TEACHERS
    ),
    "gap": Metric(label="σ(r) / σ(r + 1) at the rank r", factors=_RANK),
    "least_error": Metric(
        label="smallest ‖S − M‖ / ‖M‖ of d − 1 separable terms", factors=_RANK, better="lower"
    ),
    "singular_value": Metric(label="σ_i / σ_1", factors=_RANK | {"i": tuple(range(1, D + 2))}),
    "cancellation": Metric(label="change of softmax_e with t", factors=_HEADS, better="lower"),
    "lost_accuracy": Metric(label="accuracy lost against d heads", factors=_HEADS, better="lower"),
}
