import numpy as np
import pytest

from journeylab.studies.exp8_value_embeddings.geometry import (
    chance_of,
    effective_rank,
    first_component,
    rank_correlation,
    similarities,
    similarity_by_distance,
)

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
