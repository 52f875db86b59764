"""The fast affine map equals torch's linear, with and without `vmap`."""

import pytest
import torch
from torch.nn.functional import linear

from journeylab.operators import affine as maps
from journeylab.operators.affine import affine

from ..tensors import assert_batched_equal, assert_equal


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
@pytest.mark.parametrize("of_weights", [0, None])
def test_vmap_over_seeds_equals_each_seed(width: int, of_weights: int | None) -> None:
    x, *weights = parameters((3, 320, 16), (3, width, 16), (3, width))
    if of_weights is None:
        weights = [each[0] for each in weights]
    assert_batched_equal(affine, linear, [x, *weights], [0, of_weights, of_weights], 1e-4)
