"""Models that consist of tables: the shapes of the tables, and the scores that they give.

A table has a row per head h; leading dimensions are independent models. T, S and E count text
positions t, roles s and entities e.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import log_softmax

from journeylab.studies.exp6_coupling_rank.settings import HEADS

Scores = Float[Tensor, "*batch T S E"]


class TableForm(NamedTuple):
    """A model of tables: ``shapes`` from H, T, S and E, and ``join`` from tables to scores."""

    shapes: Callable[[int, int, int, int], tuple[tuple[int, ...], ...]]
    join: Callable[..., Scores]


def separable(first: Float[Tensor, "*batch H T"], second: Float[Tensor, "*batch H S E"]) -> Scores:
    """Σ_h f_h(t)·g_h(s, e): a sum of separable products, of rank at most H."""
    return torch.einsum("...ht,...hse->...tse", first, second)


def factored(
    first: Float[Tensor, "*batch H T"],
    second: Float[Tensor, "*batch H S"],
    third: Float[Tensor, "*batch H E"],
) -> Scores:
    """Σ_h f_h(t)·a_h(s)·b_h(e): a sum of products of three factors."""
    return torch.einsum("...ht,...hs,...he->...tse", first, second, third)


def additive(first: Float[Tensor, "*batch H T E"], second: Float[Tensor, "*batch H S E"]) -> Scores:
    """Σ_h f_h(t, e) + g_h(s, e): the summed scores of heads that read the position or the role."""
    return first.sum(-3)[..., None, :] + second.sum(-3)[..., None, :, :]


def additive_scores(
    first: Float[Tensor, "*batch H T"], second: Float[Tensor, "*batch H S E"]
) -> Scores:
    """Σ_h A_h(t) + B_h(s, e): the same, where the position does not choose among entities."""
    return additive(first[..., None], second)


def additive_outputs(
    first: Float[Tensor, "*batch H T E"], second: Float[Tensor, "*batch H S E"]
) -> Scores:
    """log ½(mean_h softmax_e A_h + mean_h softmax_e B_h): log-probabilities over e."""
    means = [
        log_softmax(table, -1).logsumexp(-3) - math.log(table.shape[-3])
        for table in (first, second)
    ]
    return torch.logaddexp(means[0][..., None, :], means[1][..., None, :, :]) - math.log(2.0)


FORMS: dict[str, TableForm] = {
    "separable": TableForm(lambda h, t, s, e: ((h, t), (h, s, e)), separable),
    "separable-matched": TableForm(lambda h, t, s, e: ((h, t), (h, s), (h, e)), factored),
    "additive": TableForm(lambda h, t, s, e: ((h, t, e), (h, s, e)), additive),
    "additive-scores": TableForm(lambda h, t, s, e: ((h, t), (h, s, e)), additive_scores),
    "additive-outputs": TableForm(lambda h, t, s, e: ((h, t, e), (h, s, e)), additive_outputs),
}
"""The forms by their names in config.yaml."""


def truncations(
    truth: Float[Tensor, "T S E"],
) -> Iterator[tuple[int, float, Float[Tensor, "T S E"]]]:
    """For every H: H, the smallest relative squared error of H separable terms, and their scores.

    Source: Eckart and Young, The approximation of one matrix by another of lower rank, 1936.
    """
    left, values, right = torch.linalg.svd(truth.flatten(1), full_matrices=False)
    energy = values.square()
    for heads in HEADS:
        best = left[:, :heads] * values[:heads] @ right[:heads]
        error = float(energy[heads:].sum() / energy.sum())
        yield heads, error, best.reshape(truth.shape)
