"""Ceilings, floors, reflections and orders against slow twins, and the choice of rates."""

import numpy as np
import pytest
from search_exp13 import RATE, RATES, TIE, climb, prefer

from journeylab.datasets.sequences import READ, UNLABELLED, WRITE
from journeylab.studies.exp13_published_mixers import reflections
from journeylab.studies.exp13_published_mixers.ceilings import ceilings, chances, in_second_half
from journeylab.studies.exp13_published_mixers.compute import (
    delta_error,
    enumerated_ceiling,
    order_change,
)
from journeylab.studies.exp13_published_mixers.settings import WORD_TASKS, Computation
from journeylab.studies.exp13_published_mixers.shortcuts import floor
from journeylab.studies.exp13_published_mixers.tasks import KEYS, VALUES, draw_rows

from .results import MODEL

JOB = Computation(computed="certificates", variant="orders", model=MODEL)


@pytest.mark.parametrize("task", WORD_TASKS)
def test_ceilings_equal_those_by_enumeration(task):
    for length in (1, 2, 5, 7):
        assert ceilings(task, 7)[length - 1] == enumerated_ceiling(task, length)


def test_the_ceiling_of_a_commuting_group_is_1_and_others_approach_their_abelian_part():
    assert set(ceilings("Z60", 40)) == {1}
    for task, limit in (("S3", 1 / 3), ("A5", 1 / 60), ("S5", 1 / 60), ("A4xZ5", 1 / 4)):
        value = in_second_half(ceilings(task, 128), 128)
        assert limit <= value < 1.1 * limit + 0.005, task
        assert chances(task, 128)[-1] <= ceilings(task, 128)[-1]


@pytest.mark.parametrize("group", reflections.REPRESENTED)
def test_reflections_multiply_to_the_generators_and_fewer_do_not(group):
    operators = reflections.represent(group)
    assert reflections.homomorphism_error(group, operators) < 1e-12
    for operator in operators:
        vectors = reflections.factor(operator)
        product = np.eye(len(operator))
        for w in vectors:
            product = product @ reflections.reflect(w)
        np.testing.assert_allclose(product, operator, atol=1e-10)
        # every reflection fixes a hyperplane, so k of them fix a subspace of dimension m − k
        fixed = len(operator) - np.linalg.matrix_rank(np.eye(len(operator)) - operator, tol=1e-6)
        assert len(vectors) == len(operator) - fixed


def test_two_reflections_are_enough_unless_the_group_is_s5():
    most = {
        group: max(map(reflections.needed, reflections.represent(group)))
        for group in reflections.REPRESENTED
    }
    assert most == {"S3": 2, "A5": 2, "S5": 4}


def test_a_wrong_generator_is_no_copy_of_the_group():
    first, second = reflections.represent("A5")
    assert reflections.homomorphism_error("A5", (first, first)) > 0.1
    assert reflections.homomorphism_error("A5", (second, first)) > 0.1
    identity = np.eye(3)
    assert reflections.homomorphism_error("A5", (identity, identity)) == np.inf


@pytest.mark.parametrize("group", reflections.REPRESENTED)
def test_delta_steps_follow_the_group(group):
    assert delta_error(group) < 1e-10
    assert delta_error(group, beta=1.0) > 0.5  # projections are no maps of the group


def test_only_commuting_products_ignore_the_order_of_letters():
    changes = {
        name: max(order_change(name, JOB, draw) for draw in range(4))
        for name in ("toral-product", "orthogonal-product", "linear-product")
    }
    assert changes["toral-product"] < 1e-10
    assert min(changes["orthogonal-product"], changes["linear-product"]) > 1e-3


ROWS = 20_000


def _second_half(length):
    return np.arange(1 + length) > length // 2


@pytest.mark.parametrize("length", [32, 128])
@pytest.mark.parametrize("task", ["parity", "arithmetic"])
def test_a_constant_answer_is_as_good_as_any(task, length):
    _, labels = draw_rows(task, ROWS, length, np.random.default_rng(0))
    half = labels[:, _second_half(length)]
    shares = np.bincount(half[half != UNLABELLED]) / (half != UNLABELLED).sum()
    assert shares.max() == pytest.approx(floor(task, length), abs=0.005)


@pytest.mark.parametrize("length", [32, 64, 128])
def test_the_bit_written_most_often_is_right_as_often_as_computed(length):
    tokens, labels = draw_rows("flip-flop", ROWS, length, np.random.default_rng(0))
    instructions, bits = tokens[:, 1::2] - 1, tokens[:, 2::2] - 1
    votes = np.where(instructions == WRITE, 2 * bits - 1, 0).cumsum(1)
    read = (instructions == READ) & _second_half(length)[1::2]
    stored = 2 * labels[:, 1::2] - 1
    right = np.where(votes == 0, 0.5, np.sign(votes) == stored)
    assert right[read].mean() == pytest.approx(floor("flip-flop", length), abs=0.01)


@pytest.mark.parametrize("length", [16, 64, 128, 256])
def test_the_most_frequent_value_is_right_as_often_as_computed(length):
    tokens, _ = draw_rows("associative", ROWS, length, np.random.default_rng(0))
    values = tokens - 2 - KEYS
    counts = np.stack([(values == value).sum(1) for value in range(VALUES)])
    pairs = min(length // 4, KEYS)
    assert counts.sum(0).tolist() == [pairs] * ROWS
    shares = counts.max(0) / pairs
    assert shares.mean() == pytest.approx(floor("associative", length), abs=0.003)


def test_a_word_problem_has_its_floor_elsewhere():
    with pytest.raises(ValueError, match=r"ceilings\.py"):
        floor("S3", 32)


def test_seeds_that_diverged_lose_against_any_loss_and_tie_with_each_other():
    assert prefer({0.01: float("inf"), 0.03: float("inf")}, 0.01) == 0.01
    assert prefer({0.01: float("inf"), 0.03: 2.0}, 0.01) == 0.03


@pytest.mark.parametrize(
    ("best", "least", "measured"),
    [
        (0.01, 2 * TIE, [0.01, 0.003, 0.03]),
        (0.003, 2 * TIE, [0.01, 0.003, 0.03, 0.001]),
        (0.1, 2 * TIE, [0.01, 0.003, 0.03, 0.1]),
        (RATE, TIE, [RATE]),  # which ties with zero
    ],
)
def test_the_search_knows_both_neighbours_of_its_best_rate(best, least, measured):
    calls = []

    def loss(rate: float) -> float:
        calls.append(rate)
        return abs(RATES.index(rate) - RATES.index(best)) + least

    assert climb(RATES, RATE, loss) == best
    assert calls == measured
