"""What figures and tables of studies of facts say alike."""

from journeylab.knowledge.settings import TIERS
from journeylab.plotting import RunName, StudyResults, summary

TITLES = {"T1": "Tier 1: taught in text", "T2": "Tier 2: transfer", "T3": "Tier 3: never seen"}
ASKED: dict[str, str | int] = {"format": "text", "template": 0, "candidates": "all"}
"""How the main question is asked: in English, in template 0, of all entities."""


def tell_tiers(
    results: StudyResults, run: RunName, gate: float, own: dict[str, str | int]
) -> dict[str, str]:
    """hits@1 of a run at every tier, at tier 2 in its ``own`` format, and the seeds that learned.

    ``gate`` is the least hits@1 at tier 1 of a seed that did.
    """
    tiers = {tier: results.values("hits@1", run, **ASKED, tier=tier) for tier in TIERS}
    trained = int((tiers["T1"] >= gate).sum())
    return {
        **{f"Tier {tier[1:]}": summary(values, 2) for tier, values in tiers.items()},
        "T2, own format": summary(results.values("hits@1", run, **own, tier="T2"), 2),
        "Trained": f"{trained}/{len(tiers['T1']) + results.failures(*run)}",
    }
