"""Accuracy of the trained poolings, its exact ceiling, and properties of the weights S.

| metric | meaning |
| --- | --- |
| accuracy | share of correct outputs, over the test strings |
| exact | share of test strings with only correct outputs |
| ceiling | the best accuracy of any permutation-invariant pooling, over all strings |
| diagonal | mean of S_ii over test strings of distinct symbols, if k = n |
| least_pair | largest difference of two outputs' weights, minimum over pairs of outputs |

The last two exist only for poolings with weights S, the last one only for the sentence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from journeylab.studies.exp11_sabag_pooling.models import Pooler, PoolingProblem
from journeylab.studies.exp11_sabag_pooling.settings import Evaluation, Job
from journeylab.studies.exp11_sabag_pooling.tasks import ceiling

if TYPE_CHECKING:
    from journeylab.training import Problem


def measure(job: Job, evaluation: Evaluation, problem: Problem, model: nn.Module) -> pd.DataFrame:
    """Every metric of one seed: metric, value."""
    del evaluation  # it has no settings
    strings, pooler = cast(PoolingProblem, problem), cast(Pooler, model)
    right = strings.right(model)
    values = {
        "accuracy": float(right.mean()),
        "exact": float(right.prod(1).mean()),
        "ceiling": ceiling(job.task, job.data),
    }
    with torch.no_grad():
        weights = pooler.pool(strings.test.symbols, strings.test_start).weights
    if weights is not None and weights.shape[1] == weights.shape[2]:
        values["diagonal"] = diagonal_mass(weights, strings.test.symbols)
    if weights is not None and job.task == "sentence":
        values["least_pair"] = least_pair(weights[0])
    return pd.DataFrame(values.items(), columns=["metric", "value"])


def diagonal_mass(weights: Float[Tensor, "rows k n"], symbols: Int[Tensor, "rows n"]) -> float:
    """Mean of S_ii over rows whose symbols are all different; k = n."""
    ordered = symbols.sort(1).values
    distinct = (ordered[:, 1:] != ordered[:, :-1]).all(1)
    return float(weights[distinct].diagonal(dim1=1, dim2=2).mean())


def least_pair(weights: Float[Tensor, "k n"]) -> float:
    """min over pairs j ≠ l of max_i |S_ji − S_li|."""
    apart = (weights[:, None] - weights[None]).abs().amax(-1)
    pairs = torch.triu_indices(len(weights), len(weights), 1)
    return float(apart[pairs[0], pairs[1]].min())
