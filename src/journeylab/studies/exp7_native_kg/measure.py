"""Evaluation of a trained model of exp7, by tier, and a floor of family worlds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import pandas as pd
from torch import nn

from journeylab.datasets.triples import facts_of
from journeylab.knowledge.measure import measure_tiers
from journeylab.knowledge.problem import SPLIT_OF_TIER, Knowledge
from journeylab.knowledge.reader import Reader
from journeylab.knowledge.settings import Evaluation
from journeylab.studies.exp7_native_kg.settings import Job

if TYPE_CHECKING:
    from journeylab.training import Problem


def measure(job: Job, evaluation: Evaluation, problem: Problem, model: nn.Module) -> pd.DataFrame:
    """Measure one trained model: columns metric, factors, value."""
    knowledge = cast(Knowledge, problem)
    tiers = measure_tiers(knowledge, evaluation, cast(Reader, model))
    floors = pd.DataFrame(
        [
            {"metric": "floor_generation", "tier": tier, "value": value}
            for tier, value in generation_floors(knowledge.facts).items()
        ]
    )
    return pd.concat([tiers, unread(tiers, job), floors], ignore_index=True)


def unread(tiers: pd.DataFrame, job: Job) -> pd.DataFrame:
    """Average over the templates in which a model has not read a fact: format “unread”.

    Of transfer facts these are the templates that its KG rows do not have; of unseen facts all. A
    model whose rows have every template has no such value at tier 2. All templates ask the same
    facts, so the mean over templates is that over prompts.
    """
    prompts = tiers[tiers["candidates"].notna() & tiers["template"].notna()]
    read = prompts["template"].isin(job.linearised_templates) & (prompts["tier"] == "T2")
    prompts = prompts[(prompts["tier"] != "T1") & ~read]
    means = prompts.groupby(["metric", "tier", "candidates"])["value"].mean()
    return means.reset_index().assign(format="unread")


def generation_floors(facts: pd.DataFrame) -> dict[str, float]:
    """Return, by tier, the expected hits@1 of a guess by relation and generation.

    The guess is one of the distinct tails that the relation has, in the rows of every model
    (teaching, transfer), for *other* heads of the generation of the asked head; if there are none,
    for other heads of any generation. All tails are equally likely. The guess uses where a person
    stands in the family, and not who is asked for. The most frequent tail (``floor_marginal``) is
    a worse guess, since tails are nearly balanced: the true one is missing among the others.
    """
    fathers = {
        fact.head: fact.tail for fact in facts_of(facts, "base") if fact.relation == "son_of"
    }
    seen = facts_of(facts, "teaching", "transfer")
    floors = {}
    for tier, split in SPLIT_OF_TIER.items():
        hits = []
        for tested in facts_of(facts, split):
            generation = _ancestors(tested.head, fathers)
            tails = {"all": set[str](), "same": set[str]()}
            for other in seen:
                if other.relation == tested.relation and other != tested:
                    tails["all"].add(other.tail)
                    if _ancestors(other.head, fathers) == generation:
                        tails["same"].add(other.tail)
            guesses = tails["same"] or tails["all"]
            hits.append((tested.tail in guesses) / max(len(guesses), 1))
        floors[tier] = sum(hits) / len(hits)
    return floors


def _ancestors(person: str, fathers: Mapping[str, str]) -> int:
    """The number of known ancestors in the male line, which is the generation."""
    count = 0
    while person in fathers:
        person, count = fathers[person], count + 1
    return count
