from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journeylab.studies.exp2_shuffled_kb.anchors import (
    best_slot,
    chance,
    count_strings,
    enumerate_multiplicity,
    expected_multiplicity,
    key_blind,
    untagged_ceiling,
)
from journeylab.studies.exp2_shuffled_kb.settings import Data


def test_the_ceiling_of_four_relations_and_sixteen_values_by_hand():
    """Of 16⁴ strings: 43680 all different, 20160 one pair, 720 two pairs, 960 triples, 16 fours."""
    strings = {1: 16 * 15 * 14 * 13, 2: 6 * 16 * 15 * 14 + 3 * 16 * 15, 3: 4 * 16 * 15, 4: 16}
    assert sum(strings.values()) == 16**4
    expected = Fraction(sum(most * n for most, n in strings.items()), 16**4)
    assert untagged_ceiling(Data()) == expected / 4 == Fraction(1381, 4096)


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 5), st.integers(1, 4))
def test_counting_agrees_with_writing_down(draws: int, values: int):
    assert expected_multiplicity(draws, values) == enumerate_multiplicity(draws, values)


def test_known_expectations():
    assert expected_multiplicity(2, 6) == Fraction(7, 6)
    assert expected_multiplicity(5, 1) == 5
    assert expected_multiplicity(1, 9) == 1
    assert expected_multiplicity(2, 10**6) - 1 == Fraction(1, 10**6)


def test_strings_without_a_limit_are_all_strings():
    assert count_strings(7, 5, 7) == 5**7
    assert count_strings(4, 3, 1) == 0
    assert count_strings(3, 5, 1) == 5 * 4 * 3


def test_chance_and_the_most_frequent_value():
    data = Data(keys=6, values=4, sizes=(3,), subjects=2, relations=2)
    assert chance(data) == Fraction(1, 4)
    # three draws of four values: 24 all different, 36 with a pair, 4 of a kind
    assert key_blind(data, 3) == Fraction(24 + 2 * 36 + 3 * 4, 64) / 3


def test_the_best_slot_by_writing_down_every_repository():
    data = Data(keys=6, values=4, sizes=(3,), subjects=2, relations=2)
    slots = {key: [0] * 3 for key in range(6)}
    for keys in combinations(range(6), 3):
        for slot, key in enumerate(keys):
            slots[key][slot] += 1
    found = sum(Fraction(max(counts), sum(counts)) for counts in slots.values()) / 6
    assert best_slot(data, 3) == found + (1 - found) / 4


@pytest.mark.parametrize("size", [20, 50, 100])
def test_anchors_of_the_study_are_ordered(size: int):
    data = Data()
    assert chance(data) < key_blind(data, size) < best_slot(data, size) < 1
