"""The metrics that every study of facts measures tier by tier."""

from journeylab.config import Metric
from journeylab.knowledge.settings import TIERS


def tier_metrics(templates: tuple[int, ...], token: str) -> dict[str, Metric]:
    """Ranks, perplexity per ``token`` and exact match in some ``templates``, and the floors."""
    scored: dict[str, tuple[str | int, ...]] = {
        "tier": TIERS,
        "format": ("text", "kg"),
        "template": templates,
    }
    ranked = scored | {"candidates": ("all", "type")}
    floor = {"tier": TIERS}
    return {
        "hits@1": Metric(label="hits@1", factors=ranked),
        "hits@5": Metric(label="hits@5", factors=ranked),
        "mrr": Metric(label="mean reciprocal rank", factors=ranked),
        "log_rank": Metric(label="mean log rank", factors=ranked, better="lower"),
        "perplexity": Metric(label=f"perplexity per {token}", factors=scored, better="lower"),
        "exact_match": Metric(label="greedy exact match", factors=scored),
        "floor_uniform": Metric(label="floor: any entity", factors=floor),
        "floor_type": Metric(label="floor: any entity of the type", factors=floor),
        "floor_marginal": Metric(label="floor: relation marginal", factors=floor),
    }
