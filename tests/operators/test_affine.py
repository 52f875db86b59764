"""The fast affine map equals torch's linear, with and without `vmap`."""

import pytest
import torch
from torch.nn.functional import linear

from journeylab.operators import affine as maps
from journeylab.operators.affine import affine

from ..tensors import assert_equal


@pytest.fixture(autouse=True)
def use_convolutions_for_small_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maps, "WORTHWHILE", 0)
    monkeypatch.setattr(maps, "onednn_wins", lambda: True)


def parameters(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator).mul_(0.3).requires_grad_() for shape in shapes]


@pytest.mark.parametrize("width", [24, 5])
@pytest.mark.parametrize("rows", [(2, 3), (16, 20), (7, 43)])
def test_convolution_equals_linear_in_values_and_gradients(
    width: int, rows: tuple[int, ...]
) -> None:
    assert_equal(affine, linear, parameters((*rows, 16), (width, 16), (width,)), 1e-4)


@pytest.mark.parametrize("width", [24, 5])
@pytest.mark.parametrize("shared_weights", [False, True])
def test_vmap_over_seeds_equals_each_seed(width: int, shared_weights: bool) -> None:
    x, *rest = parameters((3, 320, 16), (3, width, 16), (3, width))
    if shared_weights:
        rest = [tensor[0].detach().requires_grad_() for tensor in rest]
    in_dims = (0, *([None] * len(rest) if shared_weights else [0] * len(rest)))
    batched = torch.func.vmap(affine, in_dims=in_dims)(x, *rest)
    one_by_one = torch.stack(
        [linear(x[i], *(t if shared_weights else t[i] for t in rest)) for i in range(3)]
    )
    torch.testing.assert_close(batched, one_by_one, rtol=1e-4, atol=1e-4)
    for actual, expected in zip(
        torch.autograd.grad(batched.square().sum(), (x, *rest)),
        torch.autograd.grad(one_by_one.square().sum(), (x, *rest)),
        strict=True,
    ):
        torch.testing.assert_close(actual, expected, rtol=1e-3, atol=1e-3)
