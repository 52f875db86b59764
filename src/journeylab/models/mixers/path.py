"""PaTH: keys travel to the query through Householder-like maps that depend on content."""

from __future__ import annotations

from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear, logsigmoid, pad

from journeylab.models.mixers.mixer import ShortConvolution, split_heads, unit
from journeylab.models.mixers.softmax import SoftmaxAttention, spans
from journeylab.models.transformer import Affine

BLOCK = 32
"""Tokens whose maps are combined by one triangular solve."""
TAPS = 3


class PathAttention(SoftmaxAttention):
    """s_ij = ⟨q_i, H_i H_{i−1} ⋯ H_{j+1} k_j⟩/√e with H_t = I − β_t w_t w_tᵀ.

    w = C ∗ W₂ W₁ x, normalised per head, with a matrix W₁ of rank r and a causal convolution C of 3
    taps; β_t = 2σ(u·x_t + b) per head. The maps need not commute. H_t has the eigenvalue 1 − β_t in
    the direction w_t: β = 2 is a reflection, β = 1 a projection, which has no inverse. With
    `forget`, the scores also get the forget gates of FoX. β = 0 gives `SoftmaxAttention`. Source:
    Yang et al., PaTH attention, 2025, section 3.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        rank: int = 32,
        forget: bool = False,
        generator: torch.Generator,
    ) -> None:
        super().__init__(width, heads, generator=generator)
        rank = min(rank, width)
        down = torch.randn(rank, width, generator=generator) * width**-0.5
        up = torch.randn(width, rank, generator=generator) * rank**-0.5
        self.down, self.up = nn.Parameter(down), nn.Parameter(up)
        self.convolution = ShortConvolution(width, TAPS, generator=generator)
        self.strength = Affine(width, heads, width**-0.5, generator)
        self.gate = Affine(width, heads, width**-0.5, generator) if forget else None
        gates = ("gate.weight",) if forget else ()
        self.operator_weights = ("strength.weight", *gates)

    def scores(
        self,
        q: Float[Tensor, "rows heads length head_width"],
        k: Float[Tensor, "rows heads length head_width"],
        x: Float[Tensor, "rows length width"],
    ) -> Float[Tensor, "rows heads length length"]:
        """Return ⟨q_i, H_i ⋯ H_{j+1} k_j⟩ for j ≤ i; q is scaled already."""
        w = unit(split_heads(self.convolution(linear(linear(x, self.down), self.up)), self.heads))
        scores = path_scores(q, k, w, 2.0 * self.strength(x).sigmoid().mT)
        return scores if self.gate is None else scores + spans(logsigmoid(self.gate(x)).mT)

    def multiply_adds(self, length: int) -> int:
        """Those of softmax attention, of w, β and the gates, and of `path_scores`."""
        d, e, block = self.width, self.head_width, min(BLOCK, length)
        maps = 2 * d * len(self.down) + d * self.heads * (1 if self.gate is None else 2)
        # Within a block: products of its matrices with vectors, and with each other. Between
        # blocks: the map of a block, by which all earlier keys are multiplied.
        within = 6 * block * d + 2 * block**2 * self.heads
        between = d * e + length * d * e // (2 * block)
        return super().multiply_adds(length) + maps + within + between


def path_scores(
    q: Float[Tensor, "*batch length width"],
    k: Float[Tensor, "*batch length width"],
    w: Float[Tensor, "*batch length width"],
    beta: Float[Tensor, "*batch length"],
) -> Float[Tensor, "*batch length length"]:
    """Return s_ij = ⟨q_i, H_i ⋯ H_{j+1} k_j⟩ for j ≤ i, 0 for j > i; H_t = I − β_t w_t w_tᵀ.

    Within a block, the products c_s = ⟨w_s, H_{s−1} ⋯ H_{j+1} κ⟩ that a travelling vector κ meets
    solve the triangular system (I + tril(W Wᵀ, −1) diag β) c = W κ, and κ arrives as
    κ − Σ_s β_s c_s w_s. Keys of earlier blocks are carried on block by block.
    """
    length = q.shape[-2]
    spare = -length % BLOCK
    q, k, w = (pad(x, (0, 0, 0, spare)).unflatten(-2, (-1, BLOCK)) for x in (q, k, w))
    beta = pad(beta, (0, spare)).unflatten(-1, (-1, BLOCK)).unsqueeze(-1)
    identity = torch.eye(BLOCK, dtype=q.dtype, device=q.device)
    system = identity + (w @ w.mT).tril(-1) * beta.mT
    met = torch.cat((w, (w @ k.mT).tril(-1)), -1)
    solved = beta * torch.linalg.solve_triangular(system, met, upper=False, unitriangular=True)
    carried_in, within = solved.split((w.shape[-1], BLOCK), -1)
    seen = (q @ w.mT).tril()
    local = (q @ k.mT).tril() - seen @ within
    start = q - seen @ carried_in  # a query, carried back to the start of its block
    end = k - within.mT @ w  # a key, carried on to the end of its block
    back = torch.eye(w.shape[-1], dtype=q.dtype, device=q.device) - carried_in.mT @ w
    keys = end[..., :0, 0, :]
    rows = []
    for n in range(q.shape[-3]):
        scores = torch.cat((start[..., n, :, :] @ keys.mT, local[..., n, :, :]), -1)
        rows.append(pad(scores, (0, length + spare - scores.shape[-1])))
        keys = torch.cat((keys @ back[..., n, :, :], end[..., n, :, :]), -2)
    return torch.cat(rows, -2)[..., :length, :length]


MECHANISMS = {"path": PathAttention, "path-fox": partial(PathAttention, forget=True)}
