"""Affine maps y = x Wᵀ + b of the last axis, by the fastest method for the device.

On an AMD processor with AVX-512, a product in float32 is computed as a 1×1 convolution over
channels-last images. PyTorch sends convolutions of at least 16 images to oneDNN. On such a
processor oneDNN is about twice as fast as the BLAS behind `torch.nn.functional.linear`, because
that BLAS uses only AVX2 on AMD. On Intel, and with AVX2 alone, the BLAS is faster. Only public API
is used: if a later PyTorch dispatches differently, only the speed changes. On other devices, and
under `torch.func.vmap`, the maps are ordinary (batched) matrix products.
"""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.backends.cpu import get_cpu_capability
from torch.nn.functional import conv2d, linear, pad
from torch.nn.grad import conv2d_weight

from journeylab.operators.batching import batch_first

IMAGES = 16
"""Smallest number of images that PyTorch sends to oneDNN."""
WORTHWHILE = 1 << 23
"""Smallest number of multiply-adds for which the convolution is faster than the BLAS."""


def affine(
    x: Float[Tensor, "*batch inputs"],
    weight: Float[Tensor, "outputs inputs"],
    bias: Float[Tensor, " outputs"],
) -> Float[Tensor, "*batch outputs"]:
    """Return y = x Wᵀ + b, differentiable in x, W and b; x, W and b have one dtype."""
    if not _convolves(x, weight):
        return linear(x, weight, bias)
    flat = x.reshape(-1, x.shape[-1])
    y: Tensor = _Affine.apply(flat, weight, bias)  # type: ignore[no-untyped-call]
    return y.view(*x.shape[:-1], weight.shape[0])


def product(
    x: Float[Tensor, "*seed rows inputs"],
    weight: Float[Tensor, "*seed outputs inputs"],
    bias: Float[Tensor, "*seed outputs"] | None = None,
) -> Float[Tensor, "*seed rows outputs"]:
    """Return y = x Wᵀ + b of every row; for backward passes that are written by hand.

    With a leading axis of seeds, each seed has its own W and b.
    """
    if x.ndim == 3:
        if bias is None:
            return torch.bmm(x, weight.mT)
        return torch.baddbmm(bias.unsqueeze(-2), x, weight.mT)
    if not _convolves(x, weight):
        return linear(x, weight, bias)
    flat, rows = _lay_out(x)
    return _convolve(flat, weight, bias)[:rows]


def weight_gradient(
    grad: Float[Tensor, "*seed rows outputs"], x: Float[Tensor, "*seed rows inputs"]
) -> Float[Tensor, "*seed outputs inputs"]:
    """Return ∂W = Σ_rows ∂y xᵀ for y = x Wᵀ + b, given the gradient ∂y."""
    if not (x.ndim == 2 and _convolves(x, grad.mT)):
        return grad.mT @ x
    return _convolve_weight(_lay_out(grad)[0], _lay_out(x)[0])


@cache
def onednn_wins() -> bool:
    """Return whether oneDNN's products are faster than the BLAS on this machine's processor."""
    cpuinfo = Path("/proc/cpuinfo")
    processor = cpuinfo.read_text(encoding="utf-8") if cpuinfo.exists() else platform.processor()
    return get_cpu_capability() == "AVX512" and "AuthenticAMD" in processor


def _convolves(x: Tensor, weight: Tensor) -> bool:
    if x.device.type != "cpu" or x.dtype != torch.float32 or not onednn_wins():
        return False
    return x.numel() * weight.shape[0] >= WORTHWHILE


def _lay_out(x: Tensor) -> tuple[Tensor, int]:
    """Return the rows of x, padded with zeros to a multiple of `IMAGES`, and their true number."""
    rows = x.numel() // x.shape[-1]
    flat = x.reshape(rows, x.shape[-1])
    spare = -rows % IMAGES
    return (pad(flat, (0, 0, 0, spare)) if spare else flat), rows


def _images(x: Tensor) -> Tensor:
    """View rows as channels-last images with one channel per column."""
    return x.view(IMAGES, x.shape[0] // IMAGES, 1, x.shape[1]).permute(0, 3, 1, 2)


def _convolve(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    images = conv2d(_images(x), weight[:, :, None, None], bias)
    return images.permute(0, 2, 3, 1).reshape(x.shape[0], weight.shape[0])


def _convolve_weight(grad: Tensor, x: Tensor) -> Tensor:
    outputs, inputs = grad.shape[1], x.shape[1]
    if inputs > outputs:
        # With the wider side as output channels, the kernel runs twice as fast on uncached data.

        return _convolve_weight(x, grad).t()
    shape = (outputs, inputs, 1, 1)
    kernel: Tensor = conv2d_weight(_images(x), shape, _images(grad))
    return kernel[:, :, 0, 0]


class _Affine(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return product(x, weight, bias)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        grad = grad.contiguous()
        below = product(grad, weight.mT) if ctx.needs_input_grad[0] else None
        return below, weight_gradient(grad, x), grad.sum(-2)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Tensor) -> tuple[Tensor, int]:
        return _Affine.apply(*batch_first(info, in_dims, inputs)), 0  # type: ignore[no-untyped-call]
