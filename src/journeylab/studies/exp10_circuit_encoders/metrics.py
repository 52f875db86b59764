"""The printed title, question, names and metrics of exp10."""

from journeylab.config import Factors, Metric
from journeylab.studies.exp10_circuit_encoders.settings import TASKS, Variant

TITLE = "Circuit encoders: circuits that an encoder without wiring cannot distinguish"
QUESTION = (
    "What can a transformer learn about arithmetic circuits if its input does not show which nodes "
    "an operation uses?"
)
TUNING = (
    "learning rate and initial spread of every judged encoder come from one search, by the test "
    "accuracy on pilot seed 1000; the other encoders have the centre of the grid"
)

ARMS = {
    "degree": "degree",
    "digits": "digits in base 5",
    "heads-mean": "degree, mean over nodes",
    "heads-attention": "degree, attention pooling",
    "heads-token": "degree, special token",
    "audit": "checks without training",
}
"""Arm → printed name, in the order of figures."""

LABELS: dict[Variant, str] = {
    "sum": "sum (document)",
    "one-hot": "one-hot (document)",
    "sum-wiring": "sum + wiring",
    "one-hot-wiring": "one-hot + wiring",
    "wiring-no-position": "sum + wiring, no position",
    "wiring-no-node": "sum + wiring, no node index",
    "wiring-neither": "sum + wiring, neither",
    "wiring-learned": "sum + wiring, learned positions",
    "wiring-no-value": "sum + wiring, no value",
    "tree": "child-sum tree",
}
"""Variant → printed name, in the order of figures."""

ENCODERS: dict[str, str] = {
    "documented": "document",
    "documented-neither": "document, no position or node index",
    "wiring": "+ wiring",
    "wiring-no-value": "+ wiring, no value",
    "wiring-no-position": "+ wiring, no position",
    "wiring-no-node": "+ wiring, no node index",
    "wiring-neither": "+ wiring, no position or node index",
}
"""Enumerated encoding → printed name."""
CONVENTIONS = {
    "rounded": "X, P and Y rounded",
    "truncated": "X, P and Y truncated",
    "truncated-rounded": "X truncated, Y rounded",
    "printed": "Y the sum of printed numbers",
}
"""Convention of rounding → printed name."""

_CELL: Factors = {
    "matrix": ("P", "Y"),
    "convention": tuple(CONVENTIONS),
    "row": (0, 1, 2),
    "column": tuple(range(8)),
}
_ENCODER: Factors = {"encoder": tuple(ENCODERS)}
_EXAMPLE: Factors = {"example": (1, 2)}
_FORM: Factors = {"fields": ("documented", "wiring"), "form": ("lookup", "sum")}
_HEAD: Factors = {"head": ("last", "mean", "attention", "token")}

METRICS = {
    "accuracy": Metric("accuracy"),
    "train_accuracy": Metric("accuracy on the training split"),
    "blind_ceiling": Metric("wiring-blind ceiling"),
    "blind_rule": Metric("accuracy of the wiring-blind rule learned from the training split"),
    "commonest": Metric("accuracy of the most frequent answer"),
    "lead": Metric("accuracy above the wiring-blind ceiling"),
    "headroom": Metric("distance of the accuracy from 0.98 and from 0.05 above the floor"),
    "printed_off": Metric("error of a printed entry in units of the last place", _CELL),
    "printed_off_moved": Metric(
        "error of a printed entry moved by ±0.04, in units of the last place", _CELL
    ),
    "token_error": Metric("wrong fields of tokens", _EXAMPLE),
    "token_error_moved": Metric("wrong fields of tokens if a number is increased by 1", _EXAMPLE),
    "undetermined": Metric("fields that the actions do not determine", _EXAMPLE),
    "one_hot_error": Metric("wrong entries of the printed one-hot vector"),
    "one_hot_control": Metric("wrong entries if it stood for another type"),
    "misread_fields": Metric("fields that are not read back from one-hot rows"),
    "misread_control": Metric("such fields if parts are read in the reverse order"),
    "memory_ratio": Metric(
        "numbers of tables / numbers of one-hot rows", {"part": ("input", "weights")}
    ),
    "weight_gap": Metric(
        "|weights of tables − weights of the linear layer|",
        {"part": ("weights", "weights and bias")},
    ),
    "circuits": Metric("number of circuits"),
    "functions": Metric("number of polynomials that the circuits compute"),
    "distinct": Metric("number of different encodings", _ENCODER),
    "functions_per_encoding": Metric(
        "largest number of polynomials that share an encoding", _ENCODER
    ),
    "feature_rank": Metric("rank of the encodings", _ENCODER),
    "ceiling": Metric(
        "best accuracy of answers that depend on the encoding only",
        _ENCODER | {"task": ("degree", "value")},
    ),
    "blind_lift": Metric(
        "wiring-blind ceiling − accuracy of the most frequent answer, over all circuits",
        {"family": ("all", "chains"), "task": TASKS},
    ),
    "equivalence_error": Metric("largest difference between one-hot rows and tables", _FORM),
    "equivalence_control": Metric("largest difference with two rows exchanged", _FORM),
    "padding_error": Metric("largest change of logits by padding", _HEAD),
    "padding_control": Metric("largest change of logits by padding without a mask", _HEAD),
}
