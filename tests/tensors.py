"""Tensors that a seed draws, and equality of two functions in values and gradients."""

import itertools

import torch


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
