"""One head of attention over turned queries, keys and, if asked, values."""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import softplus

Weighting = Literal["softmax", "softplus"]
FORBIDDEN = -1e30


def causal_mask(length: int, device: torch.device | None = None) -> Bool[Tensor, "1 length length"]:
    """Return the mask that lets position i attend to j ≤ i. True means: may attend."""
    return torch.ones(1, length, length, dtype=torch.bool, device=device).tril()


def mask_scores(
    mask: Bool[Tensor, "#rows #queries #keys"],
    weighting: Weighting,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "#rows #queries #keys"]:
    """Turn a mask into what `attend` needs, once per forward pass.

    Softmax takes an addend (0 or a huge negative number, finite so that a row without any
    allowed key stays finite), softplus a factor (1 or 0).
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

    Queries come scaled by 1/√d; `mask` comes from `mask_scores`. Explicit products beat the
    library's fused attention at these sizes on CPU, and they can be batched over seeds.
    """
    scores = q @ k.transpose(-2, -1)
    weights = weigh(scores, mask, weighting)
    return weights @ v


def weigh(
    scores: Float[Tensor, "*rows queries keys"],
    mask: Float[Tensor, "*#rows #queries #keys"] | None,
    weighting: Weighting,
) -> Float[Tensor, "*rows queries keys"]:
    """Turn scores into attention weights: normalised softmax, or un-normalised softplus."""
    if weighting == "softmax":
        return torch.softmax(scores if mask is None else scores + mask, dim=-1)
    weights = softplus(scores)
    return weights if mask is None else weights * mask
