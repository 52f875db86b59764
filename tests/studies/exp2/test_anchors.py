from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journeylab.studies.exp2_shuffled_kb.anchors import (
    best_slot,
    chance,
    enumerate_multiplicity,
    expected_multiplicity,
    key_blind,
    untagged_ceiling,
    vote,
)
from journeylab.studies.exp2_shuffled_kb.settings import Lookups, Relations


def test_untagged_ceiling_equals_a_count_by_hand():
    """Of 16⁴ strings: 43680 all different, 20160 one pair, 720 two pairs, 960 triples, 16 fours."""
    strings = {1: 16 * 15 * 14 * 13, 2: 6 * 16 * 15 * 14 + 3 * 16 * 15, 3: 4 * 16 * 15, 4: 16}
    assert sum(strings.values()) == 16**4
    expected = Fraction(sum(most * n for most, n in strings.items()), 16**4)
    assert untagged_ceiling(Relations(task="relations")) == expected / 4 == Fraction(1381, 4096)


@settings(max_examples=25)
@given(st.integers(1, 5), st.integers(1, 4))
def test_expected_multiplicity_equals_enumeration(draws: int, values: int):
    assert expected_multiplicity(draws, values) == enumerate_multiplicity(draws, values)


def test_chance_and_key_blind_equal_counts_by_hand():
    data = Lookups(task="lookup", keys=6, values=4, sizes=(3,))
    assert chance(data) == Fraction(1, 4)
    # three draws of four values: 24 all different, 36 with a pair, 4 of a kind
    assert key_blind(data, 3) == Fraction(24 + 2 * 36 + 3 * 4, 64) / 3


def test_best_slot_equals_enumeration_of_repositories():
    data = Lookups(task="lookup", keys=6, values=4, sizes=(3,))
    slots = {key: [0] * 3 for key in range(6)}
    for keys in combinations(range(6), 3):
        for slot, key in enumerate(keys):
            slots[key][slot] += 1
    hit = sum(Fraction(max(counts), sum(counts)) for counts in slots.values()) / 6
    assert best_slot(data, 3) == hit + (1 - hit) / 4


@pytest.mark.parametrize(("keys", "values", "size"), [(7, 2, 4), (9, 3, 5), (10, 2, 6)])
def test_vote_equals_the_best_answer_by_enumeration(keys, values, size):
    """The most frequent answer to every (key asked for, values in their slots), by counting."""
    answers: dict[tuple, Counter] = {}
    for chosen in combinations(range(keys), size):
        for shown in product(range(values), repeat=size):
            for key, value in zip(chosen, shown, strict=True):
                answers.setdefault((key, shown), Counter())[value] += 1
    right = sum(max(counts.values()) for counts in answers.values())
    best = right / sum(counts.total() for counts in answers.values())
    data = Lookups(task="lookup", keys=keys, values=values, sizes=(size,))
    value, error = vote(data, size)
    assert 0 < error < 1e-4
    assert abs(value - best) < 4 * error
    assert best > best_slot(data, size) + 10 * error


def test_vote_equals_best_slot_if_one_slot_outweighs_the_others():
    data = Lookups(task="lookup", keys=6, values=4, sizes=(3,))
    assert vote(data, 3) == (float(best_slot(data, 3)), 0.0)


@pytest.mark.parametrize("size", [20, 50, 100])
def test_anchors_are_ordered(size: int):
    data = Lookups(task="lookup")
    value, error = vote(data, size)
    assert error < 2e-4
    assert chance(data) < key_blind(data, size) < best_slot(data, size) < value - 10 * error < 1
