"""From logits to assignments, three ways, and what an assignment is worth.

| decoder | an answer | is valid |
| --- | --- | --- |
| token | every cell by itself: assigned where its logit is above 0 | where that is a permutation |
| row | the column of the largest logit in every row | where no column is taken twice |
| hungarian | the permutation of the largest sum of logits | always |

A valid answer whose sum of costs is least is optimal, whichever of tied optima it is.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from journeylab.studies.exp8_value_embeddings.data import Instances, Whole, assign, total
from journeylab.studies.exp8_value_embeddings.settings import Decoder

Logits = NDArray[np.float32]
NOWHERE = -1
"""The column of a row that has no answer."""


def decode(logits: Logits, decoder: Decoder) -> Whole:
    """The column of every row ``(instances, n)``; ``NOWHERE`` in all rows of an invalid answer."""
    if decoder == "hungarian":
        return assign(-logits)
    columns: Whole = logits.argmax(-1)
    valid = (np.sort(columns, -1) == np.arange(logits.shape[-1])).all(-1)
    if decoder == "token":
        valid &= ((logits > 0).sum(-1) == 1).all(-1)
    return np.where(valid[:, None], columns, NOWHERE)


def judge(columns: Whole, instances: Instances) -> dict[str, float]:
    """Rates of valid and of optimal answers, and the mean gap of valid ones: sum / least − 1.

    The gap is NaN where no answer is valid.
    """
    valid = columns[:, 0] != NOWHERE
    excess = total(instances.costs, np.maximum(columns, 0)) - instances.least
    gaps = (excess / instances.least)[valid]
    return {
        "valid": float(valid.mean()),
        "optimal": float((valid & (excess == 0)).mean()),
        "gap": float(gaps.mean()) if len(gaps) else np.nan,
    }


def greedy(costs: Whole) -> Whole:
    """The cheapest cell that is left, again and again: columns ``(instances, n)``."""
    left = costs.astype(np.float64)
    count, n, _ = costs.shape
    columns = np.full((count, n), NOWHERE)
    every = np.arange(count)
    for _ in range(n):
        row, column = np.divmod(left.reshape(count, -1).argmin(1), n)
        columns[every, row] = column
        left[every, row, :] = np.inf
        left[every, :, column] = np.inf
    return columns


def sums_of_all(costs: Whole) -> Whole:
    """The sums of costs of all n! assignments ``(instances, n!)``."""
    n = costs.shape[-1]
    every = np.array(list(itertools.permutations(range(n))))
    sums: Whole = costs[:, np.arange(n), every].sum(-1)
    return sums
