"""Finite groups as multiplication tables: entry (a, b) is the element ab, and element 0 is 1.

For permutations, ab applies b first: (ab)(i) = a(b(i)).
"""

from __future__ import annotations

from collections.abc import Sequence
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
    return _table(_even(_permutations(points)))


def direct_product(first: Table, second: Table) -> Table:
    """The pairs (a, b) with (a, b)(c, d) = (ac, bd), numbered a·|second| + b."""
    order = len(first) * len(second)
    pairs = first[:, None, :, None] * len(second) + second[None, :, None, :]
    return pairs.reshape(order, order)


def number_of(points: int, images: Sequence[int], *, even: bool = False) -> int:
    """The number of the permutation i ↦ images[i] in `symmetric`, or in `alternating` if `even`.

    Raises ValueError if `images` is no such permutation.
    """
    elements = _even(_permutations(points)) if even else _permutations(points)
    [*numbers] = np.flatnonzero((elements == np.array(images)).all(1))
    if not numbers:
        raise ValueError(f"{tuple(images)} is no {'even ' if even else ''}permutation of {points}")
    return int(numbers[0])


def _permutations(points: int) -> Table:
    return np.array(list(permutations(range(points))), dtype=np.int64)


def _even(elements: NDArray[np.int64]) -> NDArray[np.int64]:
    points = elements.shape[1]
    inversions = sum(
        (elements[:, i] > elements[:, j]).astype(int) for j in range(points) for i in range(j)
    )
    even: NDArray[np.int64] = elements[inversions % 2 == 0]
    return even


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

GENERATORS: dict[str, tuple[int, int]] = {
    "S3": (number_of(3, (1, 0, 2)), number_of(3, (1, 2, 0))),
    "Z60": (12, 35),
    "A4xZ5": (
        5 * number_of(4, (1, 2, 0, 3), even=True) + 1,
        5 * number_of(4, (1, 0, 3, 2), even=True),
    ),
    "A5": (number_of(5, (1, 2, 0, 3, 4), even=True), number_of(5, (1, 2, 3, 4, 0), even=True)),
    "S5": (number_of(5, (1, 0, 2, 3, 4)), number_of(5, (1, 2, 3, 4, 0))),
}
"""Two generators of each group: S3 and S5 from a transposition and a cycle of all points, A5 from
cycles of three and of five points, A4 × Z5 from ((123), 1) and ((12)(34), 0), Z60 from 12 and 35,
of orders 5 and 12."""
