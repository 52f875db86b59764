"""Finite groups as multiplication tables: entry (a, b) is the element ab, and element 0 is 1.

For permutations, ab applies b first: (ab)(i) = a(b(i)).
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.int64]
"""A multiplication table ``(order, order)``."""


def cyclic(order: int) -> Table:
    """The integers modulo `order` under addition."""
    numbers = np.arange(order)
    return np.add.outer(numbers, numbers) % order


def symmetric(points: int) -> Table:
    """All permutations of 0 … points − 1, in lexicographic order."""
    return _table(_permutations(points))


def alternating(points: int) -> Table:
    """The even permutations of 0 … points − 1, in lexicographic order."""
    elements = _permutations(points)
    inversions = sum(
        (elements[:, i] > elements[:, j]).astype(int) for j in range(points) for i in range(j)
    )
    return _table(elements[inversions % 2 == 0])


def direct_product(first: Table, second: Table) -> Table:
    """The pairs (a, b) with (a, b)(c, d) = (ac, bd), numbered a·|second| + b."""
    order = len(first) * len(second)
    pairs = first[:, None, :, None] * len(second) + second[None, :, None, :]
    return pairs.reshape(order, order)


def _permutations(points: int) -> Table:
    return np.array(list(permutations(range(points))), dtype=np.int64)


def _table(elements: Table) -> Table:
    """The table of permutations ``(order, points)`` in lexicographic order."""
    places = elements.shape[1] ** np.arange(elements.shape[1])[::-1]
    products = elements[:, elements]  # (a, b, i) → a(b(i))
    numbers: Table = np.searchsorted(elements @ places, products @ places)
    return numbers


GROUPS: dict[str, Table] = {
    "S3": symmetric(3),
    "Z60": cyclic(60),
    "A4xZ5": direct_product(alternating(4), cyclic(5)),
    "A5": alternating(5),
    "S5": symmetric(5),
}
"""Groups of word problems. Of the three of order 60, Z60 is abelian, A4 × Z5 is solvable and not
abelian, and A5 is not solvable. Source: Merrill, Petty and Sabharwal, The illusion of state in
state-space models, 2024, section 5."""
