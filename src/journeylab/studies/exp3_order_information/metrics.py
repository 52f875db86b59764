"""The title, question, printed names and metrics of exp3."""

from journeylab.config import Factors, Metric
from journeylab.studies.exp3_order_information.settings import (
    COLOURS,
    LENGTHS,
    PRECISIONS,
    PROBES,
    SETS,
    SPLITS,
    WIDTHS,
)

TITLE = "Order information in value aggregation"
QUESTION = (
    "How many bits about the order of the tokens does an aggregate of position-rotated values "
    "carry, and how many of them does a trained probe extract?"
)
TUNING = (
    "six points of learning rate and initial scale, the same for every judged run, on two pilot "
    "seeds; the table of the search has all values, and unjudged runs have the common setting"
)

LABELS: dict[str, str] = {name: frequencies.label for name, frequencies in SETS.items()}
"""The printed name of every frequency set, its two frequencies at d = 4, in figure order."""

ARMS = {
    f"C{colours}-d{width}": f"{colours} colours, d = {width}"
    for colours in COLOURS
    for width in WIDTHS
} | {"enumeration": "exact enumeration"}
"""The printed name of every arm, in the order of figures."""

_PROBED: Factors = {"probe": PROBES, "N": LENGTHS, "strings": SPLITS}
_ANCHOR: Factors = {"N": LENGTHS}
_ENUMERATED: Factors = {"frequencies": tuple(SETS), "C": COLOURS, "d": WIDTHS, "N": LENGTHS}
_READ = _ENUMERATED | {"epsilon": tuple(f"{precision:g}" for precision in PRECISIONS)}

METRICS = {
    "position_accuracy": Metric("accuracy of the colour at a position", _PROBED),
    "count_accuracy": Metric("accuracy of the count of a colour", _PROBED),
    "v_information": Metric("V-information about the positions, bits", _PROBED),
    "blind_ceiling": Metric("order-blind ceiling E[max n]/N", _ANCHOR),
    "blind_information": Metric("order-blind information about the positions, bits", _ANCHOR),
    "order_entropy": Metric("H(order | counts), bits", _ENUMERATED),
    "mutual_information": Metric("I(X; Q(s) | counts), bits", _READ),
    "information_gap": Metric("H(order | counts) − I(X; Q(s) | counts), bits", _READ),
    "best_accuracy": Metric("position accuracy of the best reader of the counts and Q(s)", _READ),
    "information_growth": Metric(
        "growth of I(X; Q(s) | counts) since the shortest length, bits per token", _READ
    ),
    "precision_law": Metric("d·log₂(1 + range/ε), bits", _READ),
    "law_excess": Metric("mean of I(X; Q(s) | counts) − d·log₂(1 + range/ε), bits", _READ),
}
