"""One seed's assignment problems: cost matrices and their optimal assignments.

    12  71  40  88   5      row r is assigned to column a_r; here (2, 4, 0, 1, 3):
    90  33  64  57   9      the sum of costs is 40 + 9 + 2 + 17 + 21 = 89
     2  45  76  81  60
    55  17  92  38  29      the gap of a worse assignment is (sum − 89) / 89
    68  49  23  21  74

Training costs are uniform on 1 … 100 without 3, 8, …, 98. Test sets: ``iid`` has the same costs;
``close`` has those instances of this kind whose second-best assignment costs exactly 1 more than
the best; ``held-out`` has only 3, 8, …, 98; ``shifted`` is uniform on 50 … 150. If optima are tied,
the label is the result of ``scipy.optimize.linear_sum_assignment``. With permuted labels, a model
is shown π(cost) for a random permutation π of 1 … 100, so that the shown numbers have no order.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from journeylab.streams import Streams
from journeylab.studies.exp8_value_embeddings.settings import (
    HELD_OUT,
    HIGHEST,
    KNOWN,
    SHIFT,
    Data,
)

DATASET = "costs"
"""The dataset that computed runs generate again."""

DRAWN = 2000
"""Number of instances from which close ones are selected at a time."""

Integers = NDArray[np.int64]


class Instances(NamedTuple):
    """Costs and shown numbers ``(instances, n, n)``, and optimal columns ``(instances, n)``."""

    costs: Integers
    shown: Integers
    columns: Integers

    @property
    def least(self) -> Integers:
        """The smallest sums of costs ``(instances,)``."""
        return total(self.costs, self.columns)


def generate(data: Data, streams: Streams) -> pd.DataFrame:
    """One seed's rows: split, costs c0 …, shown numbers s0 …, and optimal columns a0 …."""
    ranges = {
        "train": np.array(KNOWN),
        "iid": np.array(KNOWN),
        "close": np.array(KNOWN),
        "held-out": np.array(HELD_OUT),
        "shifted": np.arange(SHIFT, HIGHEST + SHIFT + 1),
    }
    names = np.arange(HIGHEST + SHIFT + 1)
    if data.labels == "permuted":
        names[1 : HIGHEST + 1] = 1 + streams.numpy("names").permutation(HIGHEST)
    parts = []
    for split, values in ranges.items():
        count = data.train if split == "train" else data.test
        draw = _draw_close if split == "close" else _draw
        costs = draw(streams.numpy(split), values, count, data.n)
        assigned = assign(costs.reshape(count, data.n, data.n))
        numbers = np.concatenate((costs, names[costs], assigned), 1).astype(np.int16)
        part = pd.DataFrame(numbers, columns=_columns(data.n))
        parts.append(part.assign(split=split))
    return pd.concat(parts, ignore_index=True)


def instances_of(table: pd.DataFrame, n: int, split: str) -> Instances:
    """The instances of a split of a dataset."""
    rows = table.loc[table["split"] == split, _columns(n)].to_numpy(dtype=np.int64)
    costs, shown, columns = np.split(rows, [n**2, 2 * n**2], 1)
    return Instances(costs.reshape(-1, n, n), shown.reshape(-1, n, n), columns)


def assign(costs: NDArray[np.generic]) -> Integers:
    """Optimal assignments: from costs ``(instances, n, n)`` to the columns ``(instances, n)``."""
    return np.array([linear_sum_assignment(matrix)[1] for matrix in costs], dtype=np.int64)


def sums_of_all(costs: Integers) -> Integers:
    """The sums of costs ``(instances, n!)`` of all n! assignments."""
    n = costs.shape[-1]
    every = np.array(list(itertools.permutations(range(n))))
    sums: Integers = costs[:, np.arange(n), every].sum(-1)
    return sums


def total(costs: Integers, columns: Integers) -> Integers:
    """The sums of costs ``(instances,)`` of the assignments ``columns``."""
    sums: Integers = np.take_along_axis(costs, columns[..., None], -1).sum((-2, -1))
    return sums


def _draw(generator: np.random.Generator, values: Integers, count: int, n: int) -> Integers:
    return generator.choice(values, (count, n**2))


def _draw_close(generator: np.random.Generator, values: Integers, count: int, n: int) -> Integers:
    """Uniform among the instances whose second-best assignment costs 1 more than the best."""
    parts: list[Integers] = []
    while sum(map(len, parts)) < count:
        costs = _draw(generator, values, DRAWN, n)
        least = np.partition(sums_of_all(costs.reshape(-1, n, n)), 1, axis=1)
        parts.append(costs[least[:, 1] - least[:, 0] == 1])
    return np.concatenate(parts)[:count]


def _columns(n: int) -> list[str]:
    cells = [f"{kind}{cell}" for kind in "cs" for cell in range(n**2)]
    return [*cells, *(f"a{row}" for row in range(n))]
