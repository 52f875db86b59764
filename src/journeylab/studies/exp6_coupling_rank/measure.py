"""Trained models on the whole noiseless table, and anchors that need no training.

| metric | meaning |
| --- | --- |
| accuracy | share of (t, s) with the teacher's argmax_e |
| parameters | number of parameters of one model |
| blind_ceiling | the best accuracy of any answer that does not depend on t |
| memory | accuracy of the most frequent label among the noisy queries at every (t, s) |
| squared_error | ‖S − M‖² / ‖M‖² of models that were fitted to scores |
| eckart_young | the smallest squared_error of H separable terms: Σ_{h>H} σ_h² / Σ_h σ_h² |
| excess | squared_error / eckart_young − 1, for H < d |
| truncated_accuracy | accuracy of M truncated to its H largest singular values |

M is unfolded to T × SE with a row per t. Of several restarts, the one with the smallest training
loss is measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor, nn

from journeylab.studies.exp6_coupling_rank.models import Coupling, best_copies, losses
from journeylab.studies.exp6_coupling_rank.settings import HEADS, STACKED, D, Evaluation, Job
from journeylab.studies.exp6_coupling_rank.tables import truncations

if TYPE_CHECKING:
    from journeylab.training import Problem

Row = dict[str, str | int | float]


def measure(job: Job, evaluation: Evaluation, problem: Problem, model: nn.Module) -> pd.DataFrame:
    """Every metric of one seed: metric, H (missing for models without a number of heads), value."""
    del evaluation  # it has no options
    coupling = cast(Coupling, problem)
    with torch.no_grad():
        scores = model()
        copy_losses = losses(scores, coupling.target, job)
    rows = [*_anchors(coupling)]
    chosen, restarts = best_copies(copy_losses, job), job.model.restarts
    if job.variant in STACKED:
        for group, (copy, heads) in enumerate(zip(chosen, HEADS, strict=True)):
            rows += [row | {"H": heads} for row in _evaluate(coupling, scores[copy], heads)]
            size = sum(p.numel() for n, p in model.named_parameters() if f".{group}." in n)
            rows.append({"metric": "parameters", "H": heads, "value": size // restarts})
    else:
        rows += _evaluate(coupling, scores[chosen[0]], None)
        size = sum(p.numel() for p in model.parameters()) // restarts
        rows.append({"metric": "parameters", "value": size})
    table = pd.DataFrame(rows, columns=["metric", "H", "value"])
    return table.astype({"H": "Int64", "value": "float64"})


def accuracy(scores: Float[Tensor, "T S E"], truth: Float[Tensor, "T S E"]) -> float:
    """Share of (t, s) with the same argmax_e."""
    return float((scores.argmax(-1) == truth.argmax(-1)).double().mean())


def blind_ceiling(truth: Float[Tensor, "T S E"]) -> float:
    """The exact best accuracy without t: for every role, the most frequent label over t."""
    positions, roles, entities = truth.shape
    counts = torch.eye(entities, dtype=torch.int64)[truth.argmax(-1)].sum(0)
    return int(counts.amax(-1).sum()) / (positions * roles)


def _anchors(coupling: Coupling) -> Iterator[Row]:
    truth = coupling.scores
    yield {"metric": "blind_ceiling", "value": blind_ceiling(truth)}
    yield {"metric": "memory", "value": accuracy(coupling.counts, truth)}
    for heads, error, best in truncations(truth):
        yield {"metric": "eckart_young", "H": heads, "value": error}
        yield {"metric": "truncated_accuracy", "H": heads, "value": accuracy(best, truth)}


def _evaluate(coupling: Coupling, scores: Tensor, heads: int | None) -> Iterator[Row]:
    truth = coupling.scores
    yield {"metric": "accuracy", "value": accuracy(scores, truth)}
    if coupling.job.fit == "labels":
        return
    scale = truth.square().mean().sqrt()
    error = float((scores.double() - truth / scale).square().mean())
    yield {"metric": "squared_error", "value": error}
    if heads is not None and heads < D:
        least = next(error for count, error, _ in truncations(truth) if count == heads)
        yield {"metric": "excess", "value": error / least - 1.0}
