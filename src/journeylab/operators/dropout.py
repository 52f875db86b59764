"""Dropout masks as a pure function of a key: the same bits wherever and however they are drawn."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

LANES = 4
LEVELS = 1 << 16
GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)
MIX = ((30, 0xBF58476D1CE4E5B9 - (1 << 64)), (27, 0x94D049BB133111EB - (1 << 64)))
LAST_SHIFT = 31


class Dropout(NamedTuple):
    """What a forward pass drops: each element with probability `rate`, chosen by `key`."""

    rate: float
    key: Int[Tensor, ""]


def draw_key(generator: torch.Generator) -> Int[Tensor, ""]:
    """Draw the key of one forward pass from a named stream."""
    return torch.empty((), dtype=torch.int64).random_(-(2**63), None, generator=generator)


def draw_masks(
    shape: tuple[int, ...],
    rate: float,
    key: Int[Tensor, ""],
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "*shape"]:
    """Return factors 1/(1 − p) with probability 1 − p, else 0, on the device of the key.

    Word i of the masks is the finaliser of SplitMix64 at key + i·⌊2⁶⁴/golden ratio⌋. One word of 64
    bits serves four factors, so p is rounded to a multiple of 2⁻¹⁶ and the factor uses the rounded
    value: the mean is exactly 1. Works under `torch.func.vmap` over keys. Raises ValueError unless
    0 ≤ rate < 1.

    Source: Steele, Lea and Flood, Fast splittable pseudorandom number generators (2014), section 5.
    """
    if not 0.0 <= rate < 1.0:
        raise ValueError(f"a dropout rate lies in [0, 1), got {rate}")
    dropped = round(rate * LEVELS)
    if dropped == 0:
        return torch.ones(shape, dtype=dtype, device=key.device)
    masks: Tensor = _Masks.apply(key, shape, dropped, dtype)  # type: ignore[no-untyped-call]
    return masks


class _Masks(torch.autograd.Function):
    """Reading words as lanes has no batching rule, hence this one."""

    @staticmethod
    def forward(key: Tensor, shape: tuple[int, ...], dropped: int, dtype: torch.dtype) -> Tensor:
        count = math.prod(shape)
        words = torch.arange(-(-count // LANES), dtype=torch.int64, device=key.device)
        words = words.mul_(GOLDEN) + key.unsqueeze(-1)
        lanes = _finalise(words).view(torch.int16)[..., :count]
        # Clamping to two neighbouring integers is a comparison without branches: on random data it
        # is several times faster than `lanes >= threshold`.
        threshold = dropped - LEVELS // 2
        kept = lanes.clamp_(threshold - 1, threshold).sub_(threshold - 1)
        factors = kept.to(dtype).mul_(LEVELS / (LEVELS - dropped))
        return factors.view(*key.shape, *shape)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def backward(ctx: Any, *grads: None) -> tuple[None, ...]:
        return None, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], key: Tensor, *rest: Any) -> tuple[Tensor, int]:
        keys = key if in_dims[0] is None else key.movedim(in_dims[0], 0)
        return _Masks.apply(keys, *rest), 0  # type: ignore[no-untyped-call]


def _finalise(words: Tensor) -> Tensor:
    shifted = torch.empty_like(words)
    for shift, factor in MIX:
        words.bitwise_xor_(_shift(words, shift, shifted)).mul_(factor)
    return words.bitwise_xor_(_shift(words, LAST_SHIFT, shifted))


def _shift(words: Tensor, bits: int, out: Tensor) -> Tensor:
    """Shift right, filling with zeros; the shift of a signed word fills with its sign."""
    torch.bitwise_right_shift(words, bits, out=out)
    return out.bitwise_and_((1 << (64 - bits)) - 1)
