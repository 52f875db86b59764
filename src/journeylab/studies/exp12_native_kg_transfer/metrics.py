"""What exp12 reports, in print: its title, how it was tuned, its models and metrics."""

from journeylab.config import Metric
from journeylab.knowledge.metrics import tier_metrics
from journeylab.studies.exp12_native_kg_transfer.settings import Variant

TITLE = "When does native KG transfer?"
TUNING = (
    "one setting for all variants of an arm, given before anything was run; pilot seeds (1000 and "
    "above) only showed whether what is taught is learned in it"
)

LABELS: dict[Variant, str] = {
    "A": "A",
    "A-plus-causal": "A + causal",
    "A-tail": "A (tail only)",
    "B": "B",
    "B-mlm": "B (MLM)",
    "A-repository": "repository of triples",
    "B-repository": "repository of sentences",
}
"""Every model's name in print, in the order of figures."""

ARMS = {
    "size-k1": "k = 1",
    "size-k3": "k = 3",
    "size-k10": "k = 10",
    "tokens-m2": "m = 2",
    "tokens-m4": "m = 4",
    "bridging-p10": "p = 0.1",
    "bridging-p30": "p = 0.3",
    "bridging-p50": "p = 0.5",
    "bridging-p70": "p = 0.7",
    "unseen": "regularised",
    "repository": "repository",
}
"""Every arm's name in print, in the order of figures."""

METRICS = {
    **tier_metrics((0, 1), "token"),
    "cache_error": Metric(
        label="hidden states beside baked entries, against one pass", better="lower"
    ),
    "cache_control": Metric(label="the same, slots exchanged when they were baked"),
    "order_error": Metric(
        label="change of hidden states by another order of the entries", better="lower"
    ),
    "order_control": Metric(label="the same, entries read as one text"),
    "leaks": Metric(label="facts shown where they must not be", better="lower"),
    "leak_control": Metric(label="the same, all facts as text"),
    "moved": Metric(label="facts that change their tier with what is bridged", better="lower"),
    "moved_control": Metric(label="the same between two worlds"),
}
