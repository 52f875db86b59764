"""The printed title, question, names and metrics of exp5."""

from journeylab.config import Factors, Metric
from journeylab.studies.exp5_ssm_bridge.settings import LENGTHS, OPERATORS, PRECISIONS

TITLE = "SSM bridge: a journey with one fixed operator is a linear recurrence"
QUESTION = (
    "In floating-point arithmetic, does a journey head with one fixed operator compute the same "
    "state as a linear recurrence?"
)
TUNING = "nothing is trained, so nothing was tuned"

LABELS = {
    "rotation": "rotation",
    "orthogonal": "orthogonal",
    "contracted": "contracted",
    "nonnormal": "non-normal",
    "growing": "growing",
}
"""Operator → printed name, in the order of figures."""

ARMS = {"bridge": ""}
"""Arm → printed name. The only arm needs no name."""

_LEVELS: Factors = {"operator": OPERATORS, "precision": PRECISIONS, "N": LENGTHS}

METRICS = {
    "relative_error": Metric("relative error of the journey form", _LEVELS),
    "recurrence_error": Metric("relative error of the recurrence", _LEVELS),
    "disagreement": Metric("relative distance between the two forms", _LEVELS),
    "scan_error": Metric("relative error of the scan", _LEVELS),
    "state_lost": Metric(
        "error of the journey form where the recurrence is right to 1e-10", _LEVELS
    ),
    "one_minus_cosine": Metric("1 − cosine of the two forms", _LEVELS),
    "error_over_rounding": Metric("largest relative error / (4·d·N·u)", _LEVELS),
    "error_over_bound": Metric("largest relative error / (100·u·N·max‖R^±k‖²)", _LEVELS),
    "bound": Metric("100·u·N·max‖R^±k‖²", _LEVELS),
    "growth": Metric("max‖R^±k‖", _LEVELS),
    "identity_error": Metric(
        "relative distance between the two forms in arbitrary precision", _LEVELS
    ),
    "negative_control_error": Metric("relative error with one power of R too many", _LEVELS),
    "negative_control_cosine": Metric("cosine with one power of R too many", _LEVELS),
}
