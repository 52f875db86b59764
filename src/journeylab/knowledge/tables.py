"""Texts and rows that the figures and tables of the studies of facts share."""

from collections.abc import Callable
from typing import cast

from journeylab.knowledge.settings import TIERS, Evaluation
from journeylab.plotting import RunName, StudyResults, Table, medians, summary, table

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


def tier_cells(results: StudyResults, run: RunName, own: dict[str, str | int]) -> dict[str, str]:
    """Return a run's cells of the table of hits@1: tiers 1 to 3, tier 2 in its ``own`` format, and
    the number of trained seeds, whose hits@1 at tier 1 is at least the gate.
    """
    tiers = {tier: results.values("hits@1", run, **PRIMARY, tier=tier) for tier in TIERS}
    trained = int((tiers["T1"] >= gate_of(results)).sum())
    return {
        **{f"Tier {tier[1:]}": summary(values, 2) for tier, values in tiers.items()},
        "T2, own format": summary(results.values("hits@1", run, **own, tier="T2"), 2),
        "Trained": f"{trained}/{len(tiers['T1']) + results.failures(*run)}",
    }


def hits_table(
    results: StudyResults,
    heads: tuple[str, str],
    own: Callable[[RunName], dict[str, str | int]],
) -> Table:
    """Return the table of hits@1 with the runs below ``heads``: “Model” and the name of the arms.

    Its numbers are medians: ``native-A.t2`` of tier 2, ``native-A.t2-kg`` of the facts as triples,
    which only native models have.
    """
    rows = []
    for run in results.present:
        arm, label = results.arms.get(run[0], run[0]), results.labels.get(run[1], run[1])
        named = {head: label if head == "Model" else arm for head in heads}
        rows.append(named | tier_cells(results, run, own(run)))
    tiers = {tier: ("hits@1", PRIMARY | {"tier": tier}) for tier in TIERS}
    native = {"tier": "T2", "format": "kg", "candidates": "all"}
    numbers = medians(results, {**tiers, "T2 kg": ("hits@1", native)}).numbers
    return table(rows, words=2, numbers=numbers)
