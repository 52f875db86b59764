"""Position-wise maps, y = x Wᵀ + b and the GELU MLP, on the fastest supported path of the device.

On CPU in float32 a product is written as a 1×1 convolution over channels-last images: PyTorch
hands convolutions of at least 16 images to oneDNN, which on AMD reaches twice the rate of the
BLAS behind `torch.nn.functional.linear`. Everything used here is public API; if a future version
chooses otherwise, only the speed changes. Elsewhere, and under `torch.func.vmap`, the maps are
ordinary (batched) matrix products.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import conv2d, gelu, linear, pad
from torch.nn.grad import conv2d_weight

IMAGES = 16
WORTHWHILE = 1 << 23
"""Multiply-adds below which the convolution's fixed cost outweighs its rate."""


def affine(
    x: Float[Tensor, "*batch inputs"],
    weight: Float[Tensor, "outputs inputs"],
    bias: Float[Tensor, " outputs"],
) -> Float[Tensor, "*batch outputs"]:
    """Return x Wᵀ + b."""
    if not _convolves(x, weight):
        return linear(x, weight, bias)
    flat, rows = _lay_out(x)
    y: Tensor = _Affine.apply(flat, weight, bias)  # type: ignore[no-untyped-call]
    return y[:rows].reshape(*x.shape[:-1], weight.shape[0])


def gelu_mlp(
    x: Float[Tensor, "*batch width"],
    up: Float[Tensor, "inner width"],
    up_bias: Float[Tensor, " inner"],
    down: Float[Tensor, "width inner"],
    down_bias: Float[Tensor, " width"],
) -> Float[Tensor, "*batch width"]:
    """Return W₂ gelu(W₁ x + b₁) + b₂ with the exact (erf) GELU."""
    if not _convolves(x, up):
        return linear(gelu(linear(x, up, up_bias)), down, down_bias)
    flat, rows = _lay_out(x)
    outputs = _Mlp.apply(flat, up, up_bias, down, down_bias)  # type: ignore[no-untyped-call]
    y: Tensor = outputs[0]
    return y[:rows].reshape(x.shape)


def _convolves(x: Tensor, weight: Tensor) -> bool:
    if x.device.type != "cpu" or x.dtype != torch.float32:
        return False
    return x.numel() * weight.shape[0] >= WORTHWHILE


def _lay_out(x: Tensor) -> tuple[Tensor, int]:
    rows = x.numel() // x.shape[-1]
    flat = x.reshape(rows, x.shape[-1])
    spare = -rows % IMAGES
    return (pad(flat, (0, 0, 0, spare)) if spare else flat), rows


def _images(x: Tensor) -> Tensor:
    return x.view(IMAGES, x.shape[0] // IMAGES, 1, x.shape[1]).permute(0, 3, 1, 2)


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    images = conv2d(_images(x), weight[:, :, None, None], bias)
    return images.permute(0, 2, 3, 1).reshape(x.shape[0], weight.shape[0])


def _weight_gradient(grad: Tensor, x: Tensor) -> Tensor:
    outputs, inputs = grad.shape[1], x.shape[1]
    if inputs > outputs:
        # The wider side as output: the other way round runs at half the rate on cold data.
        return _weight_gradient(x, grad).t()
    shape = (outputs, inputs, 1, 1)
    kernel: Tensor = conv2d_weight(_images(x), shape, _images(grad))
    return kernel[:, :, 0, 0]


def _stack(info: Any, in_dims: tuple[int | None, ...], inputs: tuple[Tensor, ...]) -> list[Tensor]:
    return [
        tensor.expand(info.batch_size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
        for tensor, dim in zip(inputs, in_dims, strict=True)
    ]


class _Affine(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return _product(x, weight, bias)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        grad = grad.contiguous()
        return (
            _product(grad, weight.t()) if ctx.needs_input_grad[0] else None,
            _weight_gradient(grad, x),
            grad.sum(0),
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Tensor) -> tuple[Tensor, int]:
        x, weight, bias = _stack(info, in_dims, inputs)
        return torch.baddbmm(bias[:, None], x, weight.transpose(1, 2)), 0


class _Mlp(torch.autograd.Function):
    """Its inner activations are outputs too: the only way to keep them that vmap allows."""

    @staticmethod
    def forward(
        x: Tensor, up: Tensor, up_bias: Tensor, down: Tensor, down_bias: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        inner = _product(x, up, up_bias)
        active = gelu(inner)
        return _product(active, down, down_bias), inner, active

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        x, up, _, down, _ = inputs
        _, inner, active = output
        ctx.mark_non_differentiable(inner, active)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x, up, down, inner, active)

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *unused: None) -> tuple[Tensor, ...]:
        x, up, down, inner, active = ctx.saved_tensors
        grad = grad.contiguous()
        grad_down = _weight_gradient(grad, active)
        grad_inner = torch.ops.aten.gelu_backward(_product(grad, down.t()), inner)
        return (
            _product(grad_inner, up.t()),
            _weight_gradient(grad_inner, x),
            grad_inner.sum(0),
            grad_down,
            grad.sum(0),
        )

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *inputs: Tensor
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        x, up, up_bias, down, down_bias = _stack(info, in_dims, inputs)
        inner = torch.baddbmm(up_bias[:, None], x, up.transpose(1, 2))
        active = gelu(inner)
        y = torch.baddbmm(down_bias[:, None], active, down.transpose(1, 2))
        return (y, inner, active), (0, 0, 0)
