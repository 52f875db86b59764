"""Computed runs: geometry of untrained embeddings, certificates, and training with every loss kept.

*geometry*: the vectors of 1 … 100 in an untrained embedding, for every draw.

| metric | meaning |
| --- | --- |
| untrained_cosine | cosine similarity of a pair of costs |
| untrained_component, untrained_rank, untrained_order | see ``geometry`` and ``measure`` |

*certificates*, in double precision. An exact case has a broken case as its negative control.

| metric | meaning |
| --- | --- |
| printed_similarity | similarity of a pair that the document prints, by width |
| printed_error | largest difference from the printed similarities, by width |
| cycles | cycles of the fastest wave over the range of the costs, by width |
| chance | P(|cosine| ≥ 0.1394) in a random table, by width |
| upper_share, lower_share | share of ‖e(u) − e(v)‖² due to the higher or lower half of the waves |
| rise | largest increase of similarity from a distance to the next; broken: fast waves |
| spacing_error | largest difference of two ratios of neighbouring frequencies; broken: even |
| dimension_error | surplus width of hybrids and their parts; broken: parts rounded separately |
| rms_error | |RMS of an embedding − 1|; broken: sinusoidal without scaling |
| optimum_error | sum of scipy's assignment − smallest of all n! sums; broken: greedy |
| equivariance_error | change of logits if rows and columns are permuted; broken: full attention |
| relabelling_error | change of logits if costs and table are renamed; broken: sinusoidal |

*learning*: a model of a seed, trained with the loss of every step kept.

| metric | meaning |
| --- | --- |
| early_valid | rate of valid answers on the i.i.d. test: untrained, after a fifth of the steps |
| loss_area | mean of the training loss over all steps |
| loss_kink | median of the absolute second differences of the loss in the later half of the steps |
| loss_roughness | root mean square of these differences |
| loss_relative_kink | loss_kink of the logarithm of the loss |
| reached | rate of optimal answers by row argmax on the i.i.d. test, after the last step |
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Generator, Tensor, nn

from journeylab.models.value_embeddings import (
    Discrete,
    Fourier,
    Hybrid,
    Sinusoidal,
    Waves,
    rms,
    split_width,
)
from journeylab.streams import data_streams
from journeylab.studies.exp8_value_embeddings.data import (
    DATASET,
    assign,
    generate,
    sums_of_all,
    total,
)
from journeylab.studies.exp8_value_embeddings.decoding import decode, greedy, judge
from journeylab.studies.exp8_value_embeddings.geometry import (
    Vectors,
    chance_of,
    effective_rank,
    first_component,
    rank_correlation,
    similarities,
    similarity_by_distance,
)
from journeylab.studies.exp8_value_embeddings.models import Assignment, Recursion, embed, predict
from journeylab.studies.exp8_value_embeddings.settings import (
    CHANCE_WIDTHS,
    COARSE,
    DOCUMENT_WIDTH,
    EXPONENTS,
    FINE,
    HIGHEST,
    MOMENTS,
    PAIRS,
    PRINTED,
    PRINTED_RANDOM,
    SHARES,
    VALUES,
    VARIANTS,
    WIDTHS,
    Case,
    Computation,
    Decoder,
    Job,
    Variant,
)
from journeylab.training import train

if TYPE_CHECKING:
    from journeylab.streams import Streams

COLUMNS = (
    "draw",
    "metric",
    "embedding",
    "pair",
    "d",
    "exponent",
    "case",
    "moment",
    "decoder",
    "value",
)
COSTS = torch.arange(1, HIGHEST + 1, dtype=torch.float64)
ROWS = 200
"""Number of random instances of a check."""

Row = dict[str, str | int | float]
Checks = Iterator[tuple[Case, float]]
"""The values of a certificate, each with its case."""


def compute(job: Computation, streams: Streams | None) -> pd.DataFrame:
    """Tidy rows: draw, metric, embedding, pair, d, exponent, case, moment, decoder, value."""
    if job.computed == "learning":
        assert streams is not None
        rows = list(_record_training(job, streams))
    elif job.computed == "geometry":
        rows = [
            row | {"draw": draw, "embedding": variant}
            for variant in VARIANTS
            for draw in range(job.draws)
            for row in _describe(job, variant, draw)
        ]
    else:
        rows = [*_compare_printed(job), *_chances()]
        rows += [
            {"draw": draw, "metric": metric, "case": case, "value": value}
            for metric, check in _CHECKS.items()
            for draw in range(job.draws)
            for case, value in check(job, Generator().manual_seed(draw))
        ]
    table = pd.DataFrame(rows, columns=list(COLUMNS)).fillna({"draw": 0})
    return table.astype({"draw": "int64", "d": "Int64", "value": "float64"})


def vectors_of(embedding: nn.Module) -> Vectors:
    """The vectors ``(100, d)`` of 1 … 100, in float64."""
    with torch.no_grad():
        return np.asarray(embedding.double()(COSTS).numpy())


def _describe(job: Computation, variant: Variant, draw: int) -> Iterator[Row]:
    generator = Generator().manual_seed(draw)
    vectors = vectors_of(embed(variant, job.model, generator))
    cosines = similarities(vectors)
    for u, v in PAIRS:
        yield {"metric": "untrained_cosine", "pair": f"{u}-{v}", "value": cosines[u - 1, v - 1]}
    yield {"metric": "untrained_component", "value": first_component(vectors)}
    yield {"metric": "untrained_rank", "value": effective_rank(vectors)}
    correlation = rank_correlation(vectors, COSTS.long().numpy())
    yield {"metric": "untrained_order", "value": correlation}


def _compare_printed(job: Computation) -> Iterator[Row]:
    costs = sorted({cost for pair in PRINTED for cost in pair})
    for name, exponent in EXPONENTS.items():
        for d in WIDTHS:
            waves = Sinusoidal(d, exponent=exponent)
            vectors = waves(torch.tensor(costs, dtype=torch.float64)).numpy()
            cosines = similarities(vectors)
            case: Row = {"d": d, "exponent": name}
            error = 0.0
            for (u, v), printed in PRINTED.items():
                value = float(cosines[costs.index(u), costs.index(v)])
                error = max(error, abs(value - printed))
                pair: Row = {"metric": "printed_similarity", "pair": f"{u}-{v}", "value": value}
                yield case | pair
            yield case | {"metric": "printed_error", "value": error}
            fastest = float(waves.frequencies.max()) / (2.0 * math.pi)
            yield case | {"metric": "cycles", "value": fastest}
    for d in (job.model.d, DOCUMENT_WIDTH // 2, DOCUMENT_WIDTH):
        for u, v in (FINE, COARSE):
            share = upper_share(Sinusoidal(d), u, v)
            pair = {"d": d, "exponent": "-i/d", "pair": f"{u}-{v}"}
            yield pair | {"metric": "upper_share", "value": share}
            yield pair | {"metric": "lower_share", "value": 1.0 - share}


def upper_share(waves: Waves, u: int, v: int) -> float:
    """The share of ‖e(u) − e(v)‖² that the higher half of the frequencies contributes."""
    first, second = waves(torch.tensor([u, v], dtype=torch.float64))
    squares = (first - second).square().view(-1, 2).sum(-1)
    upper = waves.frequencies.argsort(descending=True)[: len(squares) // 2]
    return float(squares[upper].sum() / squares.sum())


def _chances() -> Iterator[Row]:
    for d in CHANCE_WIDTHS:
        yield {"metric": "chance", "d": d, "value": chance_of(PRINTED_RANDOM, d)}


def _distance(job: Computation, generator: Generator) -> Checks:
    for d in (job.model.d, DOCUMENT_WIDTH):
        for exponent in EXPONENTS.values():
            yield "exact", _rise(Sinusoidal(d, exponent=exponent))
    yield "broken", _rise(Fourier(job.model.d, slowest=0.5, fastest=32.0))
    yield "broken", _rise(Discrete(job.model.d, size=VALUES, generator=generator))


def _rise(embedding: nn.Module) -> float:
    """The largest increase of similarity from a distance of costs to the next."""
    by_distance = similarity_by_distance(vectors_of(embedding), COSTS.long().numpy())
    return float(np.diff([by_distance[distance] for distance in sorted(by_distance)]).max())


def _spacing(job: Computation, generator: Generator) -> Checks:
    del generator
    for d in (job.model.d, DOCUMENT_WIDTH):
        frequencies = Sinusoidal(d).frequencies
        ends = float(frequencies[0]), float(frequencies[-1])
        even = torch.linspace(*ends, len(frequencies), dtype=torch.float64)
        for case, each in (("exact", frequencies), ("broken", even)):
            ratios = each[1:] / each[:-1]
            yield cast(Case, case), float(ratios.max() - ratios.min())


def _dimensions(job: Computation, generator: Generator) -> Checks:
    for d in (job.model.d, 50, DOCUMENT_WIDTH):
        for share in SHARES.values():
            hybrid = Hybrid(d, sinusoidal=share, size=2, generator=generator)
            yield "exact", abs(hybrid(torch.arange(2)).shape[-1] - d)
    document = Hybrid(DOCUMENT_WIDTH, sinusoidal=0.5, size=2, generator=generator)
    yield "exact", abs(len(document.waves.frequencies) - DOCUMENT_WIDTH // 4)
    yield "exact", abs(document.learned.table.shape[-1] - DOCUMENT_WIDTH // 2)
    yield "broken", abs(split_width(50, 0.25)[0] + 2 * int(50 * 0.75 / 2) - 50)


def _scale(job: Computation, generator: Generator) -> Checks:
    for variant in VARIANTS:
        yield "exact", _off_unit(embed(variant, job.model, generator).double())
    yield "broken", _off_unit(Sinusoidal(job.model.d))


def _off_unit(embedding: nn.Module) -> float:
    with torch.no_grad():
        return abs(float(rms(embedding(COSTS))) - 1.0)


def _optimum(job: Computation, generator: Generator) -> Checks:
    n = job.data.n
    costs = torch.randint(1, HIGHEST + 1, (ROWS, n, n), generator=generator).numpy()
    least = sums_of_all(costs).min(1)
    yield "exact", float(np.abs(total(costs, assign(costs)) - least).max())
    yield "broken", float(np.abs(total(costs, greedy(costs)) - least).max())


def _equivariance(job: Computation, generator: Generator) -> Checks:
    n = job.data.n
    shown = torch.randint(1, HIGHEST + 1, (ROWS // 10, n, n), generator=generator)
    rows, columns = (torch.randperm(n, generator=generator).roll(1) for _ in range(2))
    for case, attention in (("exact", "axial"), ("broken", "full")):
        model = _model(job, "discrete", generator, attention=attention)
        with torch.no_grad():
            permuted, expected = model(shown[:, rows][:, :, columns]), model(shown)
        yield cast(Case, case), _largest(permuted - expected[:, rows][:, :, columns])


def _relabelling(job: Computation, generator: Generator) -> Checks:
    n = job.data.n
    shown = torch.randint(1, HIGHEST + 1, (ROWS // 10, n, n), generator=generator)
    names = torch.arange(VALUES)
    names[1 : HIGHEST + 1] = 1 + torch.randperm(HIGHEST, generator=generator)
    for case, variant in (("exact", "discrete"), ("broken", "sinusoidal")):
        model = _model(job, variant, generator)
        with torch.no_grad():
            before = model(shown)
            if isinstance(model.embedding.inner, Discrete):
                table = model.embedding.inner.table
                table[names] = table.clone()
            yield cast(Case, case), _largest(model(names[shown]) - before)


_CHECKS = {
    "rise": _distance,
    "spacing_error": _spacing,
    "dimension_error": _dimensions,
    "rms_error": _scale,
    "optimum_error": _optimum,
    "equivariance_error": _equivariance,
    "relabelling_error": _relabelling,
}


def _model(
    job: Computation, variant: str, generator: Generator, attention: str = "axial"
) -> Recursion:
    return Recursion(_job(job, variant, attention), generator).double().eval()


def _job(job: Computation, variant: str, attention: str = "axial") -> Job:
    sections = {"data": job.data, "model": job.model, "training": job.training}
    return Job.model_validate({"variant": variant, "attention": attention, **sections})


def _largest(difference: Tensor) -> float:
    return float(difference.abs().max())


@dataclass(frozen=True, eq=False)
class _RecordedAssignment(Assignment):
    """The same problem; it records every loss, and the answers of the first two evaluations."""

    losses: list[float] = field(default_factory=list)
    early: list[dict[Decoder, float]] = field(default_factory=list)

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Float[Tensor, ""]:
        loss = super().loss(model, batch)
        self.losses.append(loss.item())
        return loss

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        if len(self.early) < 2:
            instances = self.select("iid")
            logits = predict(model, instances.shown)
            rates = {d: judge(decode(logits, d), instances)["valid"] for d in _EARLY_DECODERS}
            self.early.append(rates)
        return {}


def roughness(losses: NDArray[np.float64]) -> dict[str, float]:
    """Measures of a loss curve's roughness; they are 0 where the curve is a straight line.

    They are about the later half: before a model has begun to learn, its loss is constant, and
    would count as smooth. Empty if that half has fewer than three losses.
    """
    losses = losses[len(losses) // 2 :]
    if len(losses) < 3:
        return {}
    bends = np.diff(losses, 2)
    return {
        "loss_kink": float(np.median(np.abs(bends))),
        "loss_roughness": float(np.sqrt(np.mean(bends**2))),
        "loss_relative_kink": float(np.median(np.abs(np.diff(np.log(losses), 2)))),
    }


FIRST = 5
"""The first evaluation of a recorded run comes after its steps divided by this."""
_EARLY_DECODERS: tuple[Decoder, ...] = ("token", "row")


def _record_training(job: Computation, streams: Streams) -> Iterator[Row]:
    trained_job = _job(job, job.variant, job.attention)
    table = generate(job.data, data_streams("exp8", DATASET, streams.seed))
    problem = _RecordedAssignment(trained_job, table, streams)
    problem.evaluate(problem.build(streams.generator("init")))
    every = max(1, trained_job.training.steps // FIRST)
    settings = trained_job.training.model_copy(update={"evaluate_every": every})
    with tempfile.TemporaryDirectory() as folder:
        trained = train(problem, settings, streams, Path(folder) / "checkpoint", label=job.variant)
    for moment, rates in zip(MOMENTS, problem.early, strict=False):
        for decoder, rate in rates.items():
            yield {"metric": "early_valid", "moment": moment, "decoder": decoder, "value": rate}
    if trained.status == "finished":
        losses = np.array(problem.losses)
        yield {"metric": "loss_area", "value": float(losses.mean())}
        for metric, value in roughness(losses).items():
            yield {"metric": metric, "value": value}
        model = problem.build(streams.generator("init"))
        model.load_state_dict(trained.state)
        instances = problem.select("iid")
        answers = judge(decode(predict(model, instances.shown), "row"), instances)
        yield {"metric": "reached", "value": answers["optimal"]}
