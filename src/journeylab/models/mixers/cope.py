"""CoPE: positions that count gated tokens, interpolated between learned position vectors."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from journeylab.models.attention import causal_mask
from journeylab.models.mixers.softmax import SoftmaxAttention
from journeylab.operators.journey import accumulate


class ContextualAttention(SoftmaxAttention):
    """s_ij = ⟨q_i, k_j⟩/√e + ⟨q_i, E(p_ij)⟩ with p_ij = min(Σ_{t=j}^i σ(⟨q_i, k_t⟩/√e), P − 1).

    E(p) interpolates linearly between the learned vectors E(0) … E(P − 1) of all heads, which start
    at 0, as `SoftmaxAttention`. Positions depend on the query, and count tokens of any kind that q
    selects. Source: Golovneva et al., Contextual position encoding, 2024, section 4 and appendix.
    Raises ValueError for fewer than two positions.
    """

    def __init__(
        self, width: int, heads: int, *, positions: int = 64, generator: torch.Generator
    ) -> None:
        super().__init__(width, heads, generator=generator)
        if positions < 2:
            raise ValueError(f"positions are interpolated: at least 2 are needed, got {positions}")
        self.positions = nn.Parameter(torch.zeros(positions, self.head_width))

    def scores(
        self,
        q: Float[Tensor, "rows heads length head_width"],
        k: Float[Tensor, "rows heads length head_width"],
        x: Float[Tensor, "rows length width"],
    ) -> Float[Tensor, "rows heads length length"]:
        """Return ⟨q_i, k_j⟩ + √e ⟨q_i, E(p_ij)⟩; q is scaled by 1/√e already."""
        scores = q @ k.mT
        gates = scores.sigmoid() * causal_mask(q.shape[-2], q.device)
        counts = accumulate(gates.mT, "suffix").mT
        values = q * self.head_width**0.5 @ self.positions.mT
        return scores + interpolate(values, counts)

    def multiply_adds(self, length: int) -> int:
        """Those of softmax attention, and Pd for the products with E."""
        return super().multiply_adds(length) + len(self.positions) * self.width


def interpolate(
    values: Float[Tensor, "*batch queries positions"], counts: Float[Tensor, "*batch queries keys"]
) -> Float[Tensor, "*batch queries keys"]:
    """Return z_i(p_ij), linear between z_i(0) … z_i(P − 1) and constant above; p ≥ 0, P ≥ 2."""
    last = values.shape[-1] - 1
    counts = counts.clamp(max=last)
    below = counts.detach().floor().clamp(max=last - 1)
    index = below.long()
    low, high = values.gather(-1, index), values.gather(-1, index + 1)
    return low + (counts - below) * (high - low)


MECHANISMS = {"cope": ContextualAttention}
