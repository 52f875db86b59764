"""Attention as explicit products against PyTorch's fused attention, both passes."""

from collections.abc import Callable
from functools import partial

import torch
from pairs import Row
from torch import Tensor
from torch.autograd import grad
from torch.nn.functional import scaled_dot_product_attention

from journeylab.models.attention import attend, causal_mask, mask_scores
from journeylab.records.cost import Step, compare

SHAPES = ((32, 20, 90), (32, 48, 64), (32, 128, 64), (8, 512, 64))
"""(rows, length, width); the first two are sizes of the studies."""


def written_out_against_fused(pairs: int) -> list[Row]:
    return [row for shape in SHAPES for row in _rows(*shape, pairs)]


def fused(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return PyTorch's attention of one head, causal without a mask."""
    one_head = q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1)
    mixed = scaled_dot_product_attention(*one_head, attn_mask=mask, is_causal=mask is None)
    return mixed.squeeze(1)


def _rows(rows: int, length: int, width: int, pairs: int) -> list[Row]:
    q, k, v = (torch.randn(rows, length, width, requires_grad=True) for _ in range(3))
    arriving = torch.randn(rows, length, width)
    mask = mask_scores(causal_mask(length), "softmax")

    def written_out() -> Tensor:
        return attend(q * width**-0.5, k, v, mask, "softmax")

    def both_passes(attention: Callable[[], Tensor]) -> Step:
        return lambda: grad(attention(), (q, k, v), arriving)

    size = f"T {length}, d {width}, {rows} rows"
    return [
        {"name": f"attention written out against {name}, {size}", "work": length, "twin": name}
        | compare(both_passes(written_out), both_passes(partial(fused, q, k, v, fused_mask)), pairs)
        for name, fused_mask in (("fused, causal", None), ("fused, masked", mask))
    ]
