from itertools import permutations

import numpy as np
import pytest

from journeylab.studies.exp8_value_embeddings.data import Instances, assign, sums_of_all
from journeylab.studies.exp8_value_embeddings.decoding import NOWHERE, decode, greedy, judge
from journeylab.studies.exp8_value_embeddings.measure import anchors

RNG = np.random.default_rng(0)


def make(costs):
    costs = np.array(costs)
    return Instances(costs, costs, assign(costs))


def test_token_decoding_needs_every_cell_to_be_right():
    logits = np.array(
        [
            [[1.0, -1.0], [-1.0, 1.0]],
            [[1.0, 0.5], [-1.0, 1.0]],  # an assigned cell too many
            [[-0.1, -1.0], [-1.0, 1.0]],  # an assigned cell too few
            [[1.0, -1.0], [1.0, -1.0]],  # a column twice
        ]
    )
    assert decode(logits, "token").tolist() == [[0, 1], *[[NOWHERE, NOWHERE]] * 3]
    assert decode(logits, "row").tolist() == [[0, 1], [0, 1], [0, 1], [NOWHERE, NOWHERE]]


def test_hungarian_decoding_has_the_largest_sum_of_all_permutations():
    logits = RNG.normal(size=(50, 4, 4))
    answers = decode(logits, "hungarian")
    for matrix, columns in zip(logits, answers, strict=True):
        best = max(permutations(range(4)), key=lambda p: sum(matrix[r, p[r]] for r in range(4)))
        assert tuple(columns) == best


def test_all_tied_optima_are_optimal_and_gaps_count_valid_answers_only():
    instances = make([[[5, 5], [5, 5]], [[1, 2], [3, 1]], [[1, 2], [3, 1]]])
    answers = np.array([[1, 0], [1, 0], [NOWHERE, NOWHERE]])
    rates = judge(answers, instances)
    assert rates == {"valid": 2 / 3, "optimal": 1 / 3, "gap": pytest.approx((0 + 3 / 2) / 2)}
    assert np.isnan(judge(np.full((3, 2), NOWHERE), instances)["gap"])


def test_greedy_takes_the_cheapest_free_cell():
    costs = np.array([[[9, 1, 2], [9, 2, 8], [50, 9, 9]]])
    assert greedy(costs).tolist() == [[1, 2, 0]]
    assert judge(greedy(costs), make(costs))["gap"] == pytest.approx((1 + 8 + 50) / (1 + 9 + 9) - 1)


def test_the_random_anchor_is_the_mean_over_all_permutations():
    costs = RNG.integers(1, 6, (30, 3, 3))
    rates = anchors(make(costs))
    every = [
        [sum(matrix[r, p[r]] for r in range(3)) for p in permutations(range(3))] for matrix in costs
    ]
    assert np.sort(sums_of_all(costs), 1).tolist() == [sorted(each) for each in every]
    optimal = np.mean([each.count(min(each)) / 6 for each in every])
    assert rates["random_optimal"] == pytest.approx(optimal)
    assert rates["random_gap"] == pytest.approx(np.mean([np.mean(e) / min(e) - 1 for e in every]))
    assert rates["greedy_optimal"] > rates["random_optimal"]
