"""The methods of prefix products, forward and backward, timed side by side on the same inputs."""

import pytest
import torch

from journeylab.operators.scan import affine_states, prefix_products


@pytest.mark.parametrize("length", [16, 64, 256, 1024])
@pytest.mark.parametrize("method", ["loop", "scan", "orthogonal"])
def test_prefix_products(benchmark, method, length):
    operators, _, weights = case(length)
    benchmark.group = f"prefix products with gradient, T = {length}, d = 8"

    def step():
        return torch.autograd.grad(prefix_products(operators, method), operators, weights)

    (slope,) = benchmark(step)
    assert slope.shape == operators.shape


@pytest.mark.parametrize("length", [16, 64, 256, 1024])
@pytest.mark.parametrize("method", ["loop", "scan", "orthogonal"])
def test_affine_states(benchmark, method, length):
    operators, vectors, weights = case(length)
    leaves = (operators, vectors)
    benchmark.group = f"affine recurrence with gradient, T = {length}, d = 8"

    def step():
        return torch.autograd.grad(affine_states(*leaves, method), leaves, weights[..., 0])

    slopes = benchmark(step)
    assert slopes[1].shape == vectors.shape


def case(length):
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    operators, _ = torch.linalg.qr(torch.randn(length, 8, 8, generator=generator))
    vectors = torch.randn(length, 8, generator=generator)
    weights = torch.randn(length, 8, 8, generator=generator)
    return operators.contiguous().requires_grad_(), vectors.requires_grad_(), weights
