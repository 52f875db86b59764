"""What is known exactly before any model is trained: chance, ceilings, and a shortcut's worth.

Values of a repository are independent and uniform; keys are a uniform subset; every entry is asked
for with the same probability.
"""

from fractions import Fraction
from functools import cache
from itertools import product
from math import comb

from journeylab.studies.exp2_shuffled_kb.settings import Data


def chance(data: Data) -> Fraction:
    """Accuracy of an answer that looks at nothing, 1/V."""
    return Fraction(1, data.values)


def key_blind(data: Data, size: int) -> Fraction:
    """The best accuracy without reading keys: the most frequent of all values, E[max n_v]/M."""
    return expected_multiplicity(size, data.values) / size


def untagged_ceiling(data: Data) -> Fraction:
    """The best accuracy where the entries of a subject cannot be told apart.

    What is known of the answer is the multiset of the subject's values, of which each is asked for
    alike. The best answer is the most frequent one: E[max n_v]/R over R relations.
    """
    return expected_multiplicity(data.relations, data.values) / data.relations


def best_slot(data: Data, size: int) -> Fraction:
    """Accuracy on sorted repositories of reading the one slot where the key most often stands.

    The slot of key k is the number of smaller ones among the M − 1 others, hypergeometric:
    P(j | k) = C(k, j)·C(K−1−k, M−1−j)/C(K−1, M−1). Another entry holds the right value with
    probability 1/V.
    """
    others = comb(data.keys - 1, size - 1)
    hits = sum(
        max(comb(k, j) * comb(data.keys - 1 - k, size - 1 - j) for j in range(size))
        for k in range(data.keys)
    )
    found = Fraction(hits, others * data.keys)
    return found + (1 - found) * chance(data)


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
