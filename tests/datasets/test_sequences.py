"""Groups are groups; every label is the answer that a reader of the tokens computes."""

import numpy as np
import pytest

from journeylab.datasets import sequences
from journeylab.datasets.groups import GENERATORS, GROUPS, cyclic, symmetric

ORDERS = {"S3": 6, "Z60": 60, "A4xZ5": 60, "A5": 60, "S5": 120}


def rng(seed=0):
    return np.random.default_rng(seed)


def closure(table, elements):
    """The subgroup that some elements generate."""
    members = np.unique([0, *elements])
    while len(grown := np.unique(table[np.ix_(members, members)])) > len(members):
        members = grown
    return members


def commutators(table, members):
    inverses = (table == 0).argmax(1)
    left = table[np.ix_(members, members)]
    right = table[np.ix_(inverses[members], inverses[members])]
    return closure(table, table[left, right].flatten())


@pytest.mark.parametrize("name", list(GROUPS))
def test_tables_are_groups(name):
    table, order = GROUPS[name], ORDERS[name]
    assert table.shape == (order, order)
    everything = np.arange(order)
    assert (table[0] == everything).all()
    assert (table[:, 0] == everything).all()
    for side in (table, table.T):
        assert (np.sort(side, 1) == everything).all()
    for a in range(order):
        assert (table[table[a]] == table[a][table]).all()  # (ab)c = a(bc)


def test_derived_series_tell_abelian_solvable_and_perfect_groups():
    series = {}
    for name, table in GROUPS.items():
        members, orders = np.arange(len(table)), []
        while not orders or len(members) < orders[-1]:
            orders.append(len(members))
            members = commutators(table, members)
        series[name] = orders
    assert series == {
        "S3": [6, 3, 1],
        "Z60": [60, 1],
        "A4xZ5": [60, 4, 1],
        "A5": [60],
        "S5": [120, 60],
    }


def test_products_of_permutations_apply_the_right_factor_first():
    table = symmetric(3)  # 012 021 102 120 201 210
    assert table[1, 2] == 4  # 0 → 1 → 2
    assert table[2, 1] == 3


def test_cyclic_groups_add():
    assert cyclic(4)[3, 2] == 1


@pytest.mark.parametrize("name", list(sequences.TASKS))
def test_rows_are_in_range_and_depend_on_the_stream_only(name):
    task = sequences.TASKS[name]
    first, again, other = (task.draw(20, 40, rng(seed)) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first.tokens, other.tokens)
    assert first.tokens.shape == first.labels.shape == (20, 40)
    assert first.tokens.min() >= 0
    assert first.tokens.max() < task.vocabulary
    labelled = first.labels[first.labels != sequences.UNLABELLED]
    assert labelled.min() >= 0
    assert labelled.max() < task.answers
    assert set(np.unique(task.draw(2000, 40, rng()).labels)) >= set(range(task.answers))


@pytest.mark.parametrize("group", GENERATORS)
def test_two_letters_generate_the_whole_group(group):
    assert len(closure(GROUPS[group], GENERATORS[group])) == len(GROUPS[group])


@pytest.mark.parametrize(("group", "letters"), [("S5", None), ("A5", GENERATORS["A5"])])
def test_word_labels_are_products_of_permutations(group, letters):
    table = GROUPS[group]
    tokens, labels = sequences.draw_words(5, 12, rng(), table=table, letters=letters)
    assert (letters is None) == (tokens.max() > 1)
    for word, answers in zip(tokens, labels, strict=True):
        row = word if letters is None else np.array(letters)[word]
        for t, answer in enumerate(answers):
            # from the left end: (((x_t x_{t−1}) x_{t−2}) …)
            element = row[t]
            for s in range(t - 1, -1, -1):
                element = table[element, row[s]]
            assert element == answer


def test_word_labels_are_uniform():
    labels = sequences.draw_words(60_000, 3, rng(), table=GROUPS["A5"]).labels[:, -1]
    assert np.abs(np.bincount(labels) - 1000).max() < 200


def test_arithmetic_labels_are_values_of_the_expressions():
    signs = {sequences.PLUS: "+", sequences.MINUS: "-", sequences.TIMES: "*"}
    tokens, labels = sequences.draw_arithmetic(50, 13, rng())
    assert set(np.unique(tokens[:, 3::2])) == {sequences.PLUS, sequences.MINUS, sequences.TIMES}
    assert set(np.unique(tokens[:, 1])) == {sequences.PLUS, sequences.MINUS, sequences.TIMES}
    for row, answers in zip(tokens, labels, strict=True):
        text = "".join(signs.get(int(token), str(token)) for token in row)
        for t in range(13):
            assert answers[t] == (sequences.UNLABELLED if t % 2 else eval(text[: t + 1]) % 5)


def test_flip_flops_return_the_bit_written_last():
    tokens, labels = sequences.draw_flip_flop(200, 40, rng())
    assert (tokens[:, 0] == sequences.WRITE).all()
    share = (tokens[:, 2::2] == sequences.IGNORE).mean()
    assert share == pytest.approx(0.8, abs=0.03)
    for row, answers in zip(tokens, labels, strict=True):
        stored = None
        for t in range(0, 40, 2):
            instruction, bit = row[t], row[t + 1]
            if instruction == sequences.WRITE:
                stored = bit
            assert answers[t] == (stored if instruction == sequences.READ else sequences.UNLABELLED)
            assert answers[t + 1] == sequences.UNLABELLED
            if instruction == sequences.READ:
                assert bit == stored
    with pytest.raises(ValueError, match="write an even length, not 7"):
        sequences.draw_flip_flop(1, 7, rng())


@pytest.mark.parametrize(("length", "pairs"), [(4, 1), (41, 10), (400, sequences.KEYS)])
def test_every_key_is_asked_for_once_and_has_one_value(length, pairs):
    tokens, labels = sequences.draw_associations(30, length, rng())
    for row, answers in zip(tokens, labels, strict=True):
        stored = {row[2 * i]: row[2 * i + 1] for i in range(pairs)}
        assert len(stored) == pairs
        queries = np.flatnonzero(answers != sequences.UNLABELLED)
        assert queries.min() >= 2 * pairs
        assert sorted(row[queries]) == sorted(stored)
        assert all(stored[row[t]] == 1 + sequences.KEYS + answers[t] for t in queries)
        rest = np.setdiff1d(np.arange(2 * pairs, length), queries)
        assert (row[rest] == sequences.FILLER).all()
    with pytest.raises(ValueError, match="at least 4 tokens, got length 3"):
        sequences.draw_associations(1, 3, rng())
