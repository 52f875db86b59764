"""What needs no training engine: certificates, gradients at the start, and steps from there.

*exact*, certificates in float64 (rank and invariance of random inputs, ``draws`` of them)

| variant | metric | meaning |
| --- | --- | --- |
| forward | row_sum_error | largest |Σ_i S_ji − 1| |
| | row_sum_control | the same of a softmax over the k queries |
| | rank_excess | rank(H_out) − min(n, k) |
| | rank_control | the same where noise is added to H_out; more than 0 needs k > n |
| | invariance_error | largest change of H_out when the inputs are permuted |
| | invariance_control | the same where positions are added |
| hello | identity_gap | 1 − the largest mean diagonal of S that queries can reach on “Hello” |
| | twin_gap | largest difference of the weights of the two l, over all queries and draws |
| | printed_twin_gap | the same of the weights that the document prints |
| kmeans | centres_missing | k − different centres, for k > n |
| | selection_gradient | what fixing the centres beforehand changes of ∂/∂H |
| | query_gradient | ‖∂/∂Q‖ of the attention in its place: the control |
| shapes | shape_error | axes of S and H_out whose size is not k × n and k × d; parameters ≠ k·d |
| | shape_control | the same of n queries and k inputs, k ≠ n |
| printed | arithmetic_error | printed number − what it should be, in its last place |
| | arithmetic_control | the least of these where the print is moved by ±1 in its last place |
| backward | q_error | relative error of the document's ∂L/∂Q against autograd |
| | q_repaired_error | the same of it divided by τ |
| | h_error | of Sᵀ ∂L/∂H_out + (∂L/∂scores)ᵀ Q / τ as ∂L/∂H, which the document leaves out |
| | h_unscored_error | of it without the part through the scores |
| | h_untempered_error | of it without 1/τ |
| | omitted_share | ‖∂L/∂H‖ / ‖(∂L/∂H, ∂L/∂Q)‖: what is left out |

*ratio*, *sign*, *rates*, by seed. One string of n different symbols, k targets (symbol j mod n),
logits (S H) W with W from N(0, 1/d), embeddings and queries from N(0, scale²):

| metric | meaning |
| --- | --- |
| gradient_ratio | ‖∂L/∂H‖ / ‖∂L/∂Q‖ |
| query_norm | ‖∂L/∂Q‖ |
| ratio_apart | ‖∂L/∂H‖ / ‖∂L/∂Q‖ where queries are from N(0, queries²), at 3 → 2 and τ = 1 |
| law_error | |ratio · scale² / (the same at 0.1 for both) − 1|: 0 if it goes as 1/scale² only |
| law_control | the same at 1 for both, where S is not even |
| loss_change | loss after one step of gradient descent on Q, less the one before |
| final_loss | loss after ``steps`` steps of rate 0.001, that of Q a multiple of it |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, cast

import pandas as pd
import torch
from torch import Generator, Tensor
from torch.nn.functional import cross_entropy

from journeylab.models.pooling import ClusterPooling, SabagPooling
from journeylab.studies.exp11_sabag_pooling.settings import (
    APART,
    MULTIPLIERS,
    PRECISIONS,
    SCALES,
    SHAPES,
    SMALL,
    TEMPERATURES,
    UNIT,
    Check,
    Computation,
    D,
    Precision,
)
from journeylab.studies.exp11_sabag_pooling.tasks import SENTENCE, SOURCE

if TYPE_CHECKING:
    from journeylab.streams import Streams

COLUMNS = (
    *("draw", "metric", "shape", "scale", "queries", "temperature", "precision", "rate"),
    *("optimiser", "multiplier", "item", "value"),
)
RATES = (0.001, 1.0)
BASE_RATE = 0.001
SYMBOLS = 12
OPTIMISERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "SGD": torch.optim.SGD,
    "Adam": torch.optim.Adam,
}
STARTS = {"small": SMALL, "unit": UNIT}
CERTIFIED = ((5, 2), (5, 5), (5, 10), (2, 44))
"""Shapes (n, k): the document's three of “Hello”, and “Hi”."""
HELLO = torch.tensor([0, 1, 2, 2, 3])
HELLO_PRINTED = torch.tensor([[0.3, 0.4, 0.1, 0.1, 0.1], [0.1, 0.1, 0.3, 0.4, 0.1]])
"""The weights printed for “Hello” and two outputs; inputs 2 and 3 are the same letter."""
HI_PRINTED = ((0.521, 0.479), (0.530, 0.470), (0.492, 0.508), (0.498, 0.502), (0.468, 0.532))
"""Those printed for “Hi” and the first five of 44 outputs."""


def farthest_sum(rows: Iterable[Iterable[float]]) -> float:
    """The sum of the row whose sum is farthest from 1."""
    return max(map(sum, rows), key=lambda total: abs(total - 1.0))


PRINTED: dict[str, tuple[float, float, int]] = {
    "characters": (44, len(SENTENCE), 0),
    "expansion": (22, len(SENTENCE) / len(SOURCE), 0),
    "gradient ratio": (100, 0.58 / 0.0049, -2),
    "rate ratio": (1000, 1.0 / 0.001, 0),
    "change at 0.001": (0.0004, 2.6000 - 2.5996, 4),
    "change at 1.0": (-0.0001, 2.5995 - 2.5996, 4),
    "row sums": (1.0, farthest_sum(HI_PRINTED), 3),
    "row sums, Hello": (1.0, farthest_sum(HELLO_PRINTED.tolist()), 1),
}
"""What is printed, what it should be, and decimals of the print (“about 100” is one digit)."""

Row = dict[str, str | int | float]


class Start(NamedTuple):
    """Embeddings of the inputs ``(n, d)``, queries ``(k, d)``, readout ``(d, V)``, targets."""

    h: Tensor
    q: Tensor
    w: Tensor
    targets: Tensor

    def loss(self, temperature: float = 1.0) -> Tensor:
        """Mean cross-entropy of the k outputs."""
        weights = torch.softmax(self.q @ self.h.mT / temperature, -1)
        return cross_entropy(weights @ self.h @ self.w, self.targets)


def compute(job: Computation, streams: Streams | None) -> pd.DataFrame:
    """Tidy rows: draw, metric, factors …, value."""
    if job.computed == "exact":
        rows = list(CHECKS[cast(Check, job.variant)](job))
    else:
        generator = Generator().manual_seed(0) if streams is None else streams.generator("start")
        rows = list(STARTED[job.computed](job, generator))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    table["draw"] = table["draw"].fillna(0).astype("int64")
    return table.astype({"multiplier": "Int64", "value": "float64"})


def draw_start(
    shape: tuple[int, int],
    scale: float,
    generator: Generator,
    precision: Precision = "float64",
    queries: float | None = None,
) -> Start:
    """A start; its numbers in float32 are those in float64, rounded.

    Deviations are ``scale``; that of the queries is ``queries``, where given.
    """
    n, k = shape
    asked = scale if queries is None else queries
    h, q, w = (
        torch.randn(size, generator=generator, dtype=torch.float64) * spread
        for size, spread in (((n, D), scale), ((k, D), asked), ((D, SYMBOLS), D**-0.5))
    )
    dtype = torch.float32 if precision == "float32" else torch.float64
    h, q, w = (x.to(dtype).requires_grad_() for x in (h, q, w))
    return Start(h, q, w, torch.arange(k) % n)


def name_shape(shape: tuple[int, int]) -> str:
    """``3 → 2`` for three inputs and two outputs."""
    return f"{shape[0]} → {shape[1]}"


def document_gradient(h: Tensor, s: Tensor, grad: Tensor) -> Tensor:
    """∂L/∂Q as the document has it: softmax_backward(∂L/∂H_out · Hᵀ, S) · H."""
    return softmax_backward(grad @ h.mT, s) @ h


def softmax_backward(grad: Tensor, s: Tensor) -> Tensor:
    """The gradient of the scores, from that of S = softmax(scores) over the last dimension."""
    return s * (grad - (grad * s).sum(-1, keepdim=True))


def _ratio(job: Computation, generator: Generator) -> Iterator[Row]:
    del job
    yield from _law(generator.clone_state())
    for shape in SHAPES:
        state = generator.get_state()
        for scale in SCALES:
            generator.set_state(state)
            start = draw_start(shape, scale, generator)
            for temperature in TEMPERATURES:
                h, q = _norms(start, temperature)
                where: Row = {"shape": name_shape(shape), "scale": f"{scale:g}"}
                where |= {"temperature": f"{temperature:g}"}
                yield where | {"metric": "gradient_ratio", "value": h / q}
                yield where | {"metric": "query_norm", "value": q}


def _law(generator: Generator) -> Iterator[Row]:
    """The ratio where embeddings and queries are larger or smaller versions of one start."""
    state = generator.get_state()

    def ratio(scale: float, queries: float) -> float:
        generator.set_state(state)
        h, q = _norms(draw_start(SHAPES[0], scale, generator, queries=queries))
        return h / q

    constant = ratio(SMALL, SMALL) * SMALL**2
    for scale, queries in APART:
        found = ratio(scale, queries)
        where: Row = {"scale": f"{scale:g}", "queries": f"{queries:g}"}
        yield where | {"metric": "ratio_apart", "value": found}
        yield where | {"metric": "law_error", "value": abs(found * scale**2 / constant - 1)}
    broken = abs(ratio(UNIT, UNIT) * UNIT**2 / constant - 1)
    yield {"metric": "law_control", "value": broken}


def _norms(start: Start, temperature: float = 1.0) -> tuple[float, float]:
    """‖∂L/∂H‖ and ‖∂L/∂Q‖."""
    h, q = torch.autograd.grad(start.loss(temperature), (start.h, start.q))
    return float(h.norm()), float(q.norm())


def _sign(job: Computation, generator: Generator) -> Iterator[Row]:
    del job
    state = generator.get_state()
    for precision in PRECISIONS:
        generator.set_state(state)
        start = draw_start(SHAPES[0], SMALL, generator, precision)
        before = start.loss()
        [grad] = torch.autograd.grad(before, start.q)
        for rate in RATES:
            after = start._replace(q=start.q - rate * grad).loss()
            change = float((after - before).detach())
            where: Row = {"precision": precision, "rate": f"{rate:g}"}
            yield where | {"metric": "loss_change", "value": change}


def _rates(job: Computation, generator: Generator) -> Iterator[Row]:
    for name, scale in STARTS.items():
        state = generator.get_state()
        for optimiser, kind in OPTIMISERS.items():
            for multiplier in MULTIPLIERS:
                generator.set_state(state)
                start = draw_start(SHAPES[0], scale, generator)
                groups = [
                    {"params": [start.h, start.w], "lr": BASE_RATE},
                    {"params": [start.q], "lr": BASE_RATE * multiplier},
                ]
                stepping = kind(groups)
                for _ in range(job.steps):
                    stepping.zero_grad()
                    start.loss().backward()
                    stepping.step()
                where: Row = {"optimiser": optimiser, "scale": name, "multiplier": multiplier}
                yield where | {"metric": "final_loss", "value": float(start.loss().detach())}


def _check_forward(job: Computation) -> Iterator[Row]:
    for draw in range(job.draws):
        generator = Generator().manual_seed(draw)
        for n, k in CERTIFIED:
            where: Row = {"draw": draw, "shape": name_shape((n, k))}
            h = torch.randn(1, n, D, generator=generator, dtype=torch.float64)
            pool = SabagPooling(k, D, scale=1.0, generator=generator).double()
            order = torch.randperm(n, generator=generator).roll(1)
            order = order if (order != torch.arange(n)).any() else order.flip(0)
            places = torch.randn(n, D, generator=generator, dtype=torch.float64)
            with torch.no_grad():
                made = pool(h)
                sums = cast(Tensor, made.weights).sum(-1)
                scores = pool.queries @ h[0].mT
                across = torch.softmax(scores, 0).sum(-1)
                noise = torch.randn(k, D, generator=generator, dtype=torch.float64)
                moved = pool(h[:, order]).features - made.features
                placed = pool(h[:, order] + places).features - pool(h + places).features
                found = {
                    "row_sum_error": (sums - 1).abs().max(),
                    "row_sum_control": (across - 1).abs().max(),
                    "rank_excess": torch.linalg.matrix_rank(made.features[0]) - min(n, k),
                    "rank_control": torch.linalg.matrix_rank(made.features[0] + noise) - min(n, k),
                    "invariance_error": moved.abs().max(),
                    "invariance_control": placed.abs().max(),
                }
            yield from (where | {"metric": m, "value": float(x)} for m, x in found.items())


def _check_hello(job: Computation) -> Iterator[Row]:
    for draw in range(job.draws):
        generator = Generator().manual_seed(draw)
        letters = torch.randn(4, D, generator=generator, dtype=torch.float64)
        h = letters[HELLO][None]
        pool = SabagPooling(5, D, scale=1.0, generator=generator).double()
        with torch.no_grad():
            weights = cast(Tensor, pool(h).weights)[0]
            gap = (weights[:, 2] - weights[:, 3]).abs().max()
            yield {"draw": draw, "metric": "twin_gap", "value": float(gap)}
            # Queries that single their own letter out: what no query can do better.
            pool.queries.copy_(100.0 * torch.linalg.pinv(letters).mT[HELLO])
            best = cast(Tensor, pool(h).weights)[0].diagonal().mean()
        yield {"draw": draw, "metric": "identity_gap", "value": float(1 - best)}
    printed = (HELLO_PRINTED[:, 2] - HELLO_PRINTED[:, 3]).abs().max()
    yield {"metric": "printed_twin_gap", "value": float(printed)}


def _check_kmeans(job: Computation) -> Iterator[Row]:
    for draw in range(job.draws):
        generator = Generator().manual_seed(draw)
        for n, k in ((5, 10), (2, 44), (3, 50)):
            h = torch.randn(1, n, D, generator=generator, dtype=torch.float64)
            chosen = ClusterPooling(k).select(h, torch.zeros(1, dtype=torch.int64))
            missing = k - len(chosen.unique())
            where: Row = {"draw": draw, "shape": name_shape((n, k))}
            yield where | {"metric": "centres_missing", "value": missing}
        h = torch.randn(1, 5, D, generator=generator, dtype=torch.float64).requires_grad_()
        asked = torch.randn(2, D, generator=generator, dtype=torch.float64)
        cluster, first = ClusterPooling(2), torch.zeros(1, dtype=torch.int64)
        fixed = cluster.select(h, first)
        whole, given = (
            torch.autograd.grad((made.features * asked).sum(), h)[0]
            for made in (cluster(h, first), cluster.assign(h, fixed))
        )
        pool = SabagPooling(2, D, generator=generator).double()
        [query] = torch.autograd.grad((pool(h).features * asked).sum(), pool.queries)
        where = {"draw": draw}
        yield where | {"metric": "selection_gradient", "value": float((whole - given).norm())}
        yield where | {"metric": "query_gradient", "value": float(query.norm())}


def _check_shapes(job: Computation) -> Iterator[Row]:
    del job
    for n, k in CERTIFIED:
        where: Row = {"shape": name_shape((n, k))}
        yield where | {"metric": "shape_error", "value": _wrong_sizes((n, k), (n, k))}
        if n != k:
            yield where | {"metric": "shape_control", "value": _wrong_sizes((n, k), (k, n))}


def _wrong_sizes(shape: tuple[int, int], made: tuple[int, int]) -> int:
    """Sizes that are not those of ``shape`` (n, k), of poolings that have those of ``made``."""
    n, k = shape
    inputs, outputs = made
    pool = SabagPooling(outputs, D, generator=Generator().manual_seed(0))
    pooled = pool(torch.zeros(1, inputs, D))
    sizes = (*cast(Tensor, pooled.weights).shape[1:], *pooled.features.shape[1:])
    wrong: int = sum(a != b for a, b in zip(sizes, (k, n, k, D), strict=True))
    wrong += sum(p.numel() for p in pool.parameters()) != k * D
    return wrong + (sum(p.numel() for p in ClusterPooling(outputs).parameters()) != 0)


def _check_printed(job: Computation) -> Iterator[Row]:
    del job
    for item, (printed, truth, places) in PRINTED.items():
        off, *moved = (
            round(abs(printed + units * 10.0**-places - round(truth, places)) * 10.0**places, 6)
            for units in (0, -1, 1)
        )
        yield {"metric": "arithmetic_error", "item": item, "value": off}
        yield {"metric": "arithmetic_control", "item": item, "value": min(moved)}


def _check_backward(job: Computation) -> Iterator[Row]:
    for draw in range(job.draws):
        generator = Generator().manual_seed(draw)
        for temperature in TEMPERATURES:
            start = draw_start((5, 2), SMALL, generator)
            scores = start.q @ start.h.mT / temperature
            s = torch.softmax(scores, -1)
            out = s @ start.h
            loss = cross_entropy(out @ start.w, start.targets)
            grad, q, h = torch.autograd.grad(loss, (out, start.q, start.h))
            start, s = Start(*(x.detach() for x in start)), s.detach()
            told = document_gradient(start.h, s, grad)
            direct, through = s.mT @ grad, softmax_backward(grad @ start.h.mT, s).mT @ start.q
            found = {
                "q_error": (told - q).norm() / q.norm(),
                "q_repaired_error": (told / temperature - q).norm() / q.norm(),
                "h_error": (direct + through / temperature - h).norm() / h.norm(),
                "h_unscored_error": (direct - h).norm() / h.norm(),
                "h_untempered_error": (direct + through - h).norm() / h.norm(),
                "omitted_share": h.norm() / torch.cat((h, q)).norm(),
            }
            where: Row = {"draw": draw, "temperature": f"{temperature:g}"}
            yield from (where | {"metric": m, "value": float(x)} for m, x in found.items())


CHECKS: dict[Check, Callable[[Computation], Iterator[Row]]] = {
    "forward": _check_forward,
    "hello": _check_hello,
    "kmeans": _check_kmeans,
    "shapes": _check_shapes,
    "printed": _check_printed,
    "backward": _check_backward,
}
STARTED: dict[str, Callable[[Computation, Generator], Iterator[Row]]] = {
    "ratio": _ratio,
    "sign": _sign,
    "rates": _rates,
}
