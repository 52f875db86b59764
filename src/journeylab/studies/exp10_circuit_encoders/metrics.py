"""The printed title, question, names and metrics of exp10."""

from journeylab.config import Metric
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

_CELL: dict[str, tuple[str | int, ...]] = {
    "matrix": ("P", "Y"),
    "convention": tuple(CONVENTIONS),
    "row": (0, 1, 2),
    "column": tuple(range(8)),
}
_ENCODER: dict[str, tuple[str | int, ...]] = {"encoder": tuple(ENCODERS)}
_EXAMPLE: dict[str, tuple[str | int, ...]] = {"example": (1, 2)}
_FORM: dict[str, tuple[str | int, ...]] = {
    "fields": ("documented", "wiring"),
    "form": ("lookup", "sum"),
}
_HEAD: dict[str, tuple[str | int, ...]] = {"head": ("last", "mean", "attention", "token")}

METRICS = {
    "accuracy": Metric(label="accuracy"),
    "train_accuracy": Metric(label="accuracy on the training split"),
    "blind_ceiling": Metric(label="wiring-blind ceiling"),
    "blind_rule": Metric(label="accuracy of the wiring-blind rule learned from the training split"),
    "commonest": Metric(label="accuracy of the most frequent answer"),
    "lead": Metric(label="accuracy above the wiring-blind ceiling"),
    "headroom": Metric(label="distance of the accuracy from 0.98 and from 0.05 above the floor"),
    "printed_off": Metric(
        label="error of a printed entry in units of the last place", factors=_CELL, better="lower"
    ),
    "printed_off_moved": Metric(
        label="error of a printed entry moved by ±0.04, in units of the last place", factors=_CELL
    ),
    "token_error": Metric(label="wrong fields of tokens", factors=_EXAMPLE, better="lower"),
    "token_error_moved": Metric(
        label="wrong fields of tokens if a number is increased by 1", factors=_EXAMPLE
    ),
    "undetermined": Metric(
        label="fields that the actions do not determine", factors=_EXAMPLE, better="lower"
    ),
    "one_hot_error": Metric(label="wrong entries of the printed one-hot vector", better="lower"),
    "one_hot_control": Metric(label="wrong entries if it stood for another type"),
    "misread_fields": Metric(
        label="fields that are not read back from one-hot rows", better="lower"
    ),
    "misread_control": Metric(label="such fields if parts are read in the reverse order"),
    "memory_ratio": Metric(
        label="numbers of tables / numbers of one-hot rows",
        factors={"part": ("input", "weights")},
        better="lower",
    ),
    "weight_gap": Metric(
        label="|weights of tables − weights of the linear layer|",
        factors={"part": ("weights", "weights and bias")},
        better="lower",
    ),
    "circuits": Metric(label="number of circuits"),
    "functions": Metric(label="number of polynomials that the circuits compute"),
    "distinct": Metric(label="number of different encodings", factors=_ENCODER),
    "functions_per_encoding": Metric(
        label="largest number of polynomials that share an encoding",
        factors=_ENCODER,
        better="lower",
    ),
    "feature_rank": Metric(label="rank of the encodings", factors=_ENCODER),
    "ceiling": Metric(
        label="best accuracy of answers that depend on the encoding only",
        factors=_ENCODER | {"task": ("degree", "value")},
    ),
    "blind_lift": Metric(
        label="wiring-blind ceiling − accuracy of the most frequent answer, over all circuits",
        factors={"family": ("all", "chains"), "task": TASKS},
    ),
    "equivalence_error": Metric(
        label="largest difference between one-hot rows and tables", factors=_FORM, better="lower"
    ),
    "equivalence_control": Metric(
        label="largest difference with two rows exchanged", factors=_FORM
    ),
    "padding_error": Metric(
        label="largest change of logits by padding", factors=_HEAD, better="lower"
    ),
    "padding_control": Metric(
        label="largest change of logits by padding without a mask", factors=_HEAD
    ),
}
