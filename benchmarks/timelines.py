"""Attention in blocks of timelines against attention that computes all scores, both passes.

Each token is in a random timeline. The slow forms are dense causal attention without timelines, as
explicit products and fused by PyTorch, and the masked form, which has the same values and
gradients.
"""

import torch
from attention import fused
from pairs import Row
from torch.autograd import grad
from torch.nn.functional import one_hot

from journeylab.models.attention import attend, causal_mask, mask_scores
from journeylab.models.hypergraph import attend_masked, attend_sparsely, pair_share
from journeylab.records.cost import Step, compare

LENGTHS = (64, 256, 1024, 2048)
TIMELINES = (2, 4, 8, 16)
TOKENS, WIDTH = 4096, 32


def blocks_against_all_scores(pairs: int) -> list[Row]:
    return [
        row for length in LENGTHS for count in TIMELINES for row in _rows(length, count, pairs // 2)
    ]


def _rows(length: int, count: int, pairs: int) -> list[Row]:
    generator, rows = torch.Generator().manual_seed(0), TOKENS // length
    taken = torch.randint(count, (rows, length), generator=generator)
    drawn = (*torch.randn(3, rows, length, WIDTH, generator=generator), one_hot(taken, count))
    q, k, v, route = inputs = tuple(x.float().requires_grad_() for x in drawn)
    arriving = torch.randn(rows, length, WIDTH, generator=generator)
    mask, scale = mask_scores(causal_mask(length), "softmax"), WIDTH**-0.5

    def blocks() -> object:
        return grad(attend_sparsely(q * scale, k, v, route), inputs, arriving)

    def masked() -> object:
        return grad(attend_masked(q * scale, k, v, route), inputs, arriving)

    def dense() -> object:
        return grad(attend(q * scale, k, v, mask, "softmax"), inputs[:3], arriving)

    def by_torch() -> object:
        return grad(fused(q, k, v), inputs[:3], arriving)

    share = float(pair_share(route).mean())
    twins: dict[str, Step] = {"dense": dense, "fused": by_torch, "masked": masked}
    return [
        {"name": f"blocks against {twin}, N {length}, K {count}", "work": length, "twin": twin}
        | {"timelines": count, "pair_share": share}
        | compare(blocks, slow, max(2, pairs))
        for twin, slow in twins.items()
    ]
