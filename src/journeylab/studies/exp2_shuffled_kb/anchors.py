"""Accuracies known before training: chance, exact ceilings, and the accuracy of shortcuts.

The values of a repository are independent and uniform, its keys are a uniform subset of all keys,
and a question asks for every entry with the same probability.
"""

from fractions import Fraction
from functools import cache
from itertools import product
from math import comb
from typing import NamedTuple

import numpy as np

from journeylab.studies.exp2_shuffled_kb.settings import Lookups, Relations, Repositories

DRAWS = 10_000
"""Number of random rows of values in the Monte Carlo estimate of `vote`."""


class MonteCarloEstimate(NamedTuple):
    """A mean over random draws and its standard error."""

    value: float
    error: float


def chance(data: Repositories) -> Fraction:
    """Accuracy of a random answer, 1/V."""
    return Fraction(1, data.values)


def key_blind(data: Repositories, size: int) -> Fraction:
    """The best accuracy on shuffled repositories of a reader that sees no keys, E[max n_v]/M.

    All slots are alike, so the best answer is the most frequent value.
    """
    return expected_multiplicity(size, data.values) / size


def untagged_ceiling(data: Relations) -> Fraction:
    """The best accuracy if the entries of a subject look alike, E[max n_v]/R for R relations.

    The reader knows the multiset of the subject's values, and each value is the answer with the
    same probability. The best answer is the most frequent value.
    """
    return expected_multiplicity(data.relations, data.values) / data.relations


def best_slot(data: Lookups, size: int) -> Fraction:
    """Accuracy on sorted repositories of reading the slot where the key is most often.

    Another entry holds the right value with probability 1/V.
    """
    hit = sum(map(max, slot_shares(data, size)), start=Fraction(0)) / data.keys
    return hit + (1 - hit) * chance(data)


@cache
def vote(data: Lookups, size: int) -> MonteCarloEstimate:
    """The best accuracy on sorted repositories of a reader that sees no keys of the entries.

    The reader knows the key k of the question and the value v_j in every slot j. The answer is v
    with probability Σ_j P(j | k)·1[v_j = v], since values are independent of keys, so the best
    answer has the largest such sum. Its gain over the value in the best slot is averaged over
    `DRAWS` rows of values and all k, and added to the exact `best_slot`.
    """
    shares = np.array(slot_shares(data, size), dtype=float)
    keys, best = np.arange(data.keys), shares.argmax(1)
    gains = []
    for drawn in np.random.default_rng(0).integers(data.values, size=(DRAWS, size)):
        support = shares @ (drawn[:, None] == np.arange(data.values)).astype(float)
        gains.append((support.max(1) - support[keys, drawn[best]]).mean())
    error = np.std(gains, ddof=1) / np.sqrt(DRAWS)
    return MonteCarloEstimate(float(best_slot(data, size)) + float(np.mean(gains)), float(error))


def slot_shares(data: Lookups, size: int) -> list[list[Fraction]]:
    """P(j | k), the probability that key k is in slot j of a sorted repository, ``[k][j]``.

    j is the number of smaller keys among the M − 1 others. It is hypergeometric:
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
    """E[max_v n_v], the expected count of the most frequent value in uniform draws.

    Σ_{m≥1} P(max ≥ m) = Σ_{m≥0} (1 − #{strings with all n_v ≤ m}/V^n), counted exactly.
    """
    total = values**draws
    below = (total - count_strings(draws, values, most) for most in range(draws))
    return Fraction(sum(below), total)


def count_strings(length: int, letters: int, most: int) -> int:
    """The number of strings in which no letter occurs more than ``most`` times.

    With f_L(n) the number over L letters, f_{L+L'}(n) = Σ_i C(n, i)·f_L(i)·f_{L'}(n − i): choose
    the positions of the first L letters. One letter has f_1(n) = 1 for n ≤ most. L is doubled, so
    that the number of sums grows as the logarithm of the number of letters.
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
    """The same expectation as `expected_multiplicity`, by enumerating all strings."""
    strings = product(range(values), repeat=draws)
    return Fraction(sum(max(map(s.count, s)) for s in strings), values**draws)


def _join(first: list[int], second: list[int]) -> list[int]:
    return [
        sum(comb(n, i) * first[i] * second[n - i] for i in range(n + 1)) for n in range(len(first))
    ]
