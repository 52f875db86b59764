"""Attention of one head, with masks and two kinds of weights: softmax and softplus."""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import softplus

Weighting = Literal["softmax", "softplus"]
FORBIDDEN = -1e30
"""Added to a masked score; finite, so that a row without any allowed key has no NaN."""


def causal_mask(length: int, device: torch.device | None = None) -> Bool[Tensor, "1 length length"]:
    """Return the mask by which position i attends to all j ≤ i; True means that it may attend."""
    return torch.ones(1, length, length, dtype=torch.bool, device=device).tril()


def mask_scores(
    mask: Bool[Tensor, "#rows #queries #keys"],
    weighting: Weighting,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "#rows #queries #keys"]:
    """Convert a boolean mask to the numbers that `attend` and `weigh` take.

    For softmax, an addend: 0 where allowed, else a large negative number. For softplus, a factor:
    1 where allowed, else 0. Models call this once per forward pass, not once per layer.
    """
    allowed = mask.to(dtype)
    return allowed if weighting == "softplus" else (1.0 - allowed) * FORBIDDEN


def attend(
    q: Float[Tensor, "rows queries width"],
    k: Float[Tensor, "rows keys width"],
    v: Float[Tensor, "rows keys width"],
    mask: Float[Tensor, "#rows #queries #keys"] | None,
    weighting: Weighting,
) -> Float[Tensor, "rows queries width"]:
    """Return Σ_j a_ij v_j with a = softmax_j(⟨q_i, k_j⟩), or a_ij = softplus(⟨q_i, k_j⟩).

    Queries are already scaled by 1/√d; `mask` comes from `mask_scores`. At the sizes of the studies
    and on CPU, explicit products are faster than PyTorch's fused attention, and `torch.func.vmap`
    can batch them over seeds.
    """
    scores = q @ k.transpose(-2, -1)
    weights = weigh(scores, mask, weighting)
    return weights @ v


def weigh(
    scores: Float[Tensor, "*rows queries keys"],
    mask: Float[Tensor, "*#rows #queries #keys"] | None,
    weighting: Weighting,
) -> Float[Tensor, "*rows queries keys"]:
    """Return weights softmax_j(s_ij + mask_ij), or mask_ij · softplus(s_ij) without normalisation.

    `mask` comes from `mask_scores`.
    """
    if weighting == "softmax":
        return torch.softmax(scores if mask is None else scores + mask, dim=-1)
    weights = softplus(scores)
    return weights if mask is None else weights * mask
