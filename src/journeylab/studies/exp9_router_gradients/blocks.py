"""Attention in blocks against attention that computes all scores: equal values, and the speed.

block_error is the largest difference between blocks and the masked form in double precision, of the
values or of the gradients of q, k, v and the route. Case *other* is the control: the difference of
values if the blocks take another route. Entries are of order one.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Generator, Tensor
from torch.nn.functional import one_hot

from journeylab.models.attention import attend, causal_mask, mask_scores
from journeylab.models.hypergraph import attend_masked, attend_sparsely, pair_share
from journeylab.records.cost import Step, compare

LENGTHS = (64, 256, 1024, 2048)
TIMELINES = (2, 4, 8, 16)
WIDTH = 32
TOKENS = 4096
"""Tokens of all sequences in one timing, whatever their length."""
PAIRS = 20
CHECKED = ((1, 5, 2), (3, 40, 3), (2, 100, 8))
"""Rows, tokens and timelines of the compared cases; some timelines stay empty."""

Row = dict[str, str | int | float]


def check(generator: Generator) -> Iterator[Row]:
    """Rows of block_error: values and gradients of blocks against the masked form."""
    values, gradients, others = [], [], []
    for rows, n, timelines in CHECKED:
        drawn = draw(rows, n, timelines, generator, torch.float64)
        arriving = torch.randn(rows, n, WIDTH, generator=generator, dtype=torch.float64)
        outputs = [form(*drawn) for form in (attend_masked, attend_sparsely)]
        masked, sparse = (torch.autograd.grad(output, drawn, arriving) for output in outputs)
        values.append((outputs[0] - outputs[1]).abs().max())
        rerouted = (*drawn[:3], drawn[3].roll(1, -2))
        others.append((outputs[0] - attend_sparsely(*rerouted)).abs().max())
        gradients += [(a - b).abs().max() for a, b in zip(masked, sparse, strict=True)]
    for case, off in (("values", values), ("gradients", gradients), ("other", others)):
        yield {
            "metric": "block_error",
            "case": case,
            "value": float(torch.stack(off).detach().max()),
        }


def time_blocks(pairs: int) -> dict[str, float]:
    """CPU time of dense causal attention over that of blocks, by ``key.N.K``.

    The keys: ratio, low, high: time of dense attention / time of blocks, forward and backward,
    median and quartiles over pairs; fast_ms and slow_ms: CPU milliseconds; share: Σ_k n_k²/N², the
    share of token pairs that routes keep. The time of blocks includes sorting and gates.
    """
    timings: dict[str, float] = {}
    for n in LENGTHS:
        for timelines in TIMELINES:
            generator = Generator().manual_seed(0)
            drawn = draw(TOKENS // n, n, timelines, generator, torch.float32)
            arriving = torch.randn(TOKENS // n, n, WIDTH, generator=generator)
            compared = compare(*both(drawn, arriving), pairs)
            compared["share"] = float(pair_share(drawn[3].detach()).mean())
            timings |= {f"{key}.{n}.{timelines}": value for key, value in compared.items()}
    return timings


def both(drawn: tuple[Tensor, ...], arriving: Float[Tensor, "rows n d"]) -> tuple[Step, Step]:
    """Forward and backward pass of blocks, and of dense causal attention without routes.

    ``drawn`` as by :func:`draw`; ``arriving`` is the gradient of the output.
    """
    q, k, v, _ = drawn
    mask = mask_scores(causal_mask(q.shape[1]), "softmax")

    def blocks() -> object:
        return torch.autograd.grad(attend_sparsely(*drawn), drawn, arriving)

    def dense() -> object:
        return torch.autograd.grad(attend(q, k, v, mask, "softmax"), (q, k, v), arriving)

    return blocks, dense


def draw(
    rows: int, n: int, timelines: int, generator: Generator, dtype: torch.dtype
) -> tuple[
    Float[Tensor, "rows n d"],
    Float[Tensor, "rows n d"],
    Float[Tensor, "rows n d"],
    Float[Tensor, "rows n K"],
]:
    """Scaled queries, keys, values, and a uniform one-hot route; all require gradients."""
    q, k, v = torch.randn(3, rows, n, WIDTH, generator=generator, dtype=dtype)
    chosen = torch.randint(timelines, (rows, n), generator=generator)
    inputs = (q * WIDTH**-0.5, k, v, one_hot(chosen, timelines).to(dtype))
    leaves = [each.detach().requires_grad_() for each in inputs]
    return leaves[0], leaves[1], leaves[2], leaves[3]
