"""Steps of gradient descent from drawn starts: their changes of the loss, and rates of the queries.

| metric | meaning |
| --- | --- |
| loss_change | loss after one gradient step on Q − loss before; per seed |
| mean_loss | mean training loss over ``steps`` steps and ``starts`` starts; per seed |
| final_loss | loss after a tenth of the steps and at the end, mean over starts; per seed |
| learned | share of starts that end below half of ln 2; per seed |
| search_loss | mean training loss on the pilot seeds, one start each |
| largest_rise | largest change of the loss over all starts, up to ``steps`` steps at rate 0.001 |
| largest_change | the same by rate of Q, moved parameters and deviation |
| safe_rate | rate of Q up to which no step raises the loss, by :func:`safe_rate` |
| safe_change | largest change of the loss in one step at rates up to the safe rate |
| ascent_change | smallest change in one step of rate 0.001 *up* the gradient: the control |
| rise_rate | smallest rate of ``RATE_GRID`` at which one step on Q raises the loss, if one does |

Certificates, from ``largest_rise`` on, are over ``draws`` starts at every deviation of ``SCALES``;
the other weights rest there or move at rate 0.001. In training they move at the base rate, and Q at
a multiple of it. Two outputs that attend to the same input only, with weights of 1, receive no
gradient through S and cannot tell their targets apart: their loss is ln 2, and training stalls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from journeylab.streams import Streams
from journeylab.studies.exp11_sabag_pooling.settings import (
    BASES,
    COMPARED,
    MULTIPLIERS,
    PRECISIONS,
    SCALES,
    SHAPES,
    SMALL,
    UNIT,
    Computation,
)
from journeylab.studies.exp11_sabag_pooling.starts import Row, Start, draw_start, stack

OPTIMISERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "SGD": torch.optim.SGD,
    "Adam": torch.optim.Adam,
}
STARTS = {"small": SMALL, "unit": UNIT}
SLOW, FAST = 0.001, 1.0
"""The two rates of the document."""
PILOTS = tuple(range(1000, 1012))
"""Seeds of the search; judged runs never use them."""
LEARNED = math.log(2) / 2

Cell = tuple[float, int]
"""The base rate, and the multiple of it for Q."""
RATE_GRID = torch.logspace(-4, 6, 201, dtype=torch.float64)
"""Twenty rates per decade."""


def descend(
    start: Start,
    optimiser: str,
    rates: Float[Tensor, " c"],
    queries: Float[Tensor, " c"],
    steps: int,
) -> Float[Tensor, "steps+1 c"]:
    """Losses of stacked starts before the first step and after each.

    ``rates`` are those of H and W, ``queries`` those of Q. The starts are changed in place. A step
    of SGD or Adam is proportional to its rate, so that a step of rate 1 is scaled for every start.
    """
    leaves = (start.h, start.q, start.w)
    stepper = OPTIMISERS[optimiser](leaves, lr=1.0)
    sizes = [rate[:, None, None] for rate in (rates, queries, rates)]
    losses = []
    for _ in range(steps):
        stepper.zero_grad()
        loss = start.loss()
        losses.append(loss.detach())
        loss.sum().backward()
        before = [leaf.detach().clone() for leaf in leaves]
        stepper.step()
        with torch.no_grad():
            for leaf, old, size in zip(leaves, before, sizes, strict=True):
                leaf.copy_(old + size * (leaf - old))
    losses.append(start.loss().detach())
    return torch.stack(losses)


def safe_rate(start: Start) -> Float[Tensor, "*c"]:
    """The rate 2k / B up to which no gradient step on Q, from any Q, raises the loss.

    Along q_j + s·δ the weights p of output j change the scores by u = H δ. With M = H W, the loss
    f of output j has the second derivative Var_π(cov_p(u, M)) + Σ_v (π_v − e_v) cov_p((u − ū)²,
    M_v), where π are the output's probabilities and e its target. Let R be the largest range over
    inputs of a difference M_v − M_w. The first term is at most var_p(u)·R²/16, the second at most
    var_p(u)·R, and var_p(u) ≤ ‖δ‖²·max‖h_i − h_j‖²/4. Hence f″ ≤ B‖δ‖² for

        B = (R + R²/16) · max‖h_i − h_j‖² / 4,

    and the mean over k outputs falls in every step of a rate below 2k / B. H and W are fixed, so
    the bound holds for any number of steps on Q; τ = 1.
    """
    h, w = start.h.detach(), start.w.detach()
    apart = h[..., :, None, :] - h[..., None, :, :]
    logits = apart @ w[..., None, :, :]
    widest = (logits.amax(-1) - logits.amin(-1)).amax((-1, -2))
    farthest = apart.square().sum(-1).amax((-1, -2))
    curvature = (widest + widest.square() / 16) * farthest / 4
    return 2 * len(start.targets) / curvature


def sign(job: Computation, generator: Generator) -> Iterator[Row]:
    """Change of the loss in one step on Q, in both precisions."""
    del job
    state = generator.get_state()
    for precision in PRECISIONS:
        generator.set_state(state)
        start = draw_start(SHAPES[0], SMALL, generator, precision)
        before = start.loss()
        [grad] = torch.autograd.grad(before, start.q)
        for rate in (SLOW, FAST):
            after = start._replace(q=start.q - rate * grad).loss()
            change = float((after - before).detach())
            where: Row = {"precision": precision, "rate": f"{rate:g}"}
            yield where | {"metric": "loss_change", "value": change}


def rates(job: Computation, generator: Generator) -> Iterator[Row]:
    """Training from a seed's starts, at the compared base rates and multiples of them for Q."""
    for name, optimiser in product(STARTS, OPTIMISERS):
        state = generator.get_state()
        starts = [draw_start(SHAPES[0], STARTS[name], generator) for _ in range(job.starts)]
        generator.set_state(state)
        cells = tuple(product(COMPARED[optimiser], (1, MULTIPLIERS[-1])))
        losses = train_cells(starts, optimiser, cells, job.steps)
        values = {
            "mean_loss": losses[:-1].mean((0, 2)),
            "learned": (losses[-1] < LEARNED).double().mean(1),
        }
        finals = {"tenth": losses[job.steps // 10].mean(1), "end": losses[-1].mean(1)}
        for c, (base, multiplier) in enumerate(cells):
            at: Row = {"optimiser": optimiser, "scale": name}
            at |= {"base": f"{base:g}", "multiplier": multiplier}
            yield from (at | {"metric": m, "value": float(x[c])} for m, x in values.items())
            for after, final in finals.items():
                yield at | {"metric": "final_loss", "after": after, "value": float(final[c])}


def search(job: Computation) -> Iterator[Row]:
    """The same training of one start of every pilot seed, at all base rates."""
    cells = tuple(product(BASES, MULTIPLIERS))
    for (name, scale), optimiser in product(STARTS.items(), OPTIMISERS):
        starts = [
            draw_start(SHAPES[0], scale, Streams("exp11", seed).generator("start"))
            for seed in PILOTS
        ]
        losses = train_cells(starts, optimiser, cells, job.steps)[:-1].mean(0)
        for (base, multiplier), row in zip(cells, losses, strict=True):
            at: Row = {"metric": "search_loss", "optimiser": optimiser, "scale": name}
            at |= {"base": f"{base:g}", "multiplier": multiplier}
            for seed, value in zip(PILOTS, row, strict=True):
                yield at | {"draw": seed, "value": float(value)}


def train_cells(
    starts: Sequence[Start], optimiser: str, cells: Sequence[Cell], steps: int
) -> Float[Tensor, "steps+1 cells starts"]:
    """Losses before the first step and after each, of every start at every pair of rates."""
    base, multiplier = (
        torch.tensor(cells, dtype=torch.float64).repeat_interleave(len(starts), 0).unbind(1)
    )
    stacked = stack([start for _ in cells for start in starts])
    losses = descend(stacked, optimiser, base, base * multiplier, steps)
    return losses.view(steps + 1, len(cells), len(starts))


def check_steps(job: Computation) -> Iterator[Row]:
    """Certificates about finite steps from ``draws`` starts at every deviation."""
    scales = [f"{scale:g}" for scale in SCALES for _ in range(job.draws)]
    starts = [
        draw_start(SHAPES[0], scale, Generator().manual_seed(draw))
        for scale in SCALES
        for draw in job.numbered
    ]
    still, slow = torch.zeros(len(starts), dtype=torch.float64), torch.tensor(SLOW)
    rises = []
    for rate, (moved, others) in product((SLOW, FAST), (("queries", still), ("all", still + slow))):
        losses = descend(stack(starts), "SGD", others, still + rate, job.steps)
        largest = (losses[1:] - losses[0]).amax(0).view(len(SCALES), job.draws).amax(1)
        for scale, value in zip(SCALES, largest, strict=True):
            where: Row = {"rate": f"{rate:g}", "moved": moved, "scale": f"{scale:g}"}
            yield where | {"metric": "largest_change", "value": float(value)}
        if rate == SLOW:
            rises.append(float(largest.max()))
    yield {"metric": "largest_rise", "value": max(rises)}
    yield from _one_step(job, stack(starts), scales)


def _one_step(job: Computation, start: Start, scales: list[str]) -> Iterator[Row]:
    before = start.loss()
    [grad] = torch.autograd.grad(before.sum(), start.q)

    def change(rate: Float[Tensor, "*c"]) -> Float[Tensor, " c"]:
        moved = start._replace(q=start.q - rate.expand(len(grad))[:, None, None] * grad)
        return (moved.loss() - before).detach()

    safe = safe_rate(start)
    within = torch.stack([change(safe * part / 20) for part in range(1, 21)]).amax(0)
    ascent = change(torch.tensor(-SLOW))
    changes = torch.stack([change(rate) for rate in RATE_GRID])
    for c, scale in enumerate(scales):
        where: Row = {"scale": scale, "draw": job.numbered[c % job.draws]}
        yield where | {"metric": "safe_rate", "value": float(safe[c])}
        yield where | {"metric": "safe_change", "value": float(within[c])}
        yield where | {"metric": "ascent_change", "value": float(ascent[c])}
        rising = RATE_GRID[changes[:, c] > 0]
        if len(rising):
            yield where | {"metric": "rise_rate", "value": float(rising[0])}
