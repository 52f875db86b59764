"""Three decoders from logits to assignments, and the evaluation of assignments.

| decoder | answer | valid if |
| --- | --- | --- |
| token | a cell is assigned if its logit is above 0 | the assigned cells form a permutation |
| row | the column of the largest logit of every row | no column occurs twice |
| hungarian | the permutation with the largest sum of logits | always |

A valid answer is optimal if its sum of costs is smallest; all tied optima count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from journeylab.studies.exp8_value_embeddings.data import Instances, Integers, assign, total
from journeylab.studies.exp8_value_embeddings.settings import Decoder

Logits = NDArray[np.float32]
NOWHERE = -1
"""The column of a row without a valid answer."""


def decode(logits: Logits, decoder: Decoder) -> Integers:
    """The columns ``(instances, n)`` of the answers; ``NOWHERE`` in all rows if invalid."""
    if decoder == "hungarian":
        return assign(-logits)
    columns: Integers = logits.argmax(-1)
    valid = (np.sort(columns, -1) == np.arange(logits.shape[-1])).all(-1)
    if decoder == "token":
        valid &= ((logits > 0).sum(-1) == 1).all(-1)
    return np.where(valid[:, None], columns, NOWHERE)


def judge(columns: Integers, instances: Instances) -> dict[str, float]:
    """Rates of valid and of optimal answers, and the mean gap of valid answers, sum / optimum − 1.

    The gap is NaN if no answer is valid.
    """
    valid = columns[:, 0] != NOWHERE
    excess = total(instances.costs, np.maximum(columns, 0)) - instances.least
    gaps = (excess / instances.least)[valid]
    return {
        "valid": float(valid.mean()),
        "optimal": float((valid & (excess == 0)).mean()),
        "gap": float(gaps.mean()) if len(gaps) else np.nan,
    }


def greedy(costs: Integers) -> Integers:
    """Greedy assignments ``(instances, n)``: always take the cheapest cell that is still free."""
    free = costs.astype(np.float64)
    count, n, _ = costs.shape
    columns = np.full((count, n), NOWHERE)
    every = np.arange(count)
    for _ in range(n):
        row, column = np.divmod(free.reshape(count, -1).argmin(1), n)
        columns[every, row] = column
        free[every, row, :] = np.inf
        free[every, :, column] = np.inf
    return columns
