"""The pooling models of exp11, and their training problem.

Symbols → embeddings (+ learned positions) H ``(rows, n, d)`` → pooling to k vectors → one linear
readout, shared by all outputs → symbols. Embeddings and positions are initialised from N(0, 1).

The two outputs of *extremes* have no order: loss and accuracy use the better assignment.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, cast

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy, embedding

from journeylab.models.pooling import (
    AttentionPooling,
    ClusterPooling,
    MeanPooling,
    Pooled,
    SabagPooling,
)
from journeylab.models.transformer import Affine
from journeylab.studies.exp11_sabag_pooling.settings import D, Job
from journeylab.studies.exp11_sabag_pooling.tasks import ALPHABET, OUTPUTS, TARGETS

if TYPE_CHECKING:
    from journeylab.streams import Streams
    from journeylab.training import Problem


class SymbolPairs(NamedTuple):
    """Input symbols and target symbols, as indices into an alphabet."""

    symbols: Int[Tensor, "rows n"]
    targets: Int[Tensor, "rows k"]


class Pooler(nn.Module):
    """Embeddings, a pooling, and a readout shared by all outputs."""

    def __init__(self, job: Job, generator: Generator) -> None:
        super().__init__()
        n, vocabulary = _sizes(job)
        k = OUTPUTS[job.task](n)
        scale = job.model.scale
        self.embedding = nn.Parameter(scale * torch.randn(vocabulary, D, generator=generator))
        self.pooling = _pooling(job, k, generator)
        self.readout = Affine(D, vocabulary, D**-0.5, generator)
        self.positions: nn.Parameter | None = None
        if job.variant.endswith("-positions"):
            self.positions = nn.Parameter(scale * torch.randn(n, D, generator=generator))

    def pool(self, symbols: Int[Tensor, "rows n"], start: Int[Tensor, " rows"]) -> Pooled:
        """The k vectors of every string and their weights; ``start``: first centre of k-means++."""
        h = embedding(symbols, self.embedding)
        if self.positions is not None:
            h = h + self.positions
        if isinstance(self.pooling, ClusterPooling):
            return cast(Pooled, self.pooling(h, start))
        return cast(Pooled, self.pooling(h))

    def forward(
        self, symbols: Int[Tensor, "rows n"], start: Int[Tensor, " rows"]
    ) -> Float[Tensor, "rows k V"]:
        """Logits of the k output symbols; ``V`` is the size of the alphabet."""
        logits: Tensor = self.readout(self.pool(symbols, start).features)
        return logits


@dataclass(frozen=True, eq=False)
class PoolingProblem:
    """One seed's training problem: strings, and the targets of the outputs."""

    job: Job
    table: pd.DataFrame
    streams: Streams

    @cached_property
    def train(self) -> SymbolPairs:
        """The training strings."""
        return self.select("train")

    @cached_property
    def test(self) -> SymbolPairs:
        """The test strings."""
        return self.select("test")

    @cached_property
    def test_start(self) -> Int[Tensor, " rows"]:
        """The first centre of k-means++ in every test string, drawn once per seed."""
        rows, n = self.test.symbols.shape
        return torch.randint(n, (rows,), generator=self.streams.generator("start"))

    def select(self, split: str) -> SymbolPairs:
        """All strings of a split."""
        rows = self.table[self.table["split"] == split]
        alphabet = ALPHABET if self.job.task == "sentence" else "abcdefghijklmnopqrstuvwxyz"
        symbols = _numbered(rows["input"], alphabet)
        if self.job.task == "sentence":
            return SymbolPairs(symbols, _numbered(rows["target"], alphabet))
        return SymbolPairs(symbols, TARGETS[self.job.task](symbols))

    @property
    def tokens_per_step(self) -> int:
        """Outputs per step."""
        n, _ = _sizes(self.job)
        return self._rows * OUTPUTS[self.job.task](n)

    def build(self, generator: Generator) -> nn.Module:
        """A fresh model, initialised from ``generator`` only."""
        return Pooler(self.job, generator)

    def batch(self, step: int, order: Generator, dropout: Generator) -> dict[str, Tensor]:
        """The strings of a step, drawn uniformly with replacement, and their first centres."""
        del step, dropout  # neither a curriculum nor dropout
        symbols, targets = self.train
        rows = torch.randint(len(symbols), (self._rows,), generator=order)
        start = torch.randint(symbols.shape[1], (self._rows,), generator=order)
        return {"symbols": symbols[rows], "targets": targets[rows], "start": start}

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Float[Tensor, ""]:
        """Mean cross-entropy of the outputs, in nats."""
        logits = model(batch["symbols"], batch["start"])
        lost = _losses(logits, batch["targets"])
        if self.job.task == "extremes":
            lost = torch.minimum(lost, _losses(logits, batch["targets"].flip(1)))
        return lost.mean()

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Token accuracy on the test strings, for the training curve."""
        return {"accuracy": float(self.right(model).mean())}

    def right(self, model: nn.Module) -> Float[Tensor, "rows k"]:
        """1 for every correct output on the test strings, 0 otherwise; float64."""
        where = next(model.parameters()).device
        with torch.no_grad():
            logits = model(self.test.symbols.to(where), self.test_start.to(where))
        answers, targets = logits.argmax(-1).cpu(), self.test.targets
        right = answers == targets
        if self.job.task == "extremes":
            other = answers == targets.flip(1)
            better = right.sum(1, keepdim=True) >= other.sum(1, keepdim=True)
            right = torch.where(better, right, other)
        correct: Tensor = right.double()
        return correct

    def flops_per_step(self, model: nn.Module) -> float:
        """Floating-point operations of the matrix products of a step, backward included (×3)."""
        del model
        n, vocabulary = _sizes(self.job)
        k = OUTPUTS[self.job.task](n)
        products = {"kmeans": n * n * D + 2 * k * n * D, "mean": k * n * D}.get(
            self.job.variant, 2 * k * n * D
        )
        if self.job.variant.startswith("pma"):
            products += (3 * n + 3 * k) * D**2
        return 3.0 * 2.0 * self._rows * (products + k * D * vocabulary)

    @property
    def _rows(self) -> int:
        """Strings per step; the sentence is the only string of its dataset."""
        return 1 if self.job.task == "sentence" else self.job.training.rows


def problem(job: Job, dataset: pd.DataFrame, streams: Streams) -> Problem:
    """The training problem of one seed; ``dataset`` comes from :func:`data.generate`."""
    return PoolingProblem(job, dataset, streams)


def _pooling(job: Job, k: int, generator: Generator) -> nn.Module:
    if job.variant.startswith("sabag"):
        return SabagPooling(k, D, temperature=job.model.temperature, generator=generator)
    if job.variant.startswith("pma"):
        return AttentionPooling(k, D, heads=job.model.heads, generator=generator)
    return ClusterPooling(k) if job.variant == "kmeans" else MeanPooling(k)


def _sizes(job: Job) -> tuple[int, int]:
    """The number of inputs, and of different symbols."""
    if job.task == "sentence":
        return 2, len(ALPHABET)
    return job.data.length, job.data.symbols


def _losses(
    logits: Float[Tensor, "rows k V"], targets: Int[Tensor, "rows k"]
) -> Float[Tensor, " rows"]:
    """Mean cross-entropy over the outputs of every row."""
    return cross_entropy(logits.transpose(1, 2), targets, reduction="none").mean(1)


def _numbered(texts: pd.Series[str], alphabet: str) -> Int[Tensor, "rows n"]:
    return torch.tensor([[alphabet.index(sign) for sign in text] for text in texts])
