"""What trained models answer, the anchors beside it, and what became of their vectors.

| metric | meaning |
| --- | --- |
| valid, optimal | rates over the instances of a test set, by decoder |
| gap | mean of sum / least − 1 over the valid answers; no row where none is valid |
| random_optimal, random_gap | of a uniformly drawn permutation: exact, over all n! of them |
| greedy_optimal, greedy_gap | of taking the cheapest cell that is left, again and again |
| order, first_component, effective_rank | of the vectors of what training shows (``geometry``) |
| order_change | order of what training added to these vectors; no row where it added nothing |
| learned_order | order of the learned table of a hybrid alone |
| similarity | mean cosine similarity of what training shows, at such a distance |
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd
import torch
from torch import nn

from journeylab.models.value_embeddings import Hybrid
from journeylab.studies.exp8_value_embeddings.data import Instances
from journeylab.studies.exp8_value_embeddings.decoding import decode, greedy, judge, sums_of_all
from journeylab.studies.exp8_value_embeddings.geometry import (
    Costs,
    Vectors,
    effective_rank,
    first_component,
    order,
    similarity_by_distance,
)
from journeylab.studies.exp8_value_embeddings.models import Assignment, Recursion, ask
from journeylab.studies.exp8_value_embeddings.settings import (
    DECODERS,
    DISTANCES,
    STAGES,
    TESTS,
    Evaluation,
    Job,
)

if TYPE_CHECKING:
    from journeylab.training import Problem

COLUMNS = ("metric", "test", "decoder", "stage", "distance", "value")
Row = dict[str, str | int | float]


def measure(job: Job, evaluation: Evaluation, problem: Problem, model: nn.Module) -> pd.DataFrame:
    """Every metric of one seed: metric, test, decoder, stage, distance, value."""
    del job, evaluation  # there is nothing to choose
    asked = cast(Assignment, problem)
    rows: list[Row] = []
    for test in TESTS:
        instances = asked.select(test)
        logits = ask(model, instances.shown)
        for decoder in DECODERS:
            found = judge(decode(logits, decoder), instances)
            where: Row = {"test": test, "decoder": decoder}
            rows += [where | {"metric": m, "value": x} for m, x in found.items() if x == x]
        rows += [{"test": test, "metric": m, "value": x} for m, x in anchors(instances).items()]
    shown = np.unique(asked.select("train").shown)
    initial = cast(Recursion, asked.build(asked.streams.generator("init")))
    trained = cast(Recursion, model)
    for stage, each in zip(STAGES, (initial, trained), strict=True):
        rows += [row | {"stage": stage} for row in _describe(each, shown)]
    added: Vectors = table_of(trained) - table_of(initial)
    moved = shown[added[shown].any(-1)]
    if len(moved):
        rows.append({"metric": "order_change", "value": order(added[moved], moved)})
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.astype({"distance": "Int64", "value": "float64"})


def anchors(instances: Instances) -> dict[str, float]:
    """What needs no model: a random permutation, in expectation, and the greedy one."""
    sums, least = sums_of_all(instances.costs), instances.least[:, None]
    found = judge(greedy(instances.costs), instances)
    return {
        "random_optimal": float((sums == least).mean()),
        "random_gap": float((sums / least - 1.0).mean()),
        "greedy_optimal": found["optimal"],
        "greedy_gap": found["gap"],
    }


def _describe(model: Recursion, shown: Costs) -> Iterator[Row]:
    vectors = table_of(model)[shown]
    yield {"metric": "order", "value": order(vectors, shown)}
    yield {"metric": "first_component", "value": first_component(vectors)}
    yield {"metric": "effective_rank", "value": effective_rank(vectors)}
    if isinstance(model.embedding.inner, Hybrid):
        learned = model.embedding.inner.learned.table.detach().double().cpu().numpy()
        yield {"metric": "learned_order", "value": order(learned[shown], shown)}
    for distance, value in similarity_by_distance(vectors, shown).items():
        if distance in DISTANCES:
            yield {"metric": "similarity", "distance": distance, "value": value}


def table_of(model: Recursion) -> Vectors:
    """The vectors of 0 … 150."""
    with torch.no_grad():
        return model.table().double().cpu().numpy()
