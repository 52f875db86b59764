"""The metrics that every study of facts measures."""

from journeylab.config import Factors, Metric
from journeylab.knowledge.settings import TIERS

FAMILY_KINDS = ("person", "city", "country")
FAMILY_RELATIONS = (
    *("son_of", "brother_of", "located_in", "lives_in"),
    *("grandson_of", "great_grandson_of", "nephew_of", "citizen_of"),
)
"""The types of entities and the relations of a family world."""

WORLD = (
    *("entities", "facts"),
    *(f"{split} facts" for split in ("base", "teaching", "transfer", "shown", "generalisation")),
    *("text rows", "text tokens", "KG rows", "symbols", "name tokens"),
)
"""The sizes of a world and of its rows that every study of facts measures."""


def tier_metrics(
    templates: tuple[int, ...], token: str, kinds: tuple[str, ...], relations: tuple[str, ...]
) -> dict[str, Metric]:
    """Ranks, perplexity per ``token``, exact match and floors by tier, and sizes of the world.

    Ranks, perplexity and exact match are those of the scored ``templates``. The sizes include the
    number of entities of every kind and of facts of every relation.
    """
    scored: Factors = {"tier": TIERS, "format": ("text", "kg"), "template": templates}
    ranked: Factors = scored | {"candidates": ("all", "type")}
    floor: Factors = {"tier": TIERS}
    quantities = (*WORLD, *kinds, *(f"{relation} facts" for relation in relations))
    return {
        "hits@1": Metric("hits@1", ranked),
        "hits@5": Metric("hits@5", ranked),
        "mrr": Metric("mean reciprocal rank", ranked),
        "log_rank": Metric("mean log rank", ranked),
        "perplexity": Metric(f"perplexity per {token}", scored),
        "exact_match": Metric("greedy exact match", scored),
        "floor_uniform": Metric("floor: any entity", floor),
        "floor_type": Metric("floor: any entity of the type", floor),
        "floor_marginal": Metric("floor: relation marginal", floor),
        "world_size": Metric("size of the world", {"quantity": quantities}),
    }
