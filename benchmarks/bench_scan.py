"""Time of every method of the affine recurrence, with its gradient, on the same inputs."""

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture
from torch import Tensor

from journeylab.operators.scan import Method, affine_states


@pytest.mark.parametrize("length", [16, 64, 256, 1024])
@pytest.mark.parametrize("method", ["loop", "scan", "orthogonal"])
def test_affine_states(benchmark: BenchmarkFixture, method: Method, length: int) -> None:
    operators, vectors, weights = case(length)
    leaves = (operators, vectors)
    benchmark.group = f"affine recurrence with gradient, T = {length}, d = 8"

    def step() -> tuple[Tensor, ...]:
        return torch.autograd.grad(affine_states(*leaves, method), leaves, weights[..., 0])

    gradients = benchmark(step)
    assert gradients[1].shape == vectors.shape


def case(length: int) -> tuple[Tensor, Tensor, Tensor]:
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    operators, _ = torch.linalg.qr(torch.randn(length, 8, 8, generator=generator))
    vectors = torch.randn(length, 8, generator=generator)
    weights = torch.randn(length, 8, 8, generator=generator)
    return operators.contiguous().requires_grad_(), vectors.requires_grad_(), weights
