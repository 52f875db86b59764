"""Dropout masks as data: drawn from a named stream, passed in with the batch."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

LANES = 4
LEVELS = 1 << 16


def draw_masks(
    shape: tuple[int, ...], rate: float, generator: torch.Generator
) -> Float[Tensor, "*shape"]:
    """Return factors 1/(1 − p) with probability 1 − p, else 0, as float32.

    One 64-bit draw serves four factors, so p is rounded to a multiple of 2⁻¹⁶ and the factor uses
    the rounded value: the mean is exactly 1. Raises ValueError unless 0 ≤ rate < 1.
    """
    if not 0.0 <= rate < 1.0:
        raise ValueError(f"a dropout rate lies in [0, 1), got {rate}")
    dropped = round(rate * LEVELS)
    count = 1
    for size in shape:
        count *= size
    if dropped == 0:
        return torch.ones(shape)
    words = torch.empty(-(-count // LANES), dtype=torch.int64)
    words.random_(-(2**63), None, generator=generator)
    lanes = words.view(torch.int16)[:count].view(shape)
    # Clamping to two neighbouring integers is a comparison without branches: on random data it
    # is several times faster than `lanes >= threshold`.
    threshold = dropped - LEVELS // 2
    kept = lanes.clamp_(threshold - 1, threshold).sub_(threshold - 1)
    return kept.float().mul_(LEVELS / (LEVELS - dropped))
