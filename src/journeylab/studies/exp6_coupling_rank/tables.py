"""Models that consist of tables: the shapes of the tables, and the scores that they give.

A table has a row per head h. T, S and E count text positions t, roles s and entities e.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import log_softmax

Scores = Float[Tensor, "T S E"]


class TableForm(NamedTuple):
    """A model of tables: ``shapes`` from H, T, S and E, and ``join`` from tables to scores."""

    shapes: Callable[[int, int, int, int], tuple[tuple[int, ...], ...]]
    join: Callable[..., Scores]


def separable(first: Float[Tensor, "H T"], second: Float[Tensor, "H S E"]) -> Scores:
    """Σ_h f_h(t)·g_h(s, e): a sum of separable products, of rank at most H."""
    return torch.einsum("ht,hse->tse", first, second)


def factored(
    first: Float[Tensor, "H T"], second: Float[Tensor, "H S"], third: Float[Tensor, "H E"]
) -> Scores:
    """Σ_h f_h(t)·a_h(s)·b_h(e): a sum of products of three factors."""
    return torch.einsum("ht,hs,he->tse", first, second, third)


def additive_scores(first: Float[Tensor, "H T"], second: Float[Tensor, "H S E"]) -> Scores:
    """Σ_h A_h(t) + B_h(s, e): the sum of the scores of additive heads."""
    return first.sum(0)[:, None, None] + second.sum(0)


def additive_outputs(first: Float[Tensor, "H T E"], second: Float[Tensor, "H S E"]) -> Scores:
    """log ½(mean_h softmax_e A_h + mean_h softmax_e B_h): log-probabilities over e."""
    means = [
        log_softmax(table, -1).logsumexp(0) - math.log(len(table)) for table in (first, second)
    ]
    return torch.logaddexp(means[0][:, None], means[1]) - math.log(2.0)


FORMS: dict[str, TableForm] = {
    "separable": TableForm(lambda h, t, s, e: ((h, t), (h, s, e)), separable),
    "separable-matched": TableForm(lambda h, t, s, e: ((h, t), (h, s), (h, e)), factored),
    "additive-scores": TableForm(lambda h, t, s, e: ((h, t), (h, s, e)), additive_scores),
    "additive-outputs": TableForm(lambda h, t, s, e: ((h, t, e), (h, s, e)), additive_outputs),
}
"""The forms by their names in config.yaml."""
