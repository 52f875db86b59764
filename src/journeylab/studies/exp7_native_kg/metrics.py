"""Title, question, tuning, printed names and metrics of exp7."""

from typing import get_args

from journeylab.config import Metric
from journeylab.knowledge.metrics import FAMILY_KINDS, FAMILY_RELATIONS, tier_metrics
from journeylab.knowledge.settings import TEMPLATES, TIERS
from journeylab.studies.exp7_native_kg.settings import Quantity

TITLE = "Native KG against linearised KG"
QUESTION = (
    "Do models that read a knowledge graph as triples answer text prompts better than models that "
    "read it as sentences?"
)
TUNING = (
    "learning rate of every compared model from one grid with the steps of the study, and scale of "
    "the initial embeddings for A, A′, B and C, by the perplexity of the taught facts of pilot "
    "worlds; the tables are among the results. Batch, steps and dropout were chosen on A at tier "
    "1, because A learns slowest, and are the same for every model"
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
"""Variant → printed name, in the order of figures."""

ARMS = {
    "native": "triples",
    "controls": "triples, one world",
    "7a": "all templates",
    "7a-controls": "all templates, one world",
    "7b-held": "other template",
    "7b-same": "same template, one world",
    "algebra": "algebra",
}
"""Arm → printed name, in the order of figures."""

_COUNTED = {"quantity": get_args(Quantity)}

METRICS = {
    **tier_metrics(TEMPLATES, "character", FAMILY_KINDS, FAMILY_RELATIONS),
    "floor_generation": Metric("floor: relation and generation", {"tier": TIERS}),
    "slot_within_error": Metric("score change by slot angles within a slot"),
    "slot_across_effect": Metric("score change by slot angles across slots"),
    "text_equivalence_error": Metric("A against B on text"),
    "text_equivalence_control": Metric("A against B, text with a slot angle"),
    "baked_key_error": Metric("stored against recomputed keys"),
    "baked_key_control": Metric("stored against recomputed keys, damped operators"),
    "decoding_mismatch": Metric("tokens changed by a cache of baked keys"),
    "decoding_control": Metric("tokens changed by a cache of changing keys"),
    "count": Metric("size that the reviewer plan states", _COUNTED),
    "split_deviation": Metric("relative deviation of the best split from the reviewer plan's"),
    "count_deviation": Metric("relative deviation from the reviewer plan's size", _COUNTED),
}
