"""The printed title, question, names and metrics of exp5."""

from journeylab.config import Metric
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

_LEVELS: dict[str, tuple[str | int, ...]] = {
    "operator": OPERATORS,
    "precision": PRECISIONS,
    "N": LENGTHS,
}


def _error(label: str) -> Metric:
    return Metric(label=label, factors=_LEVELS, better="lower")


METRICS = {
    "relative_error": _error("relative error of the journey form"),
    "recurrence_error": _error("relative error of the recurrence"),
    "disagreement": _error("relative distance between the two forms"),
    "scan_error": _error("relative error of the scan"),
    "state_lost": _error("error of the journey form where the recurrence is right to 1e-10"),
    "one_minus_cosine": _error("1 − cosine of the two forms"),
    "error_over_rounding": _error("largest relative error / (4·d·N·u)"),
    "error_over_bound": _error("largest relative error / (100·u·N·max‖R^±k‖²)"),
    "bound": _error("100·u·N·max‖R^±k‖²"),
    "growth": _error("max‖R^±k‖"),
    "identity_error": _error("relative distance between the two forms in arbitrary precision"),
    "negative_control_error": Metric(
        label="relative error with one power of R too many", factors=_LEVELS, better="higher"
    ),
    "negative_control_cosine": Metric(
        label="cosine with one power of R too many", factors=_LEVELS, better="lower"
    ),
}
