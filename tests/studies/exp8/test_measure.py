from itertools import permutations

import numpy as np
import pytest
import torch

from journeylab.catalogue import printed_names
from journeylab.studies.exp8_value_embeddings.data import Instances, assign, sums_of_all
from journeylab.studies.exp8_value_embeddings.decoding import NOWHERE, decode, greedy, judge
from journeylab.studies.exp8_value_embeddings.geometry import (
    chance_of,
    effective_rank,
    first_component,
    rank_correlation,
    similarities,
    similarity_by_distance,
)
from journeylab.studies.exp8_value_embeddings.measure import anchors, measure
from journeylab.studies.exp8_value_embeddings.models import Recursion
from journeylab.studies.exp8_value_embeddings.settings import HELD_OUT, Evaluation

from .results import make_problem

METRICS = printed_names("exp8").metrics
ARC = torch.stack(((0.02 * torch.arange(151)).cos(), (0.02 * torch.arange(151)).sin()), -1)
"""A vector for each cost; their similarities fall with the distance of costs."""


class NegativeCosts(Recursion):
    """Logits that decrease linearly with the cost of their own cell."""

    def forward(self, shown):
        return 10.0 - shown.double()


def values_of(problem, model):
    table = measure(problem.job, Evaluation(), problem, model)
    return table, table.set_index(["metric", "test", "decoder"])["value"].sort_index()


def put_on_arc(model, costs):
    """Let the vectors of these costs be on the arc, and those of the others random."""
    table = model.embedding.inner.table
    with torch.no_grad():
        table.normal_()
        table[costs] = torch.nn.functional.pad(ARC[costs], (0, 14))


def test_hungarian_decoding_of_negative_costs_is_optimal():
    problem = make_problem("scalar")
    _, values = values_of(problem, NegativeCosts(problem.job, torch.Generator().manual_seed(0)))
    for test in ("iid", "close", "held-out", "shifted"):
        assert values["optimal", test, "hungarian"].item() == 1.0
        assert values["gap", test, "hungarian"].item() == 0.0
        assert values["optimal", test, "row"].item() < 0.9
    assert values["valid", "shifted", "token"].item() == 0.0
    assert ("gap", "shifted", "token") not in values.index  # no valid answer, no gap


def test_optimal_answers_are_valid_and_only_tables_have_a_learned_order(build):
    for variant in ("discrete", "hybrid25"):
        problem = make_problem(variant)
        table, values = values_of(problem, build(problem))
        for factor in ("test", "decoder", "stage"):
            for metric, rows in table.dropna(subset=[factor]).groupby("metric"):
                assert set(rows[factor]) == set(METRICS[metric].factors[factor]) or metric == "gap"
        assert (values["optimal"] <= values["valid"]).all()
        assert ("learned_order" in set(table["metric"])) == (variant == "hybrid25")


def test_order_ignores_costs_that_do_not_occur_in_training(build):
    problem = make_problem("discrete")
    model = build(problem)
    put_on_arc(model, np.setdiff1d(np.arange(151), HELD_OUT))
    rows, _ = values_of(problem, model)
    stages = rows[rows["metric"] == "order"].set_index("stage")["value"]
    assert stages["trained"] == pytest.approx(1.0, abs=1e-4)
    assert abs(stages["initial"]) < 0.15
    near = rows[(rows["metric"] == "similarity") & (rows["stage"] == "trained")]
    np.testing.assert_allclose(
        near["value"], np.cos(0.02 * near["distance"].to_numpy(dtype=float)), atol=1e-5
    )


def test_order_change_reveals_an_order_that_the_table_hides(build):
    problem = make_problem("discrete")
    model = build(problem)
    table, _ = values_of(problem, model)
    assert "order_change" not in set(table["metric"])  # nothing was added
    with torch.no_grad():
        model.embedding.inner.table[:, :2] += 0.1 * ARC
    table, _ = values_of(problem, model)
    values = table.set_index(["metric", "stage"])["value"]
    assert values["order", "trained"] < 0.2
    assert values["order_change"].item() == pytest.approx(1.0, abs=1e-3)


def test_permuted_labels_have_the_same_instances_and_their_own_order(build):
    plain, control = make_problem("discrete"), make_problem("discrete", labels="permuted")
    own, other = plain.select("train"), control.select("train")
    np.testing.assert_array_equal(own.costs, other.costs)
    shown = np.unique(other.shown)
    assert set(shown) != set(np.unique(own.shown))
    model = build(control)
    put_on_arc(model, shown)
    table, _ = values_of(control, model)
    stages = table[table["metric"] == "order"].set_index("stage")["value"]
    assert stages["trained"] == pytest.approx(1.0, abs=1e-4)


COSTS = np.arange(1, 41)
RNG = np.random.default_rng(0)


def arc(angle):
    return np.stack((np.cos(angle * COSTS), np.sin(angle * COSTS)), 1)


def test_similarities_are_cosines_of_angles():
    cosines = similarities(3.0 * arc(0.02))
    np.testing.assert_allclose(cosines, np.cos(0.02 * (COSTS[:, None] - COSTS)), atol=1e-12)
    by_distance = similarity_by_distance(arc(0.02), COSTS)
    assert by_distance == pytest.approx({k: np.cos(0.02 * k) for k in range(1, 40)})


def test_rank_correlation_is_one_for_ordered_vectors_and_zero_by_chance():
    assert rank_correlation(arc(0.02), COSTS) == pytest.approx(1.0)
    shuffled = [rank_correlation(RNG.permutation(arc(0.02)), COSTS) for _ in range(50)]
    assert abs(np.mean(shuffled)) < 0.05
    mirrored = np.stack((np.cos(0.02 * (40 - COSTS)), np.sin(0.02 * (40 - COSTS))), 1)
    assert rank_correlation(mirrored, COSTS) == pytest.approx(1.0)


def test_a_line_has_one_direction_and_a_cross_of_five_axes_five():
    line = np.outer(COSTS, [1.0, 2.0, 2.0])
    assert first_component(line) == pytest.approx(1.0)
    assert effective_rank(line) == pytest.approx(1.0)
    cross = np.concatenate((np.eye(5), -np.eye(5))) + 7.0  # the mean does not count
    assert first_component(cross) == pytest.approx(0.2)
    assert effective_rank(cross) == pytest.approx(5.0)


@pytest.mark.parametrize("d", [8, 64])
def test_chance_equals_the_frequency_among_random_vectors(d):
    first, second = RNG.normal(size=(2, 40_000, d))
    cosines = (
        (first * second).sum(1) / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)
    )
    share = float((np.abs(cosines) >= 0.1394).mean())
    assert chance_of(-0.1394, d) == pytest.approx(share, abs=0.01)


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
