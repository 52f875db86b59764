"""Dropout masks as a pure function of a key: every device, and `vmap`, draws the same bits."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from journeylab.operators.batching import transforming

LANES = 2
"""32-bit numbers per 64-bit word."""
LEVELS = 1 << 32
DEVIATIONS = 8
SPARE = 16
"""The number of gaps drawn exceeds its mean by 8 standard deviations and 16 more."""
GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)
MIX = ((30, 0xBF58476D1CE4E5B9 - (1 << 64)), (27, 0x94D049BB133111EB - (1 << 64)))
LAST_SHIFT = 31


class Dropout(NamedTuple):
    """Dropout of one forward pass: its rate, and the key that determines the dropped elements."""

    rate: float
    key: Int[Tensor, ""]


def draw_key(generator: torch.Generator) -> Int[Tensor, ""]:
    """Draw the key of one forward pass, uniform over all 64-bit integers."""
    return torch.empty((), dtype=torch.int64).random_(-(2**63), None, generator=generator)


def draw_masks(
    shape: tuple[int, ...],
    rate: float,
    key: Int[Tensor, ""],
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "*shape"]:
    """Return factors 1/(1 − p) with probability 1 − p, else 0, on the device of the key.

    Few elements are dropped, so the gaps between dropped elements are drawn:


        g = 1 + ⌊ln u / ln(1 − p)⌋,   P(g > n) = P(u < (1 − p)ⁿ) = (1 − p)ⁿ.

    u has 32 bits. Word i holds two such numbers and is the finaliser of SplitMix64 at
    key + i·⌊2⁶⁴/golden ratio⌋. Works under `torch.func.vmap` over keys. Raises ValueError unless
    0 ≤ rate < 1.

    Source: Steele, Lea and Flood, Fast splittable pseudorandom number generators (2014), section 5;
    Devroye, Non-uniform random variate generation (1986), section X.2, for g.
    """
    if not 0.0 <= rate < 1.0:
        raise ValueError(f"dropout rate {rate} is outside [0, 1)")
    if rate == 0.0:
        return torch.ones(shape, dtype=dtype, device=key.device)
    draw = _Masks.apply if transforming() else _draw
    masks: Tensor = draw(key, shape, rate, dtype)
    return masks


def _draw(key: Tensor, shape: tuple[int, ...], rate: float, dtype: torch.dtype) -> Tensor:
    size = math.prod(shape)
    expected = rate * size
    gaps = math.ceil(expected + DEVIATIONS * math.sqrt(expected)) + SPARE
    words = torch.arange(-(-gaps // LANES), dtype=torch.int64, device=key.device)
    words = words.mul_(GOLDEN) + key.unsqueeze(-1)
    # In double precision the 32 bits are exact, the added half keeps u above 0, and the
    # logarithm is accurate enough that all devices round it down to the same integer.
    uniform = _finalise(words).view(torch.int32).double().add_(LEVELS // 2 + 0.5).div_(LEVELS)
    dropped = uniform.log_().div_(math.log1p(-rate)).long().add_(1).cumsum(-1).sub_(1)
    kept = 1.0 / (1.0 - rate)
    # Positions beyond the end are clamped to one extra element, which is cut off.
    factors = torch.full((*key.shape, size + 1), kept, dtype=dtype, device=key.device)
    factors.scatter_(-1, dropped.clamp_(max=size), 0.0)
    return factors[..., :size].reshape(*key.shape, *shape)


class _Masks(torch.autograd.Function):
    """Has a `vmap` rule of its own: PyTorch has none for viewing int64 words as int32 lanes."""

    @staticmethod
    def forward(key: Tensor, shape: tuple[int, ...], rate: float, dtype: torch.dtype) -> Tensor:
        return _draw(key, shape, rate, dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def backward(ctx: Any, *grads: None) -> tuple[None, ...]:
        return None, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], key: Tensor, *rest: Any) -> tuple[Tensor, int]:
        keys = key if in_dims[0] is None else key.movedim(in_dims[0], 0)
        return _draw(keys, *rest), 0


def _finalise(words: Tensor) -> Tensor:
    shifted = torch.empty_like(words)
    for shift, factor in MIX:
        words.bitwise_xor_(_shift(words, shift, shifted)).mul_(factor)
    return words.bitwise_xor_(_shift(words, LAST_SHIFT, shifted))


def _shift(words: Tensor, bits: int, out: Tensor) -> Tensor:
    """Shift right, filling with zeros; PyTorch's own shift of a signed word copies its sign."""

    torch.bitwise_right_shift(words, bits, out=out)
    return out.bitwise_and_((1 << (64 - bits)) - 1)
