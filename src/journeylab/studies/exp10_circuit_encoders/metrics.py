"""What exp10 reports, in print: its title, how it was tuned, its models and metrics."""

from journeylab.config import Metric
from journeylab.studies.exp10_circuit_encoders.settings import TASKS, Variant

TITLE = "Circuit encoders: what an encoder without wiring can tell apart"
TUNING = (
    "rate, batch and epochs were given, one setting for all variants; pilot seeds (1000 and above) "
    "only showed that encoders with wiring learn both tasks in these budgets"
)

ARMS = {
    "degree": "degree",
    "value": "value modulo 5",
    "heads-mean": "degree, mean head",
    "heads-attention": "degree, attention head",
    "heads-token": "degree, special token",
}
"""Every arm's name in print, in the order of figures."""

LABELS: dict[Variant, str] = {
    "sum": "sum (documented)",
    "one-hot": "one-hot (documented)",
    "sum-wiring": "sum + wiring",
    "one-hot-wiring": "one-hot + wiring",
    "wiring-no-position": "+ wiring − position",
    "wiring-no-node": "+ wiring − node index",
    "wiring-neither": "+ wiring − both",
    "wiring-learned": "+ wiring, learned positions",
    "wiring-no-value": "+ wiring − value",
    "tree": "child-sum tree",
}
"""Every model's name in print, in the order of figures."""

ENCODERS: dict[str, str] = {
    "documented": "documented",
    "documented-neither": "documented − position − node index",
    "wiring": "+ wiring",
    "wiring-no-value": "+ wiring − value",
    "wiring-no-position": "+ wiring − position",
    "wiring-no-node": "+ wiring − node index",
    "wiring-neither": "+ wiring − position − node index",
}
"""What is enumerated, with its name in print."""
CONVENTIONS = {
    "rounded": "X, P and Y rounded",
    "truncated": "X, P and Y truncated",
    "truncated-rounded": "X truncated, Y rounded",
    "printed": "Y the sum of printed numbers",
}

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
    "train_accuracy": Metric(label="accuracy on the circuits to learn from"),
    "blind_ceiling": Metric(label="wiring-blind ceiling"),
    "blind_ceiling_all": Metric(label="wiring-blind ceiling over all circuits"),
    "blind_rule": Metric(label="accuracy of the wiring-blind rule that training shows"),
    "commonest": Metric(label="accuracy of the most frequent answer"),
    "printed_off": Metric(
        label="units in the last place by which an entry is off", factors=_CELL, better="lower"
    ),
    "printed_off_moved": Metric(label="the same of an entry moved by ±0.04", factors=_CELL),
    "token_error": Metric(label="wrong fields of tokens", factors=_EXAMPLE, better="lower"),
    "token_error_moved": Metric(label="the same, one number larger by 1", factors=_EXAMPLE),
    "undetermined": Metric(
        label="fields that actions do not determine", factors=_EXAMPLE, better="lower"
    ),
    "memory_ratio": Metric(
        label="numbers held by tables / by one-hot rows",
        factors={"part": ("input", "weights")},
        better="lower",
    ),
    "weight_gap": Metric(
        label="|weights of tables − weights of the linear layer|",
        factors={"part": ("weights", "weights and bias")},
        better="lower",
    ),
    "circuits": Metric(label="circuits"),
    "functions": Metric(label="polynomials that they compute"),
    "distinct": Metric(label="different encodings", factors=_ENCODER),
    "functions_per_encoding": Metric(
        label="most polynomials that share an encoding", factors=_ENCODER, better="lower"
    ),
    "feature_rank": Metric(label="rank of the encodings", factors=_ENCODER),
    "ceiling": Metric(
        label="best accuracy of answers by the encoding", factors=_ENCODER | {"task": TASKS}
    ),
    "equivalence_error": Metric(
        label="largest difference of one-hot rows and tables", factors=_FORM, better="lower"
    ),
    "equivalence_control": Metric(label="the same, two rows exchanged", factors=_FORM),
    "padding_error": Metric(
        label="largest change of logits by padding", factors=_HEAD, better="lower"
    ),
    "padding_control": Metric(label="the same without a mask", factors=_HEAD),
}
