"""The interface of a mixer, and what several mixers need: heads, short convolutions, unit vectors.

Sizes: width d, heads H, head width e = d/H, length T.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import pad

UNIT_EPSILON = 1e-6
"""Added to the square of a length, so that the gradient of a zero vector is finite."""


class Mixer(Protocol):
    """A causal sequence mixer: an `nn.Module` that combines the vectors of each row.

    Works under `torch.func.vmap`: no branch on a tensor's value, no randomness, no state that
    `forward` changes.
    """

    def __call__(self, x: Float[Tensor, "rows length width"]) -> Float[Tensor, "rows length width"]:
        """Return y; y_t depends on x_1 … x_t of its own row only."""
        ...

    def multiply_adds(self, length: int) -> int:
        """Return the multiply-adds of matrix products, per token of a row of `length` tokens."""
        ...


@runtime_checkable
class Build(Protocol):
    """A constructor of mixers: `nn.Module`s that satisfy `Mixer`."""

    def __call__(self, width: int, heads: int, *, generator: torch.Generator) -> nn.Module:
        """Return a mixer whose parameters come from `generator` only."""
        ...


class ShortConvolution(nn.Module):
    """y_t = Σ_{s=0}^{K−1} c_s ⊙ x_{t−s}: a causal filter of K taps per channel; x_t = 0 for t < 1.

    The filters are drawn from U(−1/√K, 1/√K). Raises ValueError for K < 1.
    """

    def __init__(self, width: int, taps: int, *, generator: torch.Generator) -> None:
        super().__init__()
        if taps < 1:
            raise ValueError(f"a convolution needs at least one tap, got {taps}")
        uniform = torch.rand(taps, width, generator=generator)
        self.filter = nn.Parameter((2.0 * uniform - 1.0) / taps**0.5)

    def forward(
        self, x: Float[Tensor, "*batch length width"]
    ) -> Float[Tensor, "*batch length width"]:
        """Return y."""
        taps, length = len(self.filter), x.shape[-2]
        padded = pad(x, (0, 0, taps - 1, 0))
        terms = [self.filter[s] * padded.narrow(-2, taps - 1 - s, length) for s in range(taps)]
        return torch.stack(terms).sum(0)


def check_heads(width: int, heads: int, *, even: bool = False) -> int:
    """Return the head width d/H; raise ValueError unless it is whole (and even, if `even`)."""
    if heads < 1 or width < 1 or width % heads:
        raise ValueError(f"width {width} is not a multiple of {heads} heads")
    if even and width // heads % 2:
        raise ValueError(
            f"width {width} has {heads} heads of odd width {width // heads}; rotations need it even"
        )
    return width // heads


def split_heads(
    x: Float[Tensor, "rows length width"], heads: int
) -> Float[Tensor, "rows {heads} length head_width"]:
    """Return the parts of x that belong to each head."""
    parts: Tensor = x.unflatten(-1, (heads, -1)).transpose(-3, -2)
    return parts


def join_heads(
    x: Float[Tensor, "rows heads length head_width"],
) -> Float[Tensor, "rows length width"]:
    """Return the vectors of all heads side by side: the inverse of `split_heads`."""
    return x.transpose(-3, -2).flatten(-2)


def unit(x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
    """Return x/|x|, up to a relative error of 10⁻⁶/|x|²; a zero vector stays 0."""
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + UNIT_EPSILON)
