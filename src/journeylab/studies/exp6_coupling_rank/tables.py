"""Models that are made of tables: how those are shaped, and how they are joined to scores.

A table belongs to H heads; T, S and E count text positions t, roles s and entities e. Scores are
``(T, S, E)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import log_softmax


class Form(NamedTuple):
    """A model made of tables: their shapes, by H, T, S and E, and how they are joined."""

    shapes: Callable[[int, int, int, int], tuple[tuple[int, ...], ...]]
    join: Callable[..., Tensor]


def separable(first: Tensor, second: Tensor) -> Tensor:
    """Σ_h f_h(t)·g_h(s, e) from ``(H, T)`` and ``(H, S, E)``."""
    return torch.einsum("ht,hse->tse", first, second)


def factored(first: Tensor, second: Tensor, third: Tensor) -> Tensor:
    """Σ_h f_h(t)·a_h(s)·b_h(e) from ``(H, T)``, ``(H, S)`` and ``(H, E)``."""
    return torch.einsum("ht,hs,he->tse", first, second, third)


def additive_scores(first: Tensor, second: Tensor) -> Tensor:
    """Σ_h A_h(t) + B_h(s, e) from ``(H, T)`` and ``(H, S, E)``."""
    return first.sum(0)[:, None, None] + second.sum(0)


def additive_outputs(first: Tensor, second: Tensor) -> Tensor:
    """log ½(mean_h softmax_e A_h + mean_h softmax_e B_h) from ``(H, T, E)`` and ``(H, S, E)``."""
    means = [
        log_softmax(table, -1).logsumexp(0) - math.log(len(table)) for table in (first, second)
    ]
    return torch.logaddexp(means[0][:, None], means[1]) - math.log(2.0)


FORMS: dict[str, Form] = {
    "separable": Form(lambda h, t, s, e: ((h, t), (h, s, e)), separable),
    "separable-matched": Form(lambda h, t, s, e: ((h, t), (h, s), (h, e)), factored),
    "additive-scores": Form(lambda h, t, s, e: ((h, t), (h, s, e)), additive_scores),
    "additive-outputs": Form(lambda h, t, s, e: ((h, t, e), (h, s, e)), additive_outputs),
}
"""Every form by its name in config.yaml."""
