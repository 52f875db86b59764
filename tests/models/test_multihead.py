"""Multi-head attention equals that of PyTorch; a block with an index equals the full block."""

import pytest
import torch
from torch import nn

from journeylab.models.multihead import EncoderBlock, MultiHead

from ..tensors import encoder_layer

GENERATOR = torch.Generator().manual_seed(7)


def make(width=8, heads=2, seed=0):
    return MultiHead(width, heads, generator=torch.Generator().manual_seed(seed))


def test_multi_head_equals_torch_multihead_attention():
    ours, theirs = make(), nn.MultiheadAttention(8, 2, batch_first=True)
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
    block = EncoderBlock(8, 2, generator=torch.Generator().manual_seed(1))
    x, index = torch.randn(3, 5, 8, generator=GENERATOR), torch.tensor([4, 0, 2])
    whole = block(x)
    torch.testing.assert_close(block(x, None, index)[:, 0], whole[torch.arange(3), index])
    assert not torch.allclose(whole[:, 0], whole[:, 1])


def test_block_equals_the_pre_norm_encoder_layer_of_torch():
    ours = EncoderBlock(8, 2, generator=torch.Generator().manual_seed(1))
    theirs = encoder_layer(ours, 2, norm_first=True)
    x = torch.randn(3, 5, 8, generator=GENERATOR)
    mask = torch.tensor([[True] * 5, [True] * 2 + [False] * 3, [True] * 4 + [False]])
    expected = theirs(x, src_key_padding_mask=~mask)
    torch.testing.assert_close(ours(x, mask), expected)


def test_width_that_is_no_multiple_of_heads_raises_value_error():
    with pytest.raises(ValueError, match="8 is not a multiple of 3"):
        make(8, 3)
