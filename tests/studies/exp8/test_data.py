from itertools import permutations

import numpy as np
import pytest

from journeylab.streams import data_streams
from journeylab.studies.exp8_value_embeddings.data import (
    assign,
    generate,
    instances_of,
    sums_of_all,
)
from journeylab.studies.exp8_value_embeddings.settings import Data

HELD_OUT = {3, 8, 13, 18, 23, 28, 33, 38, 43, 48, 53, 58, 63, 68, 73, 78, 83, 88, 93, 98}
DATA = Data(n=4, train=400, test=200)


def draw(seed=1000, **data):
    chosen = DATA.model_copy(update=data)
    return generate(chosen, data_streams("exp8", "costs", seed))


def test_splits_have_their_ranges_of_costs():
    table = draw()
    costs = {split: instances_of(table, 4, split).costs for split in table["split"].unique()}
    assert {split: len(each) for split, each in costs.items()} == {
        "train": 400,
        "iid": 200,
        "close": 200,
        "held-out": 200,
        "shifted": 200,
    }
    known = set(range(1, 101)) - HELD_OUT
    assert set(costs["train"].flat) == set(costs["iid"].flat) == known
    assert set(costs["held-out"].flat) == HELD_OUT
    assert set(costs["shifted"].flat) == set(range(50, 151))


def test_labels_are_optimal_by_enumeration():
    table = draw()
    for split in ("train", "held-out"):
        instances = instances_of(table, 4, split)
        for costs, columns, least in zip(
            instances.costs, instances.columns, instances.least, strict=True
        ):
            every = [sum(costs[r, p[r]] for r in range(4)) for p in permutations(range(4))]
            assert sum(costs[r, columns[r]] for r in range(4)) == least == min(every)


def test_close_calls_are_decided_by_one_unit_of_cost():
    instances = instances_of(draw(), 4, "close")
    best = np.sort(sums_of_all(instances.costs))
    np.testing.assert_array_equal(best[:, 1] - best[:, 0], 1)
    np.testing.assert_array_equal(best[:, 0], instances.least)
    assert set(instances.costs.flat) == set(range(1, 101)) - HELD_OUT


def test_assignments_have_the_smallest_cost_for_either_sign():
    assert assign(np.array([[[1.0, 2.0], [2.0, 1.0]], [[-1.0, -2.0], [-2.0, -1.0]]])).tolist() == [
        [0, 1],
        [1, 0],
    ]


def test_permuted_labels_are_a_bijection_and_keep_the_problem():
    plain, permuted = (
        instances_of(draw(labels=labels), 4, "train") for labels in ("costs", "permuted")
    )
    np.testing.assert_array_equal(plain.costs, plain.shown)
    np.testing.assert_array_equal(plain.costs, permuted.costs)
    np.testing.assert_array_equal(plain.columns, permuted.columns)
    pairs = set(zip(permuted.costs.flat, permuted.shown.flat, strict=True))
    assert len(pairs) == len({cost for cost, _ in pairs}) == len({name for _, name in pairs})
    assert {name for _, name in pairs} <= set(range(1, 101))
    moved = np.corrcoef(permuted.costs.ravel(), permuted.shown.ravel())[0, 1]
    assert abs(moved) < 0.5


@pytest.mark.parametrize("n", [2, 5])
def test_instances_of_every_size_are_read_back(n):
    instances = instances_of(draw(n=n, train=20), n, "train")
    assert instances.costs.shape == (20, n, n)
    assert (np.sort(instances.columns, 1) == np.arange(n)).all()
