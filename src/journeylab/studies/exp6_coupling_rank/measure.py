"""What the trained models make of the whole noiseless table, and the anchors beside it.

| metric | meaning |
| --- | --- |
| accuracy | share of (t, s) whose argmax_e is the teacher's |
| parameters | numbers that one model learns |
| blind_ceiling | the best accuracy of any answer that does not know t |
| memory | accuracy of naming the most frequent label of the noisy queries at every (t, s) |
| squared_error | ‖S − M‖² / ‖M‖² of models that were fitted to scores |
| eckart_young | the least squared_error of H separable terms: Σ_{h>H} σ_h² / Σ_h σ_h² |
| excess | squared_error / eckart_young − 1, for H < d |
| truncated_accuracy | accuracy of the table cut to its H largest singular values |

M unfolds to T × SE, rows by t. Of learned frequencies the restart of least training loss counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import pandas as pd
import torch
from torch import Tensor, nn

from journeylab.studies.exp6_coupling_rank.models import Coupling, losses
from journeylab.studies.exp6_coupling_rank.settings import HEADS, STACKED, D, Evaluation, Job

if TYPE_CHECKING:
    from journeylab.training import Problem

Row = dict[str, str | int | float]


def measure(job: Job, evaluation: Evaluation, problem: Problem, model: nn.Module) -> pd.DataFrame:
    """Every metric of one seed: metric, H (none of models without heads to count), value."""
    del evaluation  # there is nothing to choose
    asked = cast(Coupling, problem)
    with torch.no_grad():
        made = model()
        lost = losses(made, asked.target, job)
    rows = [*_anchors(asked)]
    if job.variant in STACKED:
        for copy, heads in enumerate(HEADS):
            rows += [row | {"H": heads} for row in _judge(asked, made[copy], heads)]
            size = sum(p.numel() for n, p in model.named_parameters() if f".{copy}." in n)
            rows.append({"metric": "parameters", "H": heads, "value": size})
    else:
        rows += _judge(asked, made[int(lost.argmin())], None)
        size = sum(p.numel() for p in model.parameters()) // len(made)
        rows.append({"metric": "parameters", "value": size})
    table = pd.DataFrame(rows, columns=["metric", "H", "value"])
    return table.astype({"H": "Int64", "value": "float64"})


def accuracy(scores: Tensor, truth: Tensor) -> float:
    """Share of (t, s) with the same argmax_e."""
    return float((scores.argmax(-1) == truth.argmax(-1)).double().mean())


def blind_ceiling(truth: Tensor) -> float:
    """The best accuracy without t, exactly: in every role the most frequent label over t."""
    positions, roles, entities = truth.shape
    counts = torch.eye(entities, dtype=torch.int64)[truth.argmax(-1)].sum(0)
    return int(counts.amax(-1).sum()) / (positions * roles)


def truncations(truth: Tensor) -> Iterator[tuple[int, float, Tensor]]:
    """H, the least relative squared error of H separable terms, and the scores that attain it."""
    left, values, right = torch.linalg.svd(truth.flatten(1), full_matrices=False)
    energy = values.square()
    for heads in HEADS:
        best = left[:, :heads] * values[:heads] @ right[:heads]
        error = float(energy[heads:].sum() / energy.sum())
        yield heads, error, best.reshape(truth.shape)


def _anchors(asked: Coupling) -> Iterator[Row]:
    truth = asked.scores
    yield {"metric": "blind_ceiling", "value": blind_ceiling(truth)}
    yield {"metric": "memory", "value": accuracy(asked.counts, truth)}
    for heads, error, best in truncations(truth):
        yield {"metric": "eckart_young", "H": heads, "value": error}
        yield {"metric": "truncated_accuracy", "H": heads, "value": accuracy(best, truth)}


def _judge(asked: Coupling, made: Tensor, heads: int | None) -> Iterator[Row]:
    truth = asked.scores
    yield {"metric": "accuracy", "value": accuracy(made, truth)}
    if asked.job.fit == "labels":
        return
    scale = truth.square().mean().sqrt()
    error = float((made.double() - truth / scale).square().mean())
    yield {"metric": "squared_error", "value": error}
    if heads is not None and heads < D:
        least = next(error for count, error, _ in truncations(truth) if count == heads)
        yield {"metric": "excess", "value": error / least - 1.0}
