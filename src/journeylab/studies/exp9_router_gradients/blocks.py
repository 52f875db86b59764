"""Attention in blocks against forms that compute all scores: the same numbers, and at which cost.

block_error is the largest difference from the masked form in double precision, of the values or of
the gradients of q, k, v and the route; case other: of the values, where blocks take another route,
the control. Entries are of order one.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Generator, Tensor
from torch.nn.functional import one_hot

from journeylab.models.attention import attend, causal_mask, mask_scores
from journeylab.models.hypergraph import attend_masked, attend_sparsely, pair_share
from journeylab.records.cost import Step, compare

LENGTHS = (64, 256, 1024, 2048)
TIMELINES = (2, 4, 8, 16)
WIDTH = 32
TOKENS = 4096
"""Tokens of all sequences that are timed together, of whatever length."""
PAIRS = 20
CHECKED = ((1, 5, 2), (3, 40, 3), (2, 100, 8))
"""Rows, tokens and timelines of the cases that are compared; some timelines stay empty."""

Row = dict[str, str | int | float]


def check(generator: Generator) -> Iterator[Row]:
    """Compare blocks with the masked form, values and gradients."""
    values, gradients, others = [], [], []
    for rows, n, timelines in CHECKED:
        drawn = draw(rows, n, timelines, generator, torch.float64)
        arriving = torch.randn(rows, n, WIDTH, generator=generator, dtype=torch.float64)
        found = [form(*drawn) for form in (attend_masked, attend_sparsely)]
        masked, sparse = (torch.autograd.grad(each, drawn, arriving) for each in found)
        values.append((found[0] - found[1]).abs().max())
        turned = (*drawn[:3], drawn[3].roll(1, -2))
        others.append((found[0] - attend_sparsely(*turned)).abs().max())
        gradients += [(a - b).abs().max() for a, b in zip(masked, sparse, strict=True)]
    for case, off in (("values", values), ("gradients", gradients), ("other", others)):
        yield {
            "metric": "block_error",
            "case": case,
            "value": float(torch.stack(off).detach().max()),
        }


def time_blocks(pairs: int) -> dict[str, float]:
    """How many times as long dense causal attention takes, and what routes leave: ``key.N.K``.

    ratio, low, high: dense over blocks, both passes, median and quartiles over pairs; fast_ms and
    slow_ms: CPU milliseconds; share: Σ_k n_k²/N². Blocks pay for sorting and for their gates.
    """
    found: dict[str, float] = {}
    for n in LENGTHS:
        for timelines in TIMELINES:
            generator = Generator().manual_seed(0)
            drawn = draw(TOKENS // n, n, timelines, generator, torch.float32)
            arriving = torch.randn(TOKENS // n, n, WIDTH, generator=generator)
            told = compare(*both(drawn, arriving), pairs)
            told["share"] = float(pair_share(drawn[3].detach()).mean())
            found |= {f"{key}.{n}.{timelines}": value for key, value in told.items()}
    return found


def both(drawn: tuple[Tensor, ...], arriving: Tensor) -> tuple[Step, Step]:
    """Both passes in blocks, and of dense causal attention, which knows no route."""
    q, k, v, _ = drawn
    mask = mask_scores(causal_mask(q.shape[1]), "softmax")

    def blocks() -> object:
        return torch.autograd.grad(attend_sparsely(*drawn), drawn, arriving)

    def dense() -> object:
        return torch.autograd.grad(attend(q, k, v, mask, "softmax"), (q, k, v), arriving)

    return blocks, dense


def draw(
    rows: int, n: int, timelines: int, generator: Generator, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Queries, scaled, keys, values, and a one-hot route, uniform; all ask for gradients."""
    q, k, v = torch.randn(3, rows, n, WIDTH, generator=generator, dtype=dtype)
    taken = torch.randint(timelines, (rows, n), generator=generator)
    inputs = (q * WIDTH**-0.5, k, v, one_hot(taken, timelines).to(dtype))
    asked = [each.detach().requires_grad_() for each in inputs]
    return asked[0], asked[1], asked[2], asked[3]
