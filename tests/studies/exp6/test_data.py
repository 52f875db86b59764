import math

import numpy as np
import pytest
import torch

from journeylab.streams import data_streams
from journeylab.studies.exp6_coupling_rank.data import (
    counts_of,
    draw_teacher,
    frequencies_of,
    generate,
    scores_of,
)
from journeylab.studies.exp6_coupling_rank.settings import Data, TableSizes

SMALL = {"positions": 12, "roles": 3, "entities": 8}


def make(seed=1000, **chosen):
    data = Data(**{"frequencies": "random", "operators": "toral", **SMALL, **chosen})
    return data, generate(data, data_streams("exp6", "test", seed))


@pytest.mark.parametrize("frequencies", ["decaying", "random"])
def test_a_score_is_the_product_of_the_rotated_query_and_the_key_in_its_role(frequencies):
    teacher = draw_teacher(frequencies, "toral", TableSizes(**SMALL), np.random.default_rng(0))
    query, keys = (x.contiguous().numpy().view(complex) for x in (teacher.query, teacher.keys))
    omega = teacher.frequencies.numpy()
    for t, s, e in ((0, 0, 0), (1, 2, 3), (11, 1, 7)):
        expected = (np.exp(1j * t * omega) * query * keys[s, e].conj()).sum().real
        assert teacher.scores(12)[t, s, e].item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("operators", ["toral", "orthogonal"])
def test_roles_rotate_keys_and_keep_their_products(operators):
    rng = np.random.default_rng(1)
    keys = draw_teacher("random", operators, TableSizes(**SMALL), rng).keys
    gram = keys @ keys.mT
    torch.testing.assert_close(gram, gram[:1].expand_as(gram))
    rotation = torch.linalg.lstsq(keys[:1].expand_as(keys[1:]), keys[1:]).solution
    torch.testing.assert_close(torch.linalg.det(rotation), torch.ones(2, dtype=torch.float64))
    assert (keys[0] - keys[1]).abs().max() > 0.1
    planes = keys.unflatten(-1, (-1, 2)).norm(dim=-1)
    assert torch.allclose(planes[0], planes[1]) == (operators == "toral")


def test_random_frequencies_are_apart_from_each_other_and_both_ends():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        omega = draw_teacher("random", "toral", TableSizes(**SMALL), rng).frequencies.numpy()
        assert np.diff([0.0, *omega, math.pi]).min() >= 0.1


def test_labels_without_noise_are_the_best_entities():
    data, table = make(noise=0.0)
    scores, counts = scores_of(table, data), counts_of(table, data)
    assert counts.sum() == data.queries
    best = torch.eye(data.entities, dtype=torch.float64)[scores.argmax(-1)]
    assert (counts * best).sum() == data.queries
    noisy = counts_of(make(noise=0.5)[1], data)
    assert 0.2 * data.queries < (noisy * best).sum() < 0.95 * data.queries


def test_random_labels_do_not_depend_on_the_teacher():
    data, table = make(labels="random")
    scores, counts = scores_of(table, data), counts_of(table, data)
    assert set(scores.unique().tolist()) == {0.0, 1.0}
    assert (scores.sum(-1) == 1).all()
    assert (counts * scores).sum() == data.queries
    assert torch.linalg.matrix_rank(scores.flatten(1)) > 8


def test_a_dataset_holds_its_teachers_frequencies():
    assert frequencies_of(make(frequencies="decaying")[1]).tolist() == [1.0, 0.3, 0.1, 0.03]
    assert not torch.equal(frequencies_of(make(1000)[1]), frequencies_of(make(1001)[1]))
