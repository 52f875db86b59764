"""The title, question, printed names and metrics of exp1."""

from journeylab.config import Metric
from journeylab.studies.exp1_group_languages.settings import (
    COMMUTING,
    ENUMERABLE,
    FAR,
    LONGEST,
    MOST_STATES,
    SHORTEST,
    TASK_NAMES,
    VARIANTS,
    Family,
    Form,
)

TITLE = "Group languages: which operators recognise languages that depend on letter order"
QUESTION = (
    "Can a model with one operator per letter recognise languages that depend on the order of the "
    "letters, and does it fail if its operators commute?"
)
TUNING = (
    "five points of learning rate and initial scale, on two pilot seeds, for the runs in the "
    "table of the search; all other runs have the common setting"
)

FAMILY_LABELS: dict[Family, str] = {
    "orthogonal": "orthogonal",
    "linear": "general linear",
    "toral": "toral",
    "complex": "complex diagonal",
    "real": "real diagonal",
    "diagonal": "free diagonal",
}
FORM_LABELS: dict[Form, str] = {"product": "product state", "aggregation": "aggregation"}
LABELS = {
    name: f"{FAMILY_LABELS[family]} {FORM_LABELS[form]}"
    for name, (family, form) in VARIANTS.items()
}
"""The printed name of every variant, in the order of figures."""

ARMS = {
    "A": "A: #a mod 3 = 0",
    "B": "B: ab before ba",
    "Bbal": "B given #a = n/2",
    "S3": "S3 state",
    "A5": "A5 state",
    "Z6": "Z6 state",
    "certificates": "exact checks",
}
"""The printed name of every arm, in the order of figures; trained arms have their task's name."""

Levels = dict[str, tuple[str | int, ...]]

_LENGTHS: Levels = {"n": (*range(SHORTEST, LONGEST + 1), *FAR)}
_TASKS: Levels = {"case": TASK_NAMES}
_WEIGHTS: Levels = {"case": ("Z3", "S3", "A5")}
_SCALAR: Levels = {"case": ("scalar",), "n": (*range(2, ENUMERABLE + 1), LONGEST, *FAR)}
_ENUMERATED: Levels = {"n": tuple(range(1, ENUMERABLE + 1))}

METRICS = {
    "accuracy": Metric(label="accuracy where the logits are finite", factors=_LENGTHS),
    "overflow": Metric(
        label="share of strings whose logits are not finite", factors=_LENGTHS, better="lower"
    ),
    "worst_accuracy": Metric(label=f"accuracy at the worst length {SHORTEST} … {LONGEST}"),
    "mean_accuracy": Metric(label=f"mean accuracy over lengths {SHORTEST} … {LONGEST}"),
    "gap": Metric(label="mean over lengths of accuracy − Parikh ceiling"),
    "ceiling": Metric(label="Parikh ceiling", factors=_LENGTHS | _TASKS),
    "chance": Metric(label="best constant answer", factors=_LENGTHS | _TASKS),
    "ceiling_error": Metric(
        label="ceiling by dynamic programming against ceiling by enumeration",
        factors=_TASKS | _ENUMERATED,
        better="lower",
    ),
    "exact_accuracy": Metric(label="accuracy of exact orthogonal weights", factors=_WEIGHTS),
    "exact_margin": Metric(label="least margin of exact orthogonal weights", factors=_WEIGHTS),
    "exact_drift": Metric(label="distance from the exact state", factors=_WEIGHTS, better="lower"),
    "aggregation_accuracy": Metric(
        label="accuracy of exact weights as an aggregation", factors=_WEIGHTS
    ),
    "aggregation_drift": Metric(
        label="distance of an aggregation from the exact state", factors=_WEIGHTS, better="lower"
    ),
    "transition_error": Metric(
        label="error of a transition of an exact aggregation",
        factors={"case": ("permutations",), "n": tuple(range(2, MOST_STATES + 1))},
        better="lower",
    ),
    "aggregator_misjudged": Metric(
        label="strings of B that the scalar aggregator labels wrongly",
        factors={"case": ("scalar",)},
        better="lower",
    ),
    "aggregator_accuracy": Metric(label="accuracy of the scalar aggregator on B", factors=_SCALAR),
    "aggregator_margin": Metric(
        label="least margin of the scalar aggregator on B", factors=_SCALAR
    ),
    "aggregator_bound_error": Metric(
        label="least margin against its closed form", factors=_SCALAR, better="lower"
    ),
    "aggregator_float32": Metric(
        label="powers of 2.5 that float32 cannot hold, up to 100", factors={"case": ("scalar",)}
    ),
    "parikh_split": Metric(
        label="Parikh classes with more than one state",
        factors={"case": ("commuting", "affine", "aggregation", "S3")},
    ),
    "parikh_spread": Metric(
        label="spread of states within a Parikh class", factors={"case": COMMUTING}, better="lower"
    ),
    "missing_exponentials": Metric(
        label="sign changes needed − sign changes possible", factors={"case": ("real",)}
    ),
}
