"""Multi-head attention, and the pre-norm block around it, in explicit products.

Unlike PyTorch's fused attention, explicit products can be batched over seeds and are fast at small
widths.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import gelu

from journeylab.models.attention import mask_scores, weigh
from journeylab.models.transformer import Affine
from journeylab.operators.affine import affine


class MultiHead(nn.Module):
    """Attention of H heads (Vaswani et al. 2017, section 3.2.2).

    head_h = softmax(Q_h K_hᵀ / √(d/H)) V_h with Q = X W_Q, K = Y W_K, V = Y W_V; the output is
    [head_1 … head_H] W_O. All four maps are d × d and have a bias. Weights are drawn from
    N(0, 1/d), from `generator` only. Raises ValueError if the width is not a multiple of `heads`.

    ```
    attention = MultiHead(32, 4, generator=torch.Generator())
    mixed = attention(x, x)              # self-attention
    ```
    """

    def __init__(self, width: int, heads: int, *, generator: torch.Generator) -> None:
        super().__init__()
        if heads < 1 or width % heads:
            raise ValueError(f"width {width} is not a multiple of {heads} heads")
        self.width, self.heads = width, heads
        self.project = Affine(width, 3 * width, width**-0.5, generator)
        self.output = Affine(width, width, width**-0.5, generator)

    def forward(
        self,
        x: Float[Tensor, "rows queries width"],
        y: Float[Tensor, "rows keys width"],
        mask: Bool[Tensor, "rows keys"] | None = None,
    ) -> Float[Tensor, "rows queries width"]:
        """Return the attention of X to Y; keys whose `mask` is False get no attention."""
        d = self.width
        weight, bias = self.project.weight, self.project.bias
        q = affine(x, weight[:d], bias[:d])
        k, v = affine(y, weight[d:], bias[d:]).chunk(2, -1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (q, k, v))
        addend = None if mask is None else mask_scores(mask[:, None], "softmax", q.dtype)[:, None]
        mixed = weigh(q * q.shape[-1] ** -0.5 @ k.mT, addend, "softmax") @ v
        out: Tensor = self.output(mixed.transpose(1, 2).flatten(-2))
        return out


class EncoderBlock(nn.Module):
    """x ← x + MultiHead(LN x), then x ← x + MLP(LN x); the MLP is d → 4d, a GELU, 4d → d."""

    def __init__(self, width: int, heads: int, *, generator: torch.Generator) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = MultiHead(width, heads, generator=generator)
        self.mlp_norm = nn.LayerNorm(width)
        self.expand = Affine(width, 4 * width, width**-0.5, generator)
        self.contract = Affine(4 * width, width, (4 * width) ** -0.5, generator)

    def forward(
        self,
        x: Float[Tensor, "rows length width"],
        mask: Bool[Tensor, "rows length"] | None = None,
        index: Int[Tensor, " rows"] | None = None,
    ) -> Float[Tensor, "rows length_or_1 width"]:
        """Return the block's output for all tokens, or for the token at `index` of every row.

        Tokens whose `mask` is False get no attention. A model with one answer per row passes
        `index` to its last block, which saves the work for all other tokens.
        """
        keys = self.attention_norm(x)
        queries = keys
        if index is not None:
            x, queries = take(x, index), take(keys, index)
        x = x + self.attention(queries, keys, mask)
        fed: Tensor = self.contract(gelu(self.expand(self.mlp_norm(x))))
        return x + fed


def take(
    x: Float[Tensor, "rows length width"], index: Int[Tensor, " rows"]
) -> Float[Tensor, "rows 1 width"]:
    """Return x[r, index[r]] of every row r."""
    return x.gather(1, index[:, None, None].expand(-1, 1, x.shape[-1]))
