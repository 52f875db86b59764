"""Results without the training engine: certificates, initial gradients, and steps from a start.

*exact*: certificates in float64; rank and invariance use ``draws`` random inputs

| variant | metric | meaning |
| --- | --- | --- |
| forward | row_sum_error | largest |Σ_i S_ji − 1| |
| | row_sum_control | the same for a softmax over the k queries |
| | rank_excess | rank(H_out) − min(n, k) |
| | rank_control | the same with noise added to H_out; above 0 only if k > n |
| | invariance_error | largest change of H_out if the inputs are permuted |
| | invariance_control | the same with positions added |
| hello | identity_gap | 1 − the largest mean diagonal of S that queries can reach on “Hello” |
| | twin_gap | largest difference of the weights of the two l, over all queries and draws |
| | printed_twin_gap | the same for the weights that the document prints |
| kmeans | centres_missing | k − number of different centres, for k > n |
| | selection_gradient | change of ∂/∂H if the centres are fixed beforehand |
| | query_gradient | ‖∂/∂Q‖ of attention instead of k-means++: the control |
| shapes | shape_error | axes of S and H_out that are not k × n and k × d; parameters ≠ k·d |
| | shape_control | the same with n and k exchanged, k ≠ n |
| printed | arithmetic_error | |printed − correct number| in units of the last printed digit |
| | arithmetic_control | the smallest such error if the printed number is changed by ±1 unit |
| backward | q_error | relative error of the document's ∂L/∂Q against autograd |
| | q_repaired_error | the same, after division by τ |
| | h_error | of Sᵀ ∂L/∂H_out + (∂L/∂scores)ᵀ Q / τ as ∂L/∂H, which the document omits |
| | h_unscored_error | the same, without the part through the scores |
| | h_untempered_error | the same, without 1/τ |
| | omitted_share | ‖∂L/∂H‖ / ‖(∂L/∂H, ∂L/∂Q)‖: the omitted share of the gradient |
| steps | see ``descent.py`` | finite steps on the queries |
| expansion | characters | characters of the sentence that chosen weights produce from “Hi” |
| | characters_control | the same with queries of 0 |

*ratio*, computed per seed, from the starts of ``starts.py``; *sign*, *rates* and *search* are in
``descent.py``:

| metric | meaning |
| --- | --- |
| gradient_ratio | ‖∂L/∂H‖ / ‖∂L/∂Q‖ |
| query_norm | ‖∂L/∂Q‖ |
| ratio_apart | gradient_ratio with queries from N(0, queries²), at 3 → 2 and τ = 1 |
| law_error | |ratio · scale² / (the same at 0.1 for both) − 1|: 0 if proportional to 1/scale² |
| law_control | the same at deviation 1 for both, where S is not nearly even |
| matched_ratio | gradient_ratio at the deviation of both at which ‖∂L/∂Q‖ is 0.0049, 3 → 2, τ = 1 |
| matched_scale | that deviation |
| matched_norm | ‖∂L/∂H‖ there; the document prints 0.58 |
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, cast

import pandas as pd
import torch
from jaxtyping import Float
from scipy.optimize import brentq
from torch import Generator, Tensor
from torch.nn.functional import cross_entropy

from journeylab.models.pooling import ClusterPooling, SabagPooling
from journeylab.studies.exp11_sabag_pooling.descent import check_steps, rates, search, sign
from journeylab.studies.exp11_sabag_pooling.settings import (
    APART,
    SCALES,
    SHAPES,
    SMALL,
    TEMPERATURES,
    UNIT,
    Check,
    Computation,
    D,
)
from journeylab.studies.exp11_sabag_pooling.starts import Row, Start, draw_start, name_shape, norms
from journeylab.studies.exp11_sabag_pooling.tasks import ALPHABET, SENTENCE, SOURCE

if TYPE_CHECKING:
    from journeylab.streams import Streams

COLUMNS = (
    *("draw", "metric", "shape", "scale", "queries", "temperature", "precision", "rate"),
    *("moved", "optimiser", "base", "multiplier", "after", "item", "value"),
)
PRINTED_NORM = 0.0049
"""The norm of the queries' gradient that the document prints."""
CERTIFIED = ((5, 2), (5, 5), (5, 10), (2, 44))
"""Shapes (n, k): the document's three for “Hello”, and one for “Hi”."""
HELLO = torch.tensor([0, 1, 2, 2, 3])
HELLO_PRINTED = torch.tensor([[0.3, 0.4, 0.1, 0.1, 0.1], [0.1, 0.1, 0.3, 0.4, 0.1]])
"""Printed weights for “Hello” and two outputs; inputs 2 and 3 are the same letter."""
HI_PRINTED = ((0.521, 0.479), (0.530, 0.470), (0.492, 0.508), (0.498, 0.502), (0.468, 0.532))
"""Printed weights for “Hi” and the first five of 44 outputs."""


def farthest_sum(rows: Iterable[Iterable[float]]) -> float:
    """The row sum that is farthest from 1."""
    return max(map(sum, rows), key=lambda total: abs(total - 1.0))


PRINTED: dict[str, tuple[float, float, int]] = {
    "characters": (44, len(SENTENCE), 0),
    "expansion": (22, len(SENTENCE) / len(SOURCE), 0),
    "gradient ratio": (100, 0.58 / PRINTED_NORM, -2),
    "rate ratio": (1000, 1.0 / 0.001, 0),
    "change at 0.001": (0.0004, 2.6000 - 2.5996, 4),
    "change at 1.0": (-0.0001, 2.5995 - 2.5996, 4),
    "row sums": (1.0, farthest_sum(HI_PRINTED), 3),
    "row sums, Hello": (1.0, farthest_sum(HELLO_PRINTED.tolist()), 1),
}
"""Printed number, correct number, and printed decimals (“about 100” has one digit: −2)."""


def compute(job: Computation, streams: Streams | None) -> pd.DataFrame:
    """Tidy rows: draw, metric, factors …, value."""
    if job.computed == "exact":
        rows = list(CHECKS[cast(Check, job.variant)](job))
    elif job.computed == "search":
        rows = list(search(job))
    else:
        generator = Generator().manual_seed(0) if streams is None else streams.generator("start")
        rows = list(STARTED[job.computed](job, generator))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    table["draw"] = table["draw"].fillna(0).astype("int64")
    return table.astype({"multiplier": "Int64", "value": "float64"})


def document_gradient(
    h: Float[Tensor, "n d"], s: Float[Tensor, "k n"], grad: Float[Tensor, "k d"]
) -> Float[Tensor, "k d"]:
    """∂L/∂Q as in the document, softmax_backward(∂L/∂H_out · Hᵀ, S) · H; ``grad`` is ∂L/∂H_out."""
    return softmax_backward(grad @ h.mT, s) @ h


def softmax_backward(
    grad: Float[Tensor, "*rows n"], s: Float[Tensor, "*rows n"]
) -> Float[Tensor, "*rows n"]:
    """∂L/∂scores from ``grad`` = ∂L/∂S, with S = softmax(scores) over the last axis."""
    return s * (grad - (grad * s).sum(-1, keepdim=True))


def _ratio(job: Computation, generator: Generator) -> Iterator[Row]:
    del job
    yield from _law(generator.clone_state())
    yield from _match(generator.clone_state())
    for shape in SHAPES:
        state = generator.get_state()
        for scale in SCALES:
            generator.set_state(state)
            start = draw_start(shape, scale, generator)
            for temperature in TEMPERATURES:
                h, q = norms(start, temperature)
                where: Row = {"shape": name_shape(shape), "scale": f"{scale:g}"}
                where |= {"temperature": f"{temperature:g}"}
                yield where | {"metric": "gradient_ratio", "value": h / q}
                yield where | {"metric": "query_norm", "value": q}


def _law(generator: Generator) -> Iterator[Row]:
    """The gradient ratio of one start, with embeddings and queries scaled separately."""
    state = generator.get_state()

    def ratio(scale: float, queries: float) -> float:
        generator.set_state(state)
        h, q = norms(draw_start(SHAPES[0], scale, generator, queries=queries))
        return h / q

    constant = ratio(SMALL, SMALL) * SMALL**2
    for scale, queries in APART:
        measured = ratio(scale, queries)
        where: Row = {"scale": f"{scale:g}", "queries": f"{queries:g}"}
        yield where | {"metric": "ratio_apart", "value": measured}
        yield where | {"metric": "law_error", "value": abs(measured * scale**2 / constant - 1)}
    broken = abs(ratio(UNIT, UNIT) * UNIT**2 / constant - 1)
    yield {"metric": "law_control", "value": broken}


def _match(generator: Generator, norm: float = PRINTED_NORM) -> Iterator[Row]:
    """The gradients of a start whose deviation gives the queries' gradient this norm."""
    state = generator.get_state()

    def drawn(log_scale: float) -> Start:
        generator.set_state(state)
        return draw_start(SHAPES[0], math.exp(log_scale), generator)

    # The norm grows with the deviation as long as weights are near even.
    log_scale = brentq(lambda x: norms(drawn(x))[1] - norm, math.log(1e-3), math.log(0.3))
    h, q = norms(drawn(log_scale))
    values = {"matched_ratio": h / q, "matched_scale": math.exp(log_scale), "matched_norm": h}
    for metric, value in values.items():
        yield {"metric": metric, "value": value}


def _check_forward(job: Computation) -> Iterator[Row]:
    for draw in job.numbered:
        generator = Generator().manual_seed(draw)
        for n, k in CERTIFIED:
            where: Row = {"draw": draw, "shape": name_shape((n, k))}
            h = torch.randn(1, n, D, generator=generator, dtype=torch.float64)
            pool = SabagPooling(k, D, scale=1.0, generator=generator).double()
            order = torch.randperm(n, generator=generator).roll(1)
            order = order if (order != torch.arange(n)).any() else order.flip(0)
            positions = torch.randn(n, D, generator=generator, dtype=torch.float64)
            with torch.no_grad():
                pooled = pool(h)
                sums = cast(Tensor, pooled.weights).sum(-1)
                scores = pool.queries @ h[0].mT
                across = torch.softmax(scores, 0).sum(-1)
                noise = torch.randn(k, D, generator=generator, dtype=torch.float64)
                moved = pool(h[:, order]).features - pooled.features
                placed = pool(h[:, order] + positions).features - pool(h + positions).features
                values = {
                    "row_sum_error": (sums - 1).abs().max(),
                    "row_sum_control": (across - 1).abs().max(),
                    "rank_excess": torch.linalg.matrix_rank(pooled.features[0]) - min(n, k),
                    "rank_control": torch.linalg.matrix_rank(pooled.features[0] + noise)
                    - min(n, k),
                    "invariance_error": moved.abs().max(),
                    "invariance_control": placed.abs().max(),
                }
            yield from (where | {"metric": m, "value": float(x)} for m, x in values.items())


def _check_hello(job: Computation) -> Iterator[Row]:
    for draw in job.numbered:
        generator = Generator().manual_seed(draw)
        letters = torch.randn(4, D, generator=generator, dtype=torch.float64)
        h = letters[HELLO][None]
        pool = SabagPooling(5, D, scale=1.0, generator=generator).double()
        with torch.no_grad():
            weights = cast(Tensor, pool(h).weights)[0]
            gap = (weights[:, 2] - weights[:, 3]).abs().max()
            yield {"draw": draw, "metric": "twin_gap", "value": float(gap)}
            # Queries that attend to their own letter only: no queries reach a larger diagonal.
            pool.queries.copy_(100.0 * torch.linalg.pinv(letters).mT[HELLO])
            best = cast(Tensor, pool(h).weights)[0].diagonal().mean()
        yield {"draw": draw, "metric": "identity_gap", "value": float(1 - best)}
    printed = (HELLO_PRINTED[:, 2] - HELLO_PRINTED[:, 3]).abs().max()
    yield {"metric": "printed_twin_gap", "value": float(printed)}


def _check_kmeans(job: Computation) -> Iterator[Row]:
    for draw in job.numbered:
        generator = Generator().manual_seed(draw)
        for n, k in ((5, 10), (2, 44), (3, 50)):
            h = torch.randn(1, n, D, generator=generator, dtype=torch.float64)
            chosen = ClusterPooling(k).select(h, torch.zeros(1, dtype=torch.int64))
            missing = k - len(chosen.unique())
            where: Row = {"draw": draw, "shape": name_shape((n, k))}
            yield where | {"metric": "centres_missing", "value": missing}
        h = torch.randn(1, 5, D, generator=generator, dtype=torch.float64).requires_grad_()
        arriving = torch.randn(2, D, generator=generator, dtype=torch.float64)
        cluster, first = ClusterPooling(2), torch.zeros(1, dtype=torch.int64)
        fixed = cluster.select(h, first)
        whole, given = (
            torch.autograd.grad((pooled.features * arriving).sum(), h)[0]
            for pooled in (cluster(h, first), cluster.assign(h, fixed))
        )
        pool = SabagPooling(2, D, generator=generator).double()
        [query] = torch.autograd.grad((pool(h).features * arriving).sum(), pool.queries)
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
    """Count sizes that differ from ``shape`` (n, k), for poolings built with the shape ``made``."""
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
    for item, (printed, truth, decimals) in PRINTED.items():
        unit, correct = 10.0**-decimals, round(truth, decimals)
        off, *moved = (
            round(abs(printed + units * unit - correct) * 10.0**decimals, 6) for units in (0, -1, 1)
        )
        yield {"metric": "arithmetic_error", "item": item, "value": off}
        yield {"metric": "arithmetic_control", "item": item, "value": min(moved)}


def _check_backward(job: Computation) -> Iterator[Row]:
    for draw in job.numbered:
        generator = Generator().manual_seed(draw)
        for temperature in TEMPERATURES:
            start = draw_start((5, 2), SMALL, generator)
            scores = start.q @ start.h.mT / temperature
            s = torch.softmax(scores, -1)
            out = s @ start.h
            loss = cross_entropy(out @ start.w, start.targets)
            grad, q, h = torch.autograd.grad(loss, (out, start.q, start.h))
            start, s = Start(*(x.detach() for x in start)), s.detach()
            printed = document_gradient(start.h, s, grad)
            direct, through = s.mT @ grad, softmax_backward(grad @ start.h.mT, s).mT @ start.q
            values = {
                "q_error": (printed - q).norm() / q.norm(),
                "q_repaired_error": (printed / temperature - q).norm() / q.norm(),
                "h_error": (direct + through / temperature - h).norm() / h.norm(),
                "h_unscored_error": (direct - h).norm() / h.norm(),
                "h_untempered_error": (direct + through - h).norm() / h.norm(),
                "omitted_share": h.norm() / torch.cat((h, q)).norm(),
            }
            where: Row = {"draw": draw, "temperature": f"{temperature:g}"}
            yield from (where | {"metric": m, "value": float(x)} for m, x in values.items())


def _check_expansion(job: Computation) -> Iterator[Row]:
    """Weights that produce the sentence: outputs on a segment, and the nearest of its points.

    The embeddings are (1, 1, 0, …) and (−1, 1, 0, …). Output j is (x, 1, 0, …) with x = tanh(q) for
    the query (q, 0, …). Character v has a point c_v in (−1, 1) and the readout (2c_v, −c_v², 0, …),
    so that the largest logit belongs to the nearest point.
    """
    del job
    points = torch.linspace(-0.9, 0.9, len(ALPHABET), dtype=torch.float64)
    target = torch.tensor([ALPHABET.index(sign) for sign in SENTENCE])
    h, readout = torch.zeros(1, 2, D).double(), torch.zeros(D, len(ALPHABET)).double()
    h[0, :, 0], h[0, :, 1] = torch.tensor([1.0, -1.0]), 1.0
    readout[0], readout[1] = 2 * points, -points.square()
    pool = SabagPooling(len(SENTENCE), D, generator=Generator().manual_seed(0)).double()
    for metric, size in (("characters", 1.0), ("characters_control", 0.0)):
        with torch.no_grad():
            pool.queries.zero_()
            pool.queries[:, 0] = size * points[target].atanh()
            answers = (pool(h).features[0] @ readout).argmax(-1)
        yield {"metric": metric, "value": int((answers == target).sum())}


CHECKS: dict[Check, Callable[[Computation], Iterator[Row]]] = {
    "forward": _check_forward,
    "hello": _check_hello,
    "kmeans": _check_kmeans,
    "shapes": _check_shapes,
    "printed": _check_printed,
    "backward": _check_backward,
    "steps": check_steps,
    "expansion": _check_expansion,
}
STARTED: dict[str, Callable[[Computation, Generator], Iterator[Row]]] = {
    "ratio": _ratio,
    "sign": sign,
    "rates": rates,
}
