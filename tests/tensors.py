"""Tensors that a seed draws, and equality with another function or another library's layer."""

import itertools

import torch
from torch import nn


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def draw(seed, *shape):
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def assert_equal(fast, slow, inputs, tolerance=1e-9, weights=None):
    """Equal values, and equal gradients of their weighted sum; random weights unless given."""
    results = []
    for function in (fast, slow):
        leaves = [x.detach().clone().requires_grad_(x.is_floating_point()) for x in inputs]
        values, moving = function(*leaves), [x for x in leaves if x.requires_grad]
        if weights is None:
            weights = draw(77, *values.shape).to(values.dtype)
        gradients = torch.autograd.grad((values * weights).sum(), moving, materialize_grads=True)
        results.append((values, *gradients))
    torch.testing.assert_close(*results, rtol=tolerance, atol=tolerance)


def assert_batched_equal(fast, slow, inputs, dimensions, tolerance=1e-9):
    """`vmap` of one function equals the other on each slice of the inputs along `dimensions`."""

    def one_by_one(*leaves):
        slices = [
            itertools.repeat(x) if dimension is None else x.unbind(dimension)
            for x, dimension in zip(leaves, dimensions, strict=True)
        ]
        return torch.stack([slow(*each) for each in zip(*slices, strict=False)])

    assert_equal(torch.func.vmap(fast, tuple(dimensions)), one_by_one, inputs, tolerance)


def encoder_layer(block: nn.Module, heads: int, *, norm_first: bool) -> nn.TransformerEncoderLayer:
    """PyTorch's layer with a block's parameters, after all are moved from where they start.

    The norms of a post-norm block (``norm_first=False``) have no parameters here.
    """
    attention = getattr(block, "attention", block)
    parts = {"self_attn.in_proj_": attention.project, "self_attn.out_proj.": attention.output}
    parts |= {"linear1.": block.expand, "linear2.": block.contract}
    if norm_first:
        parts |= {"norm1.": block.attention_norm, "norm2.": block.mlp_norm}
    weights = {
        prefix + name: getattr(part, name)
        for prefix, part in parts.items()
        for name in ("weight", "bias")
    }
    with torch.no_grad():
        for parameter in weights.values():
            parameter.add_(0.1 * torch.randn(parameter.shape))
    hidden, width = block.expand.weight.shape
    layer = nn.TransformerEncoderLayer(
        width,
        heads,
        hidden,
        dropout=0.0,
        activation="gelu",
        batch_first=True,
        norm_first=norm_first,
    )
    layer.load_state_dict(weights, strict=norm_first)
    return layer
