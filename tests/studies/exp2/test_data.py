"""Small repositories, and what can be answered without reading them as asked."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from journeylab.studies.exp2_shuffled_kb import settings as own
from journeylab.studies.exp2_shuffled_kb.anchors import (
    best_slot,
    chance,
    enumerate_multiplicity,
    expected_multiplicity,
    key_blind,
    untagged_ceiling,
    vote,
)
from journeylab.studies.exp2_shuffled_kb.data import (
    arrange,
    draw_lookup,
    draw_relations,
    permute,
    select,
)
from journeylab.studies.exp2_shuffled_kb.settings import Lookups, Relations

from ..gathering import draw_data
from . import results
from .results import make_job

LOOKUPS, RELATIONS = own.Lookups(task="lookup"), own.Relations(task="relations")


def entries(episodes):
    return [
        sorted(zip(*(c[i].tolist() for c in episodes), strict=True))
        for i in range(len(episodes[0]))
    ]


def test_every_size_has_enough_questions():
    for data, expected in (
        (results.LOOKUPS, {("lookup", 5): 80, ("lookup", 8): 80}),
        (results.RELATIONS, {("relations", 6): 84}),
    ):
        table = draw_data("exp2", data, data.task)
        assert table.groupby(["task", "size"]).size().to_dict() == expected
        assert (table.dtypes[["size", "episode", "key", "value", "relation"]] == "int16").all()
    assert select(draw_data("exp2", results.LOOKUPS, "lookup"), "lookup", 8).keys.shape == (10, 8)


def test_keys_of_a_repository_are_distinct():
    drawn = draw_lookup(LOOKUPS, 100, 50, torch.Generator().manual_seed(0))
    assert all(len(row.unique()) == 100 for row in drawn.keys)
    assert drawn.keys.min() == 0
    assert drawn.keys.max() == 127
    assert drawn.values.unique().tolist() == list(range(16))
    assert not drawn.relations.any()


def test_orders_of_keys_are_uniform():
    data = own.Lookups(task="lookup", keys=4, sizes=(3,))
    drawn = draw_lookup(data, 3, 24_000, torch.Generator().manual_seed(0))
    orders = (drawn.keys * torch.tensor([16, 4, 1])).sum(1).unique(return_counts=True)[1]
    assert len(orders) == 24
    assert (orders.double() / 1000 - 1).abs().max() < 0.12


def test_every_subject_has_every_relation_once():
    drawn = draw_relations(RELATIONS, 20, torch.Generator().manual_seed(0))
    assert drawn.keys.shape == (20, 20)
    for keys, relations in zip(drawn.keys, drawn.relations, strict=True):
        assert keys.unique(return_counts=True)[1].tolist() == [4] * 5
        assert len({*zip(keys.tolist(), relations.tolist(), strict=True)}) == 20
    assert not torch.equal(drawn.relations[0], drawn.relations[1])


@pytest.mark.parametrize(("data", "size"), [(results.LOOKUPS, 5), (results.RELATIONS, 6)])
def test_sorting_and_permuting_keep_the_entries(data, size):
    shuffled = select(draw_data("exp2", data, data.task), data.task, size)
    ranked = arrange(shuffled, "sorted")
    assert entries(ranked) == entries(shuffled) == entries(permute(shuffled, torch.Generator()))
    assert arrange(shuffled, "shuffled") is shuffled
    assert (ranked.keys.diff(dim=1) >= 0).all()
    same = ranked.keys.diff(dim=1) == 0
    assert (ranked.relations.diff(dim=1)[same] > 0).all()


def test_a_dataset_without_a_task_is_refused():
    with pytest.raises(ValidationError, match="write task: lookup, or task: relations"):
        TypeAdapter(own.Data).validate_python({"keys": 128})


def test_a_repository_has_the_entries_of_its_size_or_its_groups():
    assert [make_job(variant).entries for variant in ("rope", "tag")] == [5, 6]


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
