"""DeltaNet and DeltaProduct: an associative memory that is overwritten key by key."""

from __future__ import annotations

from functools import partial
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import rms_norm, silu

from journeylab.models.mixers.mixer import (
    ShortConvolution,
    check_heads,
    join_heads,
    split_heads,
    unit,
)
from journeylab.models.transformer import Affine
from journeylab.operators.matrix_states import matrix_states

Eigenvalues = Literal["positive", "signed"]
TAPS = 4
EPSILON = 1e-5


class DeltaProduct(nn.Module):
    """n steps of the delta rule per token on a memory M of size e×e per head:

        M_t = α_t H_{t,n} ⋯ H_{t,1} M_{t−1} + Σ_j H_{t,n} ⋯ H_{t,j+1} β_{t,j} k_{t,j} v_{t,j}ᵀ,
        H_{t,j} = I − β_{t,j} k_{t,j} k_{t,j}ᵀ,   y = W_O [RMSNorm(M_tᵀ q_t)]_heads.

    q, k, v are SiLU(C ∗ W x) with convolutions C of 4 taps; q and k are normalised. Eigenvalues of
    H are 1 and 1 − β: β = σ(·) keeps them in [0, 1] (`positive`), β = 2σ(·) in [−1, 1] (`signed`).
    α = σ(·) with `gated`, else 1. One step is DeltaNet, with `gated` the gated delta rule; n
    reflections reach orthogonal maps that do not commute. Sources: Yang et al., Gated delta
    networks, 2025; Grazzi et al., Unlocking state-tracking through negative eigenvalues, 2025;
    Siems et al., DeltaProduct, 2025. Raises ValueError if the width is not a multiple of `heads`,
    or for fewer than one step.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        steps: int = 1,
        eigenvalues: Eigenvalues = "positive",
        gated: bool = False,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        if steps < 1:
            raise ValueError(f"the delta rule needs at least one step per token, got {steps}")
        self.head_width = check_heads(width, heads)
        self.width, self.heads, self.steps = width, heads, steps
        self.largest = 2.0 if eigenvalues == "signed" else 1.0
        parts = (1 + 2 * steps) * width
        self.project = Affine(width, parts, width**-0.5, generator)
        self.output = Affine(width, width, width**-0.5, generator)
        self.convolution = ShortConvolution(parts, TAPS, generator=generator)
        self.strength = Affine(width, steps * heads, width**-0.5, generator)
        self.gate = Affine(width, heads, width**-0.5, generator) if gated else None
        gates = ("gate.weight",) if gated else ()
        self.operator_weights = ("strength.weight", *gates)
        self.norm = nn.Parameter(torch.ones(self.head_width))

    def forward(self, x: Float[Tensor, "rows length width"]) -> Float[Tensor, "rows length width"]:
        """Return y."""
        q, *pairs = silu(self.convolution(self.project(x))).split(self.width, -1)
        parts = torch.stack([split_heads(part, self.heads) for part in pairs], -2)
        keys, values = parts.chunk(2, -2)
        strength = (self.largest * self.strength(x).sigmoid()).unflatten(-1, (self.heads, -1))
        gates = None if self.gate is None else self.gate(x).sigmoid().mT
        memories = delta_states(unit(keys), values, strength.transpose(-3, -2), gates)
        read = (unit(split_heads(q, self.heads)).unsqueeze(-2) @ memories).squeeze(-2)
        normed = rms_norm(read, (self.head_width,), self.norm, EPSILON)
        out: Tensor = self.output(join_heads(normed))
        return out

    def multiply_adds(self, length: int) -> int:
        """(2 + 2n)d² + (n + gate)Hd for the maps, 4nde for H and B, 3de² to scan, de to read."""
        del length
        d, e, n = self.width, self.head_width, self.steps
        maps = (2 + 2 * n) * d**2 + (n + (self.gate is not None)) * self.heads * d
        return maps + (4 * n + 1) * d * e + 3 * d * e**2


def delta_states(
    keys: Float[Tensor, "*batch length steps width"],
    values: Float[Tensor, "*batch length steps columns"],
    strength: Float[Tensor, "*batch length steps"],
    gates: Float[Tensor, "*batch length"] | None = None,
) -> Float[Tensor, "*batch length width columns"]:
    """Return M_1 … M_T of `DeltaProduct`, M_0 = 0, from k, v, β and α (None: 1)."""
    width, columns = keys.shape[-1], values.shape[-1]
    identity = torch.eye(width, dtype=keys.dtype, device=keys.device)
    operator = identity.expand(*strength.shape[:-1], width, width)
    if gates is not None:
        operator = operator * gates[..., None, None]
    written = (
        torch.zeros_like(values[..., 0, :])
        .unsqueeze(-2)
        .expand(*strength.shape[:-1], width, columns)
    )
    # [H | B], multiplied by H_j from the left for every step j
    both = torch.cat((operator, written), -1)
    for k, v, beta in zip(keys.unbind(-2), values.unbind(-2), strength.unbind(-1), strict=True):
        goal = torch.cat((torch.zeros_like(operator[..., 0, :]), v), -1)
        change = beta[..., None] * (goal - (k.unsqueeze(-2) @ both).squeeze(-2))
        both = both + k.unsqueeze(-1) * change.unsqueeze(-2)
    return matrix_states(*both.split((width, columns), -1))


MECHANISMS = {
    "delta": DeltaProduct,
    "delta-signed": partial(DeltaProduct, eigenvalues="signed"),
    "delta-gated": partial(DeltaProduct, gated=True),
    "delta-product": partial(DeltaProduct, steps=2),
    "delta-product-signed": partial(DeltaProduct, steps=2, eigenvalues="signed"),
}
