"""Tasks, their groups, ceilings and strings, against what is known of them by other means."""

import itertools
from collections import Counter
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from journeylab.streams import data_streams
from journeylab.studies.exp1_group_languages.ceilings import (
    best_given_parikh,
    chances,
    count_labels,
    parikh_ceilings,
)
from journeylab.studies.exp1_group_languages.compute import count_by_enumeration
from journeylab.studies.exp1_group_languages.data import PADDING, draw_word, generate, lay_out
from journeylab.studies.exp1_group_languages.settings import LONGEST, SHORTEST, TASK_NAMES, Data
from journeylab.studies.exp1_group_languages.tasks import (
    GENERATORS,
    TASKS,
    UNLABELLED,
    compose,
    cycles,
    generate_group,
    label_prefixes,
    label_words,
)

from ..gathering import draw_data
from .results import FEW

WORDS = np.array(list(itertools.product((0, 1), repeat=8)), dtype=np.uint8).T
TEXTS = ["".join("ab"[letter] for letter in word) for word in WORDS.T]


def order(element):
    power, n = element, 1
    while power != tuple(range(len(element))):
        power, n = compose(element, power), n + 1
    return n


def test_label_of_a_is_the_count_of_a_modulo_three():
    assert label_words(TASKS["A"], WORDS).tolist() == [text.count("a") % 3 == 0 for text in TEXTS]


@pytest.mark.parametrize("task", ["B", "Bbal"])
def test_label_of_b_follows_the_document(task):
    for text, label in zip(TEXTS, label_words(TASKS[task], WORDS), strict=True):
        if len(set(text)) == 1:
            assert label == UNLABELLED
        else:
            first, second = f"{text}ab".find("ab"), f"{text}ba".find("ba")
            assert label == (first < second)
            assert label == (text[0] == "a")


def test_groups_have_the_known_orders_of_elements():
    orders_of = {name: Counter(map(order, generate_group(g))) for name, g in GENERATORS.items()}
    assert orders_of["S3"] == {1: 1, 2: 3, 3: 2}
    assert orders_of["A5"] == {1: 1, 2: 15, 3: 20, 5: 24}
    assert orders_of["Z6"] == {1: 1, 2: 1, 3: 2, 6: 2}
    orders = {name: [order(g) for g in generators] for name, generators in GENERATORS.items()}
    assert orders == {"S3": [2, 3], "A5": [3, 5], "Z6": [2, 3]}


def test_cycles_follow_cycle_notation():
    assert cycles(5, (1, 2, 3)) == (1, 2, 0, 3, 4)
    assert cycles(3) == (0, 1, 2)


@pytest.mark.parametrize("name", list(GENERATORS))
def test_states_are_products_with_the_latest_letter_on_the_left(name):
    generators = GENERATORS[name]
    elements = generate_group(generators)
    for word, label in zip(WORDS.T[:40].tolist(), label_words(TASKS[name], WORDS), strict=False):
        state = elements[0]
        for letter in word:
            state = compose(generators[letter], state)
        assert elements[label] == state


@pytest.mark.parametrize("name", TASK_NAMES)
def test_prefix_labels_equal_labels_of_the_cut_words(name):
    labels = label_prefixes(TASKS[name], WORDS)
    for t in range(len(WORDS)):
        assert np.array_equal(labels[t], label_words(TASKS[name], WORDS[: t + 1]))


@pytest.mark.parametrize("name", TASK_NAMES)
def test_counts_by_dynamic_programming_equal_enumeration(name):
    task = TASKS[name]
    for n, counts in enumerate(count_labels(task, 12), start=1):
        assert (counts == count_by_enumeration(task, n)).all()


def test_ceiling_of_halved_strings_is_one_half():
    ceilings = parikh_ceilings(TASKS["Bbal"], range(2, 51))
    assert set(ceilings) == set(range(2, 51, 2))
    assert set(ceilings.values()) == {Fraction(1, 2)}


def test_ceiling_of_b_has_a_closed_form():
    # Of the strings with k a's a share k/n starts with a.
    ceilings = parikh_ceilings(TASKS["B"], (2, 3, 4, 10, 50, 200))
    assert ceilings[2] == Fraction(1, 2)
    assert ceilings[3] == Fraction(2, 3)
    assert ceilings[4] == Fraction(9, 14)
    for n, ceiling in ceilings.items():
        weighted = sum(comb(n, k) * max(k, n - k) for k in range(1, n))
        assert ceiling == Fraction(weighted, n * (2**n - 2))


def test_ceilings_of_s3_equal_those_computed_by_hand():
    # n = 2: aa, bb are alone in their class, ab and ba differ: 3 of 4.
    # n = 3: of aab, aba, baa two agree; abb, bab, bba all differ: 1 + 2 + 1 + 1 of 8.
    ceilings = parikh_ceilings(TASKS["S3"], (1, 2, 3, 200))
    assert [ceilings[n] for n in (1, 2, 3)] == [1, Fraction(3, 4), Fraction(5, 8)]
    # One letter leads to two states, two lead to four, all alike.
    assert chances(TASKS["S3"], (1, 2)) == {1: Fraction(1, 2), 2: Fraction(1, 4)}
    # The parity of the permutation is that of the number of transpositions; the rest mixes.
    assert float(ceilings[200]) == pytest.approx(1 / 3, abs=1e-9)


def test_best_constant_answer_is_at_most_the_ceiling():
    for name in TASK_NAMES:
        ceilings, constant = (
            anchor(TASKS[name], range(10, 20)) for anchor in (parikh_ceilings, chances)
        )
        assert all(constant[n] <= ceilings[n] for n in ceilings)
        if TASKS[name].balanced:
            assert set(constant.values()) == {Fraction(1, 2)}


@pytest.mark.parametrize("name", ["B", "S3"])
def test_ceiling_is_the_maximum_over_functions_of_the_counts(name):
    task, n = TASKS[name], 9
    words = np.array(np.meshgrid(*[[0, 1]] * n)).reshape(n, -1).astype(np.uint8)
    labels = label_words(task, words)
    words, labels = words[:, labels >= 0], labels[labels >= 0]
    counts = (words == 0).sum(0)
    table = count_by_enumeration(task, n)
    sizes = table.sum(0)

    def score(answers):
        right = answers[counts] == labels
        if task.balanced:
            return np.mean([right[labels == c].mean() for c in range(task.classes)])
        return right.mean()

    ceiling = float(best_given_parikh(task, table))
    best = np.array([max(range(task.classes), key=lambda c: row[c] / sizes[c]) for row in table])
    if not task.balanced:
        best = table.astype(int).argmax(1)
    assert score(best) == pytest.approx(ceiling)
    rng = np.random.default_rng(0)
    for _ in range(200):
        assert score(rng.integers(0, task.classes, n + 1)) <= ceiling + 1e-12


def test_all_lengths_have_equally_many_strings():
    for (split, kind), rows in draw_data("exp1", FEW, "strings").groupby(["split", "kind"]):
        sizes = Counter(rows["word"].str.len())
        step = 1 if kind == "uniform" else 2
        assert set(sizes) == set(range(SHORTEST, LONGEST + 1, step)), split
        assert max(sizes.values()) - min(sizes.values()) <= 1


def test_halved_strings_have_as_many_a_as_b():
    halved = draw_data("exp1", FEW, "strings").query("kind == 'halved'")["word"]
    assert (halved.str.count("a") == halved.str.count("b")).all()
    assert halved.nunique() > 0.9 * len(halved)


def test_half_of_the_letters_of_uniform_strings_are_a():
    words = generate(Data(train=4100, validation=1), data_streams("exp1", "strings", 0))
    letters = "".join(words[words["kind"] == "uniform"]["word"])
    share = letters.count("a") / len(letters)
    assert abs(share - 0.5) < 4 * 0.5 / len(letters) ** 0.5


def test_columns_are_padded_after_the_last_letter():
    words = draw_data("exp1", FEW, "strings")["word"].head(30)
    columns = lay_out(words)
    assert columns.shape == (LONGEST, 30)
    for word, column in zip(words, columns.T, strict=True):
        assert ["ab"[x] for x in column[: len(word)]] == list(word)
        assert (column[len(word) :] == PADDING).all()


def test_halved_strings_of_odd_length_are_refused():
    with pytest.raises(ValueError, match="11 letters"):
        draw_word("halved", 11, np.random.default_rng(0))
