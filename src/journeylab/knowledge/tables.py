"""Texts and numbers that the figures and tables of the studies of facts share."""

from typing import cast

from journeylab.knowledge.settings import Evaluation
from journeylab.plotting import StudyResults

TIER_TITLES = {"T1": "Tier 1: taught in text", "T2": "Tier 2: transfer", "T3": "Tier 3: never seen"}
PRIMARY: dict[str, str | int] = {"format": "text", "template": 0, "candidates": "all"}
"""The factor levels of the primary hits@1: text prompts in template 0, among all entities."""


def worlds_per_seed(results: StudyResults) -> str:
    """Return how many worlds a seed has, in words, with the arms that differ from the first."""
    settings, by_number = results.settings, dict[int, list[str]]()
    for arm, variant in settings.trained():
        arms = by_number.setdefault(settings.resolve(arm, variant).data["worlds"], [])
        name = f"“{results.arms.get(arm, arm)}”"
        arms += [name] * (name not in arms)
    [(worlds, _), *others] = by_number.items() or [(1, [])]
    exceptions = "; ".join(f"{other} in {', '.join(arms)}" for other, arms in others)
    phrase = "one world" if worlds == 1 else f"{worlds} worlds"
    return f"{phrase} ({exceptions})" if exceptions else phrase


def gate_of(results: StudyResults) -> float:
    """Return the hits@1 at tier 1 below which a run is undertrained."""
    return cast(Evaluation, results.settings.section("evaluation")).gate


def undertrained(results: StudyResults) -> dict[str, int]:
    """Return how many runs finished, and how many of them are below the gate at tier 1."""
    tier1 = results.pool("hits@1", **{**PRIMARY, "tier": "T1"})
    below = int((tier1["value"] < gate_of(results)).sum())
    return {"runs.finished": len(tier1), "runs.undertrained": below}
