"""What is known before any model is trained: chance, ceilings, and what shortcuts are worth.

Values of a repository are independent and uniform; keys are a uniform subset; every entry is asked
for with the same probability.
"""

from fractions import Fraction
from functools import cache
from itertools import product
from math import comb
from typing import NamedTuple

import numpy as np

from journeylab.studies.exp2_shuffled_kb.settings import Lookups, Relations, Repositories

DRAWS = 10_000
"""Rows of values behind a vote."""


class Estimate(NamedTuple):
    """A mean over draws and its standard error."""

    value: float
    error: float


def chance(data: Repositories) -> Fraction:
    """Accuracy of an answer that looks at nothing, 1/V."""
    return Fraction(1, data.values)


def key_blind(data: Repositories, size: int) -> Fraction:
    """The best accuracy on shuffled repositories without reading keys, E[max n_v]/M.

    All slots are alike, and the best answer is the most frequent of all values.
    """
    return expected_multiplicity(size, data.values) / size


def untagged_ceiling(data: Relations) -> Fraction:
    """The best accuracy where the entries of a subject cannot be told apart.

    What is known of the answer is the multiset of the subject's values, of which each is asked for
    alike. The best answer is the most frequent one: E[max n_v]/R over R relations.
    """
    return expected_multiplicity(data.relations, data.values) / data.relations


def best_slot(data: Lookups, size: int) -> Fraction:
    """Accuracy on sorted repositories of reading the one slot where the key most often stands.

    Another entry holds the right value with probability 1/V.
    """
    found = sum(map(max, slot_shares(data, size)), start=Fraction(0)) / data.keys
    return found + (1 - found) * chance(data)


@cache
def vote(data: Lookups, size: int) -> Estimate:
    """The best accuracy on sorted repositories without reading keys.

    To a reader who knows the key k asked for and the values in their slots, but no other key, the
    answer is v with probability Σ_j P(j | k)·1[v_j = v], as values are independent of keys. The
    best answer is the largest of these sums. What it gains over the value in the best slot is
    averaged over `DRAWS` rows of values, each for every k, and added to the exact `best_slot`.
    """
    shares = np.array(slot_shares(data, size), dtype=float)
    asked, best = np.arange(data.keys), shares.argmax(1)
    gains = []
    for drawn in np.random.default_rng(0).integers(data.values, size=(DRAWS, size)):
        support = shares @ (drawn[:, None] == np.arange(data.values)).astype(float)
        gains.append((support.max(1) - support[asked, drawn[best]]).mean())
    error = np.std(gains, ddof=1) / np.sqrt(DRAWS)
    return Estimate(float(best_slot(data, size)) + float(np.mean(gains)), float(error))


def slot_shares(data: Lookups, size: int) -> list[list[Fraction]]:
    """P(j | k), how often key k stands in slot j of a sorted repository: a row per key.

    j is the number of smaller keys among the M − 1 others, hypergeometric:
    C(k, j)·C(K−1−k, M−1−j)/C(K−1, M−1).
    """
    last = data.keys - 1
    return [
        [
            Fraction(comb(k, j) * comb(last - k, size - 1 - j), comb(last, size - 1))
            for j in range(size)
        ]
        for k in range(data.keys)
    ]


@cache
def expected_multiplicity(draws: int, values: int) -> Fraction:
    """E[max_v n_v], how often the most frequent of uniform draws with replacement occurs.

    Σ_{m≥1} P(max ≥ m) = Σ_{m≥0} (1 − #{strings with all n_v ≤ m}/V^n), counted exactly.
    """
    total = values**draws
    below = (total - count_strings(draws, values, most) for most in range(draws))
    return Fraction(sum(below), total)


def count_strings(length: int, letters: int, most: int) -> int:
    """Strings in which no letter occurs more than ``most`` times.

    With f_L(n) the number over L letters, f_{L+L'}(n) = Σ_i C(n, i)·f_L(i)·f_{L'}(n − i): choose
    where the first L letters stand. One letter has f_1(n) = 1 for n ≤ most; L is doubled.
    """
    counts = [1] + [0] * length
    power = [int(n <= most) for n in range(length + 1)]
    while letters:
        if letters % 2:
            counts = _join(counts, power)
        letters //= 2
        if letters:
            power = _join(power, power)
    return counts[length]


def enumerate_multiplicity(draws: int, values: int) -> Fraction:
    """The same expectation as `expected_multiplicity` by writing down every string."""
    strings = product(range(values), repeat=draws)
    return Fraction(sum(max(map(s.count, s)) for s in strings), values**draws)


def _join(first: list[int], second: list[int]) -> list[int]:
    return [
        sum(comb(n, i) * first[i] * second[n - i] for i in range(n + 1)) for n in range(len(first))
    ]
