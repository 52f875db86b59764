"""Time of every method of the linear recurrence, on the same inputs."""

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from journeylab.operators import ssm

METHODS = {"recurrent": ssm.recurrent, "parallel": ssm.parallel, "scan": ssm.scan}


@pytest.mark.parametrize("length", [20, 200, 2000])
@pytest.mark.parametrize("method", METHODS)
def test_ssm_method(benchmark: BenchmarkFixture, method: str, length: int) -> None:
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    operator, _ = torch.linalg.qr(torch.randn(8, 4, 4, generator=generator, dtype=torch.float64))
    inputs = torch.randn(8, length, 4, generator=generator, dtype=torch.float64)
    benchmark.group = f"linear recurrence, N = {length}, d = 4, batch 8"
    states = benchmark(METHODS[method], operator, inputs)
    assert states.shape == inputs.shape
