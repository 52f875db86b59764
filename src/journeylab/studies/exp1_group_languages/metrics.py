"""The title, question, printed names and metrics of exp1."""

from journeylab.config import Factors, Metric
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

_LENGTHS: Factors = {"n": (*range(SHORTEST, LONGEST + 1), *FAR)}
_TASKS: Factors = {"case": TASK_NAMES}
_WEIGHTS: Factors = {"case": ("Z3", "S3", "A5")}
_SCALAR: Factors = {"case": ("scalar",), "n": (*range(2, ENUMERABLE + 1), LONGEST, *FAR)}
_ENUMERATED: Factors = {"n": tuple(range(1, ENUMERABLE + 1))}

METRICS = {
    "accuracy": Metric("accuracy where the logits are finite", _LENGTHS),
    "overflow": Metric("share of strings whose logits are not finite", _LENGTHS),
    "worst_accuracy": Metric(f"accuracy at the worst length {SHORTEST} … {LONGEST}"),
    "mean_accuracy": Metric(f"mean accuracy over lengths {SHORTEST} … {LONGEST}"),
    "gap": Metric("mean over lengths of accuracy − Parikh ceiling"),
    "ceiling": Metric("Parikh ceiling", _LENGTHS | _TASKS),
    "chance": Metric("best constant answer", _LENGTHS | _TASKS),
    "ceiling_error": Metric(
        "ceiling by dynamic programming against ceiling by enumeration", _TASKS | _ENUMERATED
    ),
    "exact_accuracy": Metric("accuracy of exact orthogonal weights", _WEIGHTS),
    "exact_margin": Metric("least margin of exact orthogonal weights", _WEIGHTS),
    "exact_drift": Metric("distance from the exact state", _WEIGHTS),
    "aggregation_accuracy": Metric("accuracy of exact weights as an aggregation", _WEIGHTS),
    "aggregation_drift": Metric("distance of an aggregation from the exact state", _WEIGHTS),
    "transition_error": Metric(
        "error of a transition of an exact aggregation",
        {"case": ("permutations",), "n": tuple(range(2, MOST_STATES + 1))},
    ),
    "aggregator_misjudged": Metric(
        "strings of B that the scalar aggregator labels wrongly", {"case": ("scalar",)}
    ),
    "aggregator_accuracy": Metric("accuracy of the scalar aggregator on B", _SCALAR),
    "aggregator_margin": Metric("least margin of the scalar aggregator on B", _SCALAR),
    "aggregator_bound_error": Metric("least margin against its closed form", _SCALAR),
    "aggregator_float32": Metric(
        "powers of 2.5 that float32 cannot hold, up to 100", {"case": ("scalar",)}
    ),
    "parikh_split": Metric(
        "Parikh classes with more than one state",
        {"case": ("commuting", "affine", "aggregation", "S3")},
    ),
    "parikh_spread": Metric("spread of states within a Parikh class", {"case": COMMUTING}),
    "missing_exponentials": Metric(
        "sign changes needed − sign changes possible", {"case": ("real",)}
    ),
}
