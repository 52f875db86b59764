"""Poolings equal their formulas, and ignore the order of their inputs."""

import math

import pytest
import torch

from journeylab.models.pooling import AttentionPooling, ClusterPooling, MeanPooling, SabagPooling

from ..tensors import draw, generator


def inputs():
    return draw(1, 3, 5, 8)


@pytest.mark.parametrize("k", [2, 5, 10])
def test_sabag_is_a_softmax_over_inputs_for_every_k(k):
    pool = SabagPooling(k, 8, temperature=0.5, scale=1.0, generator=generator()).double()
    h = inputs()
    features, weights = pool(h)
    for row in range(len(h)):
        for j in range(k):
            scores = [math.exp(float(pool.queries[j].detach() @ x) / 0.5) for x in h[row]]
            expected = sum(s / sum(scores) * x for s, x in zip(scores, h[row], strict=True))
            torch.testing.assert_close(features[row, j], expected)
            assert weights[row, j, 1].item() == pytest.approx(scores[1] / sum(scores))


def test_attention_pooling_equals_the_set_transformers():
    pool, h = AttentionPooling(2, 8, heads=2, generator=generator()).double(), inputs()
    y = torch.relu(h @ pool.before.weight.mT + pool.before.bias)
    x = pool.seeds.expand(3, -1, -1)
    z = torch.nn.functional.layer_norm(x + pool.attention(x, y), (8,))
    fed = torch.relu(z @ pool.after.weight.mT + pool.after.bias)
    expected = torch.nn.functional.layer_norm(z + fed, (8,))
    torch.testing.assert_close(pool(h).features, expected)


def test_centres_are_farthest_points_and_repeat_only_when_none_is_left():
    h = torch.tensor([[[0.0], [1.0], [10.0], [10.0], [4.0]]])
    chosen = ClusterPooling(6).select(h, torch.tensor([1]))[0].tolist()
    assert chosen[0] == 1
    assert chosen[1] in (2, 3)  # 9 away
    assert chosen[2:4] == [4, 0]  # 3 and 1 away
    assert chosen[4:] == [1, 1]  # no input is left: the first centre again
    for start in range(5):
        chosen = ClusterPooling(4).select(h, torch.tensor([start]))[0]
        assert len(h[0, chosen].unique()) == 4


def test_cluster_weights_equal_the_softmax_of_distances():
    h, start = inputs(), torch.tensor([0, 3, 4])
    pool = ClusterPooling(2)
    chosen, (features, weights) = pool.select(h, start), pool(h, start)
    for row in range(3):
        centres = h[row, chosen[row]]
        share = torch.tensor(
            [
                [math.exp(-float((x - c).square().sum()) / math.sqrt(8)) for c in centres]
                for x in h[row]
            ],
            dtype=torch.float64,
        )
        share = share / share.sum(1, keepdim=True)
        torch.testing.assert_close(weights[row], (share / share.sum(0)).mT)
        torch.testing.assert_close(features[row], weights[row] @ h[row])


def test_mean_pooling_repeats_the_mean():
    h = inputs().float()
    features, weights = MeanPooling(3)(h)
    torch.testing.assert_close(features, h.mean(1, keepdim=True).expand(-1, 3, -1))
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, 3))
