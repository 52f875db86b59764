"""What exp7 reports, in print: its title, how it was tuned, its models and metrics."""

from typing import get_args

from journeylab.config import Metric
from journeylab.knowledge.metrics import tier_metrics
from journeylab.knowledge.settings import TEMPLATES
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

_COUNTED = {"quantity": get_args(Quantity)}

METRICS = {
    **tier_metrics(TEMPLATES, "character"),
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
