"""Answers of trained models, anchors without a model, and the geometry of trained vectors.

| metric | meaning |
| --- | --- |
| valid, optimal | rates over the instances of a test set, by decoder |
| gap | mean of sum / optimum − 1 over the valid answers; no row if none is valid |
| random_optimal, random_gap | expectation for a uniform permutation, exact over all n! |
| greedy_optimal, greedy_gap | for the greedy assignment |
| order | rank correlation of similarity and nearness (``geometry.rank_correlation``) |
| first_component, effective_rank | see ``geometry`` |
| order_change | order of (trained − initial) vectors; no row if training changed nothing |
| learned_order | order of the learned table of a hybrid alone |
| similarity | mean cosine similarity of pairs of costs, by distance |

All geometry is of the vectors of the numbers that training shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd
import torch
from torch import nn

from journeylab.models.value_embeddings import Hybrid
from journeylab.studies.exp8_value_embeddings.data import Instances, sums_of_all
from journeylab.studies.exp8_value_embeddings.decoding import decode, greedy, judge
from journeylab.studies.exp8_value_embeddings.geometry import (
    Costs,
    Vectors,
    effective_rank,
    first_component,
    rank_correlation,
    similarity_by_distance,
)
from journeylab.studies.exp8_value_embeddings.models import Assignment, Recursion, predict
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
    del job, evaluation  # the problem holds the job, and an evaluation has no options
    assignment = cast(Assignment, problem)
    rows: list[Row] = []
    for test in TESTS:
        instances = assignment.select(test)
        logits = predict(model, instances.shown)
        for decoder in DECODERS:
            rates = judge(decode(logits, decoder), instances)
            where: Row = {"test": test, "decoder": decoder}
            known = {name: x for name, x in rates.items() if not np.isnan(x)}
            rows += [where | {"metric": name, "value": x} for name, x in known.items()]
        rows += [{"test": test, "metric": m, "value": x} for m, x in anchors(instances).items()]
    shown = np.unique(assignment.select("train").shown)
    initial = cast(Recursion, assignment.build(assignment.streams.generator("init")))
    trained = cast(Recursion, model)
    for stage, stage_model in zip(STAGES, (initial, trained), strict=True):
        rows += [row | {"stage": stage} for row in _describe(stage_model, shown)]
    change: Vectors = table_of(trained) - table_of(initial)
    changed = shown[change[shown].any(-1)]
    if len(changed):
        rows.append({"metric": "order_change", "value": rank_correlation(change[changed], changed)})
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.astype({"distance": "Int64", "value": "float64"})


def anchors(instances: Instances) -> dict[str, float]:
    """Rates and gaps without a model: of a random permutation (expected) and of greedy choice."""
    sums, least = sums_of_all(instances.costs), instances.least[:, None]
    greedy_rates = judge(greedy(instances.costs), instances)
    return {
        "random_optimal": float((sums == least).mean()),
        "random_gap": float((sums / least - 1.0).mean()),
        "greedy_optimal": greedy_rates["optimal"],
        "greedy_gap": greedy_rates["gap"],
    }


def _describe(model: Recursion, shown: Costs) -> Iterator[Row]:
    vectors = table_of(model)[shown]
    yield {"metric": "order", "value": rank_correlation(vectors, shown)}
    yield {"metric": "first_component", "value": first_component(vectors)}
    yield {"metric": "effective_rank", "value": effective_rank(vectors)}
    if isinstance(model.embedding.inner, Hybrid):
        learned = model.embedding.inner.learned.table.detach().double().cpu().numpy()
        yield {"metric": "learned_order", "value": rank_correlation(learned[shown], shown)}
    for distance, value in similarity_by_distance(vectors, shown).items():
        if distance in DISTANCES:
            yield {"metric": "similarity", "distance": distance, "value": value}


def table_of(model: Recursion) -> Vectors:
    """The vectors ``(151, d)`` of 0 … 150, in float64."""
    with torch.no_grad():
        return model.table().double().cpu().numpy()
