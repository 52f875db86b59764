"""What the trained poolings answer, and the anchor beside it.

| metric | meaning |
| --- | --- |
| accuracy | share of the outputs that are right, over the test strings |
| exact | share of the test strings of which all outputs are right |
| ceiling | the best accuracy of any permutation-invariant pooling, over all strings |
| diagonal | mean of S_ii over the test strings of distinct symbols, where k = n |
| least_pair | least over pairs of outputs of the largest difference of their weights |

The last two are measured of poolings that have weights S, the last one on the sentence only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pandas as pd
import torch
from torch import Tensor, nn

from journeylab.studies.exp11_sabag_pooling.models import Pooler, Strings
from journeylab.studies.exp11_sabag_pooling.settings import Evaluation, Job
from journeylab.studies.exp11_sabag_pooling.tasks import ceiling

if TYPE_CHECKING:
    from journeylab.training import Problem


def measure(job: Job, evaluation: Evaluation, problem: Problem, model: nn.Module) -> pd.DataFrame:
    """Every metric of one seed: metric, value."""
    del evaluation  # there is nothing to choose
    strings, pooler = cast(Strings, problem), cast(Pooler, model)
    right = strings.right(model)
    found = {
        "accuracy": float(right.mean()),
        "exact": float(right.prod(1).mean()),
        "ceiling": ceiling(job.task, job.data),
    }
    with torch.no_grad():
        weights = pooler.pool(strings.test.symbols, strings.test_start).weights
    if weights is not None and weights.shape[1] == weights.shape[2]:
        found["diagonal"] = diagonal_mass(weights, strings.test.symbols)
    if weights is not None and job.task == "sentence":
        found["least_pair"] = least_pair(weights[0])
    return pd.DataFrame(found.items(), columns=["metric", "value"])


def diagonal_mass(weights: Tensor, symbols: Tensor) -> float:
    """Mean of S_ii over rows whose symbols are all different."""
    ordered = symbols.sort(1).values
    distinct = (ordered[:, 1:] != ordered[:, :-1]).all(1)
    return float(weights[distinct].diagonal(dim1=1, dim2=2).mean())


def least_pair(weights: Tensor) -> float:
    """min over pairs j ≠ l of max_i |S_ji − S_li| for S ``(k, n)``."""
    apart = (weights[:, None] - weights[None]).abs().amax(-1)
    pairs = torch.triu_indices(len(weights), len(weights), 1)
    return float(apart[pairs[0], pairs[1]].min())
