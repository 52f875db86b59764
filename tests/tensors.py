"""Tensors that a seed draws, and equality of two functions in values and gradients."""

import torch


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def draw(seed, *shape):
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def assert_equal(fast, slow, inputs, tolerance=1e-9, weights=None):
    """Equal values, and equal gradients of their weighted sum; random weights unless given."""
    results = []
    for function in (fast, slow):
        leaves = [x.detach().clone().requires_grad_() for x in inputs]
        values = function(*leaves)
        if weights is None:
            weights = draw(77, *values.shape).to(values.dtype)
        gradients = torch.autograd.grad((values * weights).sum(), leaves, materialize_grads=True)
        results.append((values, *gradients))
    for actual, expected in zip(*results, strict=True):
        torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)
