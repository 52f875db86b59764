"""The Parikh ceiling of word problems: the best accuracy of any answer from the letter counts.

Let N(k, g) be the number of words of length n over two letters with k zeros that reach element g.
The ceiling at length n is Σ_k max_g N(k, g) / 2ⁿ, the best constant answer max_g Σ_k N(k, g) / 2ⁿ.
N is computed by dynamic programming in integers, so that both are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from journeylab.datasets.groups import GENERATORS, GROUPS
from journeylab.studies.exp13_published_mixers.settings import WordTask

Counts = NDArray[np.object_]
"""``[k, element]`` as Python integers."""


def count_words(task: WordTask, longest: int) -> Iterator[Counts]:
    """Yield N for the lengths 1, 2, …, longest."""
    moves = [np.asarray(GROUPS[task][letter]) for letter in GENERATORS[task]]
    counts = np.zeros((longest + 1, len(GROUPS[task])), dtype=object)
    counts[0, 0] = 1
    for length in range(1, longest + 1):
        after = np.zeros_like(counts)
        after[1:, moves[0]] += counts[:-1]
        after[:, moves[1]] += counts
        counts = after
        yield counts[: length + 1]


@cache
def ceilings(task: WordTask, longest: int) -> tuple[Fraction, ...]:
    """The ceiling at the lengths 1 … longest."""
    return tuple(
        Fraction(int(counts.max(1).sum()), 2**length)
        for length, counts in enumerate(count_words(task, longest), start=1)
    )


@cache
def chances(task: WordTask, longest: int) -> tuple[Fraction, ...]:
    """The accuracy of the best constant answer at the lengths 1 … longest."""
    return tuple(
        Fraction(int(counts.sum(0).max()), 2**length)
        for length, counts in enumerate(count_words(task, longest), start=1)
    )


def in_second_half(values: tuple[Fraction, ...], length: int) -> float:
    """The mean over the lengths ⌊length/2⌋ + 1 … length."""
    half = values[length // 2 : length]
    return float(sum(half, Fraction(0)) / len(half))
