"""What exp7 reports, in print: its title, how it was tuned, its models and metrics."""

from typing import get_args

from journeylab.config import Metric
from journeylab.knowledge.settings import TEMPLATES, TIERS
from journeylab.studies.exp7_native_kg.settings import Quantity

TITLE = "Native KG against linearised KG"
TUNING = (
    "one setting for all variants, fixed on pilot seeds (1000 and above) before the first reported "
    "run; the scales of the initial embeddings and outputs were picked so that A passes the tier-1 "
    "gate, and then given to every model"
)

LABELS = {
    "A": "A",
    "Aprime": "A′",
    "A-no-slots": "A (θ = 0)",
    "A-sequential": "A (θ = 0, sequential)",
    "A-causal": "A (causal KG)",
    "A-predict-all": "A (predict all)",
    "B": "B",
    "Bprime": "B′",
    "C": "C",
    "Cprime": "C′",
    "B-mlm": "B (MLM)",
}
"""Every model's name in print, in the order of figures."""

ARMS = {name: name for name in ("native", "7a", "7b-held", "7b-same")}
"""The order of arms in figures; in print they are called as in config.yaml."""

_RANKED: dict[str, tuple[str | int, ...]] = {
    "tier": TIERS,
    "format": ("text", "kg"),
    "template": TEMPLATES,
    "candidates": ("all", "type"),
}
_SCORED = {name: _RANKED[name] for name in ("tier", "format", "template")}
_FLOOR = {"tier": _RANKED["tier"]}
_COUNTED = {"quantity": get_args(Quantity)}

METRICS = {
    "hits@1": Metric(label="hits@1", factors=_RANKED),
    "hits@5": Metric(label="hits@5", factors=_RANKED),
    "mrr": Metric(label="mean reciprocal rank", factors=_RANKED),
    "log_rank": Metric(label="mean log rank", factors=_RANKED, better="lower"),
    "perplexity": Metric(label="perplexity per character", factors=_SCORED, better="lower"),
    "exact_match": Metric(label="greedy exact match", factors=_SCORED),
    "floor_uniform": Metric(label="floor: any entity", factors=_FLOOR),
    "floor_type": Metric(label="floor: any entity of the type", factors=_FLOOR),
    "floor_marginal": Metric(label="floor: relation marginal", factors=_FLOOR),
    "slot_within_error": Metric(label="slot angle within a slot", better="lower"),
    "slot_across_effect": Metric(label="slot angle across slots"),
    "text_equivalence_error": Metric(label="A against B on text", better="lower"),
    "text_equivalence_control": Metric(label="A against B, text with a slot angle"),
    "baked_key_error": Metric(label="stored against recomputed keys", better="lower"),
    "baked_key_control": Metric(label="stored against recomputed keys, damped operators"),
    "decoding_mismatch": Metric(label="tokens that a cache of baked keys changes", better="lower"),
    "decoding_control": Metric(label="tokens that a cache of moving keys changes"),
    "count": Metric(label="size of the world", factors=_COUNTED),
    "count_deviation": Metric(
        label="relative deviation from the plan's count", factors=_COUNTED, better="lower"
    ),
}
