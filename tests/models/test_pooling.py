"""Attention over sets and poolings equal their formulas, and ignore the order of their inputs."""

import math

import pytest
import torch
from torch import nn

from journeylab.models.multihead import EncoderBlock, MultiHead
from journeylab.models.pooling import AttentionPooling, ClusterPooling, MeanPooling, SabagPooling

from ..tensors import draw, encoder_layer, generator


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


GENERATOR = torch.Generator().manual_seed(7)


def test_multi_head_equals_torch_multihead_attention():
    ours, theirs = (
        MultiHead(8, 2, generator=generator()),
        nn.MultiheadAttention(8, 2, batch_first=True),
    )
    with torch.no_grad():
        for p in ours.parameters():
            p.add_(0.1)
        theirs.in_proj_weight.copy_(ours.project.weight)
        theirs.in_proj_bias.copy_(ours.project.bias)
        theirs.out_proj.weight.copy_(ours.output.weight)
        theirs.out_proj.bias.copy_(ours.output.bias)
    q, y = torch.randn(3, 4, 8, generator=GENERATOR), torch.randn(3, 5, 8, generator=GENERATOR)
    allowed = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 1, 1, 0, 1]], dtype=torch.bool)
    for mask in (None, allowed):
        expected, _ = theirs(q, y, y, key_padding_mask=None if mask is None else ~mask)
        torch.testing.assert_close(ours(q, y, mask), expected)


def test_block_with_index_equals_the_full_block_at_that_token():
    block = EncoderBlock(8, 2, generator=generator(1))
    x, index = torch.randn(3, 5, 8, generator=GENERATOR), torch.tensor([4, 0, 2])
    whole = block(x)
    torch.testing.assert_close(block(x, None, index)[:, 0], whole[torch.arange(3), index])
    assert not torch.allclose(whole[:, 0], whole[:, 1])


def test_block_equals_the_pre_norm_encoder_layer_of_torch():
    ours = EncoderBlock(8, 2, generator=generator(1))
    theirs = encoder_layer(ours, 2, norm_first=True)
    x = torch.randn(3, 5, 8, generator=GENERATOR)
    mask = torch.tensor([[True] * 5, [True] * 2 + [False] * 3, [True] * 4 + [False]])
    expected = theirs(x, src_key_padding_mask=~mask)
    torch.testing.assert_close(ours(x, mask), expected)


def test_width_that_is_no_multiple_of_heads_raises_value_error():
    with pytest.raises(ValueError, match="8 is not a multiple of 3"):
        MultiHead(8, 3, generator=generator())
