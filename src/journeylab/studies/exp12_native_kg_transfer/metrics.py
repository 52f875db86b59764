"""Title, question, tuning, printed names and metrics of exp12."""

from journeylab.config import Metric
from journeylab.knowledge.metrics import FAMILY_KINDS, FAMILY_RELATIONS, tier_metrics
from journeylab.studies.exp12_native_kg_transfer.settings import Variant

TITLE = "When does native KG transfer?"
QUESTION = (
    "When can a model state in text the facts that it has read only as knowledge-graph triples?"
)
TUNING = (
    "one setting for all variants of an arm, fixed before the first run; pilot seeds (1000 and "
    "above) were only used to check that the taught facts are learned"
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
"""Variant → printed name, in the order of figures."""

ARMS = {
    "size-k1": "world ×1",
    "size-k3": "world ×3",
    "size-k10": "world ×10",
    "tokens-m2": "2 tokens a name",
    "tokens-m4": "4 tokens a name",
    "bridging-p10": "10 % bridged",
    "bridging-p30": "30 % bridged",
    "bridging-p50": "50 % bridged",
    "bridging-p70": "70 % bridged",
    "unseen": "regularised",
    "repository": "",  # the variants are named repository of …
    "certificates": "certificates",
}
"""Arm → printed name, in the order of figures."""

METRICS = {
    **tier_metrics(
        (0, 1),
        "token",
        (*FAMILY_KINDS, "town", "house", "guild"),
        (*FAMILY_RELATIONS, "born_in", "works_for", "member_of"),
    ),
    "cache_error": Metric(
        label="hidden states with stored entries, against one pass", better="lower"
    ),
    "cache_control": Metric(label="the same, with slots exchanged in the stored entries"),
    "order_error": Metric(label="hidden states with entries in another order", better="lower"),
    "order_control": Metric(label="the same, with the entries read as one text"),
    "leaks": Metric(label="facts in training rows that their tier forbids", better="lower"),
    "leak_control": Metric(label="the same, with all facts written as text"),
    "moved": Metric(label="facts whose tier differs between bridged shares", better="lower"),
    "moved_control": Metric(label="the same, between two worlds"),
}
