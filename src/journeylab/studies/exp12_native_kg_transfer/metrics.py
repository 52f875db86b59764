"""Title, question, tuning, printed names and metrics of exp12."""

from journeylab.config import Metric
from journeylab.knowledge.metrics import FAMILY_KINDS, FAMILY_RELATIONS, tier_metrics
from journeylab.studies.exp12_native_kg_transfer.settings import Variant

TITLE = "When does native KG transfer?"
QUESTION = (
    "When can a model state in text the facts that it has read only as knowledge-graph triples?"
)
TUNING = (
    "rate and initial scale of the models in the table of the search come from one grid, on a "
    "pilot seed; the others keep those of the study"
)

LABELS: dict[Variant, str] = {
    "A": "A",
    "A-plus-causal": "A + causal",
    "A-tail": "A (tail only)",
    "B": "B",
    "B-mlm": "B (MLM)",
}
"""Variant → printed name, in the order of figures."""

ARMS = {
    "size-k1": "world ×1",
    "size-k3": "world ×3",
    "size-k10": "world ×10",
    "unscaled-k1": "world ×1, embeddings σ = 1",
    "unscaled-k10": "world ×10, embeddings σ = 1",
    "split-k1": "4 tokens a name, world ×1",
    "split-k3": "4 tokens a name, world ×3",
    "split-k10": "4 tokens a name, world ×10",
    "bridging-p10": "10 % bridged",
    "bridging-p30": "30 % bridged",
    "bridging-p70": "70 % bridged",
    "unseen": "regularised, world ×10",
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
    "cache_error": Metric("hidden states with stored entries, against one pass"),
    "cache_control": Metric("the same, with slots exchanged in the stored entries"),
    "order_error": Metric("hidden states with entries in another order"),
    "order_control": Metric("the same, with the entries read as one text"),
    "leaks": Metric("facts in training rows that their tier forbids"),
    "leak_control": Metric("the same, with all facts written as text"),
    "moved": Metric("facts whose tier differs between bridged shares"),
    "moved_control": Metric("the same, between two worlds"),
}
