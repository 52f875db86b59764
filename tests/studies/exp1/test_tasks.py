"""Labels against what the tasks say in words, and groups against what is known of them."""

import itertools
from collections import Counter

import numpy as np
import pytest

from journeylab.studies.exp1_group_languages.settings import TASK_NAMES
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
