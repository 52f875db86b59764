"""Attention of several heads, and the pre-norm block around it, in explicit products.

Unlike the library's fused attention these can be batched over seeds, and stay fast at small widths.
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
    """H heads (Vaswani et al. 2017, section 3.2.2).

    head_h = softmax(Q_h K_hᵀ / √(d/H)) V_h with Q = X W_Q, K = Y W_K, V = Y W_V, all d × d and with
    a bias; the output is [head_1 … head_H] W_O. Weights are drawn from N(0, 1/d), from `generator`
    only. Raises ValueError for a width that the heads do not divide.

    ```
    attention = MultiHead(32, 4, generator=torch.Generator())
    mixed = attention(x, x)              # self-attention; keys where `mask` is False are not seen
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
        asking: Float[Tensor, "rows queries width"],
        held: Float[Tensor, "rows keys width"],
        mask: Bool[Tensor, "rows keys"] | None = None,
    ) -> Float[Tensor, "rows queries width"]:
        """Return what every query gathers from the keys that `mask` allows."""
        d = self.width
        weight, bias = self.project.weight, self.project.bias
        q = affine(asking, weight[:d], bias[:d])
        k, v = affine(held, weight[d:], bias[d:]).chunk(2, -1)
        q, k, v = (x.unflatten(-1, (self.heads, -1)).transpose(1, 2) for x in (q, k, v))
        addend = None if mask is None else mask_scores(mask[:, None], "softmax", q.dtype)[:, None]
        mixed = weigh(q * q.shape[-1] ** -0.5 @ k.mT, addend, "softmax") @ v
        out: Tensor = self.output(mixed.transpose(1, 2).flatten(-2))
        return out


class EncoderBlock(nn.Module):
    """x ← x + MultiHead(LN x), then x ← x + MLP(LN x), a GELU between d → 4d → d."""

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
        asked: Int[Tensor, " rows"] | None = None,
    ) -> Float[Tensor, "rows length_or_1 width"]:
        """Apply the block; tokens where `mask` is False are seen by none.

        With `asked`, only for that place of every row: what the last block of a model with one
        answer per row needs.
        """
        held = self.attention_norm(x)
        asking = held
        if asked is not None:
            x, asking = take(x, asked), take(held, asked)
        x = x + self.attention(asking, held, mask)
        fed: Tensor = self.contract(gelu(self.expand(self.mlp_norm(x))))
        return x + fed


def take(
    x: Float[Tensor, "rows length width"], places: Int[Tensor, " rows"]
) -> Float[Tensor, "rows 1 width"]:
    """Return the vector at one place of every row."""
    return x.gather(1, places[:, None, None].expand(-1, 1, x.shape[-1]))
