"""Ceilings against values worked out by hand and by other means."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from journeylab.studies.exp1_group_languages.ceilings import (
    best_given_parikh,
    chances,
    count_labels,
    parikh_ceilings,
)
from journeylab.studies.exp1_group_languages.compute import count_by_enumeration
from journeylab.studies.exp1_group_languages.settings import TASK_NAMES
from journeylab.studies.exp1_group_languages.tasks import TASKS, label_words


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
