"""Exact information in an aggregate that is rounded to a grid, by enumeration of all strings.

Strings X are uniform over C^N. Their aggregate s is rounded to a grid Q_ε with cells of width ε and
a random offset. Given the counts n = n(X), the rounded aggregate carries

    I(X; Q_ε(s) | n) = H(X | n) − Σ_cells (m/C^N) log₂ m                                      (1)

bits, where m is the number of strings with the same counts and cell. H(X | n) is the same sum over
the classes of equal counts. Both are exact. The best reader of the counts and the cell names, at
each position, the most frequent colour among the strings with these counts in this cell; its
accuracy is :func:`best_accuracy`. An interval of length r meets 1 + r/ε cells of a grid
with a random offset on average, so by Jensen's inequality the mean over offsets obeys the precision
law

    I(X; Q_ε(s) | n) ≤ d·log₂(1 + r/ε),                                                       (2)

where r is the widest range of a coordinate of s within a class. :func:`blind_ceiling` and
:func:`blind_information` give what is known from the counts, :func:`blind_count` what is known
without s.
"""

from collections.abc import Iterator
from itertools import combinations, pairwise
from math import comb, expm1, factorial, log, log2, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_LABELS = 2**62


class Enumeration(NamedTuple):
    """For all C^N strings, the class of equal counts ``(C^N,)`` and the aggregate ``(d, C^N)``."""

    classes: Integers
    aggregate: Floats


def enumerate_strings(added: Floats) -> Enumeration:
    """Aggregate every string, in float64, from the terms ``added`` ``(N, C, d)``."""
    length, colours, width = added.shape
    counted = (length + 1) ** np.arange(colours, dtype=np.int64)
    labels, aggregate = np.zeros(1, dtype=np.int64), np.zeros((width, 1))
    for term in added:
        labels = np.concatenate([labels + step for step in counted])
        aggregate = np.concatenate([aggregate + value[:, None] for value in term], axis=1)
    return Enumeration(np.unique(labels, return_inverse=True)[1], aggregate)


class Shared(NamedTuple):
    """The strings that may share counts and cell with others, of ``total`` strings.

    ``strings`` are their numbers and ``cells`` the labels of counts and cell, both ``(shared,)``.
    All other strings are alone in their cells.
    """

    strings: Integers
    cells: Integers
    total: int


def order_entropy(classes: Integers) -> float:
    """H(X | n) in bits: the information about the order that the counts leave open."""
    return _entropy_within(np.bincount(classes), classes.size)


def share_cells(strings: Enumeration, precision: float, offset: ArrayLike) -> Shared:
    """The cells of the strings on a grid of width ``precision``; ``offset`` in cells, ``(d,)``.

    The cell is refined by one coordinate after the other. A string that is alone in its cell stays
    alone, so it is dropped.
    """
    total = strings.classes.size
    labels, crowded = strings.classes, np.arange(strings.classes.size)
    span = int(labels.max()) + 1
    for column, shift in zip(strings.aggregate, np.asarray(offset), strict=True):
        cells = np.floor(column[crowded] / precision + shift).astype(np.int64)
        cells -= cells.min()
        width = int(cells.max()) + 1
        if span * width > MOST_LABELS:
            _, labels, sizes = np.unique(labels, return_inverse=True, return_counts=True)
            shared = sizes[labels] > 1
            labels, crowded, cells = labels[shared], crowded[shared], cells[shared]
            if not crowded.size:
                break
            span = len(sizes)
        labels, span = labels * width + cells, span * width
    return Shared(crowded, np.unique(labels, return_inverse=True)[1], total)


def information_gap(shared: Shared) -> float:
    """H(X | n) − I(X; Q_ε(s) | n) in bits, the last term of (1)."""
    return _entropy_within(np.bincount(shared.cells), shared.total)


def best_accuracy(shared: Shared, length: int, colours: int) -> float:
    """The best position accuracy of a reader of the counts and the cell, over C^N strings.

    Strings that are alone in their cells are known. Of the others, the reader names the most
    frequent colour of the cell at each position.
    """
    several = np.bincount(shared.cells) > 1
    crowded = several[shared.cells]
    strings, cells = shared.strings[crowded], (np.cumsum(several) - 1)[shared.cells[crowded]]
    right = length * (shared.total - strings.size)
    for _ in range(length if strings.size else 0):
        # The last digit by multiplication: a remainder takes several times as long.
        rest = strings // colours
        named = np.bincount(
            cells * colours + strings - rest * colours, minlength=several.sum() * colours
        )
        right += int(named.reshape(-1, colours).max(1).sum())
        strings = rest
    return right / (length * shared.total)


def widest_range(strings: Enumeration) -> float:
    """r of (2): the widest range of a coordinate of s within a class of equal counts."""
    order = np.argsort(strings.classes, kind="stable")
    starts = np.flatnonzero(np.diff(strings.classes[order], prepend=-1))
    widest = 0.0
    for column in strings.aggregate:
        ranked = column[order]
        ranges = np.maximum.reduceat(ranked, starts) - np.minimum.reduceat(ranked, starts)
        widest = max(widest, float(ranges.max()))
    return widest


def precision_law(width: int, reach: float, precision: float) -> float:
    """d·log₂(1 + r/ε) in bits, the right side of (2)."""
    return width * log2(1.0 + reach / precision)


def coarsest_precision(width: int, reach: float, bits: float) -> float:
    """r/(2^(bits/d) − 1), the largest ε at which the precision law allows ``bits`` bits."""
    return reach / expm1(bits * log(2.0) / width)


def blind_ceiling(length: int, colours: int) -> float:
    """E[max_c n_c]/N, the best position accuracy of a reader that knows only the counts."""
    return sum(p * max(counts) / length for counts, p in _counts(length, colours))


def blind_information(length: int, colours: int) -> float:
    """N·(log₂ C − E[H(n/N)]) in bits: information of the counts about the single positions."""
    entropy = 0.0
    for counts, p in _counts(length, colours):
        shares = [count / length for count in counts if count]
        entropy -= p * sum(share * log2(share) for share in shares)
    return length * (log2(colours) - entropy)


def blind_count(length: int, colours: int) -> float:
    """max_k P(n_c = k), the count accuracy of the best constant answer."""
    ways = (comb(length, k) * (colours - 1) ** (length - k) for k in range(length + 1))
    return float(max(ways) / colours**length)


def _counts(length: int, colours: int) -> Iterator[tuple[tuple[int, ...], float]]:
    """Every vector of counts with its probability, by stars and bars: a bar ends a colour."""
    symbols = length + colours - 1
    for bars in combinations(range(symbols), colours - 1):
        counts = tuple(b - a - 1 for a, b in pairwise((-1, *bars, symbols)))
        ways = factorial(length) // prod(factorial(count) for count in counts)
        yield counts, ways / colours**length


def _entropy_within(sizes: Integers, total: int) -> float:
    shared = sizes[sizes > 1]
    return float((shared * np.log2(shared)).sum()) / total
