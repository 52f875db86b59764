"""Poolings of n vectors to k: by learned queries, multi-head attention, clustering, or the mean.

All take ``h`` `[rows, n, d]` and return, per row, k vectors and the weights `[rows, k, n]` by which
they sum the inputs.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import relu

from journeylab.models.multihead import MultiHead
from journeylab.models.transformer import Affine


class Pooled(NamedTuple):
    """k vectors, and their weights over the n inputs (None for multi-head attention)."""

    features: Float[Tensor, "rows k d"]
    weights: Float[Tensor, "rows k n"] | None


class SabagPooling(nn.Module):
    """S = softmax(Q Hᵀ / τ) over the inputs, H_out = S H, with Q ∈ ℝ^{k×d} learned.

    k may be less than, equal to or greater than n. Q is drawn from N(0, scale²), by default
    N(0, 1/d), from `generator` only. Source: the Sabag algorithm, sections on the simplified
    solution and on the forward pass. It is the attention of Lee et al. 2019 without projections,
    heads and residual.

    ```
    pool = SabagPooling(2, 64, generator=torch.Generator())
    features, weights = pool(torch.randn(8, 5, 64))
    ```
    """

    def __init__(
        self,
        k: int,
        d: int,
        *,
        temperature: float = 1.0,
        scale: float | None = None,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        drawn = torch.randn(k, d, generator=generator)
        self.queries = nn.Parameter(drawn * (d**-0.5 if scale is None else scale))
        self.temperature = temperature

    def forward(self, h: Float[Tensor, "rows n d"]) -> Pooled:
        """Return S H and S for every row."""
        weights = torch.softmax(self.queries @ h.mT / self.temperature, -1)
        return Pooled(weights @ h, weights)


class AttentionPooling(nn.Module):
    """PMA_k(H) = MAB(S, rFF(H)) of the Set Transformer (Lee et al. 2019, equations 6, 7 and 11).

    MAB(X, Y) = LN(Z + rFF(Z)) with Z = LN(X + MultiHead(X, Y, Y)); rFF is a linear map with a ReLU;
    S ∈ ℝ^{k×d} are learned vectors (the paper's "seed vectors"), drawn from N(0, 1).
    """

    def __init__(self, k: int, d: int, *, heads: int = 4, generator: torch.Generator) -> None:
        super().__init__()
        self.seeds = nn.Parameter(torch.randn(k, d, generator=generator))
        self.before = Affine(d, d, d**-0.5, generator)
        self.attention = MultiHead(d, heads, generator=generator)
        self.norm = nn.LayerNorm(d)
        self.after = Affine(d, d, d**-0.5, generator)
        self.final_norm = nn.LayerNorm(d)

    def forward(self, h: Float[Tensor, "rows n d"]) -> Pooled:
        """Return PMA_k of every row, without weights."""
        seeds = self.seeds.expand(len(h), -1, -1)
        z = self.norm(seeds + self.attention(seeds, relu(self.before(h))))
        return Pooled(self.final_norm(z + relu(self.after(z))), None)


class ClusterPooling(nn.Module):
    """Takes k inputs as centres, and shares every input among the centres by similarity.

    The first centre is given. Each further centre is the input whose distance to the nearest centre
    is largest (the document's k-means++; Arthur and Vassilvitskii 2007 draw it at random instead).
    When no input differs from all centres, the first centre is repeated. Then

        A_ij = softmax_j(−‖h_i − c_j‖² / √d),   H_out_j = Σ_i A_ij h_i / Σ_i A_ij.

    Gradients reach H through A and through the values of the centres, but not through the choice of
    centres. There are no parameters.
    """

    def __init__(self, k: int) -> None:
        super().__init__()
        self.k = k

    def forward(self, h: Float[Tensor, "rows n d"], start: Int[Tensor, " rows"]) -> Pooled:
        """Return H_out and the weights of every row, whose first centre is the input `start`."""
        return self.assign(h, self.select(h, start))

    def select(
        self, h: Float[Tensor, "rows n d"], start: Int[Tensor, " rows"]
    ) -> Int[Tensor, "rows k"]:
        """Return the indices of the inputs that are centres."""
        distances = (h[:, :, None] - h[:, None]).square().sum(-1).detach()
        chosen, nearest = [start], _row(distances, start)
        for _ in range(self.k - 1):
            farthest, index = nearest.max(-1)
            chosen.append(torch.where(farthest > 0, index, start))
            nearest = torch.minimum(nearest, _row(distances, chosen[-1]))
        return torch.stack(chosen, -1)

    def assign(self, h: Float[Tensor, "rows n d"], chosen: Int[Tensor, "rows k"]) -> Pooled:
        """Return H_out and the weights of every row, for the centres with these indices."""
        centres = h.gather(1, chosen[..., None].expand(-1, -1, h.shape[-1]))
        distances = (h[:, :, None] - centres[:, None]).square().sum(-1)
        shares = torch.softmax(-distances * h.shape[-1] ** -0.5, -1).mT
        weights = shares / shares.sum(-1, keepdim=True)
        return Pooled(weights @ h, weights)


class MeanPooling(nn.Module):
    """k copies of the mean of the inputs."""

    def __init__(self, k: int) -> None:
        super().__init__()
        self.k = k

    def forward(self, h: Float[Tensor, "rows n d"]) -> Pooled:
        """Return the mean of every row, k times, and weights of 1/n."""
        weights = torch.full((len(h), self.k, h.shape[1]), 1.0 / h.shape[1], device=h.device)
        return Pooled(weights @ h, weights)


def _row(matrix: Float[Tensor, "rows n n"], index: Int[Tensor, " rows"]) -> Float[Tensor, "rows n"]:
    return matrix.gather(1, index[:, None, None].expand(-1, 1, matrix.shape[-1]))[:, 0]
