"""The fast affine map equals torch's linear, with and without `vmap`."""

import pytest
import torch
from torch.nn.functional import linear

from journeylab.operators import affine as maps
from journeylab.operators.affine import affine


@pytest.fixture(autouse=True)
def use_convolutions_for_small_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maps, "WORTHWHILE", 0)
    monkeypatch.setattr(maps, "onednn_wins", lambda: True)


def parameters(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator).mul_(0.3).requires_grad_() for shape in shapes]


CASES = {
    "affine": (affine, linear, ((24, 16), (24,))),
    "narrowing": (affine, linear, ((5, 16), (5,))),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("rows", [(2, 3), (16, 20), (7, 43)])
def test_convolution_equals_linear_in_values_and_gradients(
    case: str, rows: tuple[int, ...]
) -> None:
    fast, slow, shapes = CASES[case]
    x, *rest = parameters((*rows, 16), *shapes)
    results = []
    for function in (fast, slow):
        y = function(x, *rest)
        loss = (y * torch.linspace(-1, 1, y.numel()).view_as(y)).sum()
        results.append((y, *torch.autograd.grad(loss, (x, *rest))))
    for actual, expected in zip(*results, strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("shared_weights", [False, True])
def test_vmap_over_seeds_equals_each_seed(case: str, shared_weights: bool) -> None:
    fast, slow, shapes = CASES[case]
    x, *rest = parameters((3, 320, 16), *((3, *shape) for shape in shapes))
    if shared_weights:
        rest = [tensor[0].detach().requires_grad_() for tensor in rest]
    in_dims = (0, *([None] * len(rest) if shared_weights else [0] * len(rest)))
    batched = torch.func.vmap(fast, in_dims=in_dims)(x, *rest)
    one_by_one = torch.stack(
        [slow(x[i], *(t if shared_weights else t[i] for t in rest)) for i in range(3)]
    )
    torch.testing.assert_close(batched, one_by_one, rtol=1e-4, atol=1e-4)
    for actual, expected in zip(
        torch.autograd.grad(batched.square().sum(), (x, *rest)),
        torch.autograd.grad(one_by_one.square().sum(), (x, *rest)),
        strict=True,
    ):
        torch.testing.assert_close(actual, expected, rtol=1e-3, atol=1e-3)
