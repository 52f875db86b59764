"""The model of exp8 and its training problem.

A tiny recursive model: one block f, shared by all updates, with a token per cell of the costs. x is
the embedding of the costs, z a latent and y the answer. z and y start at parameters; with two or
more cycles no gradient reaches these. A cycle is

    z ← f(x + y + z)   (``updates`` times),   y ← f(y + z),

and the logit of a cell is linear in its y. A supervision follows every ``cycles`` cycles. Only the
last of these cycles has a gradient, and z and y are detached between supervisions. The loss is the
mean binary cross-entropy over cells, instances and supervisions, with one optimiser step for all.

f is post-norm: h = norm(u + attention(u)), f(u) = norm(h + MLP(h)), where norm subtracts the mean,
divides by the standard deviation and has no parameters. *Axial* attention: half of the heads attend
to the cells of the same row, the other half to those of the same column. Rows and columns have no
positions, so that permuting them permutes the logits. *Full* attention: heads attend to all cells,
and learned vectors of row and column are added to x.

Source: Jolicoeur-Martineau, Less is more: recursive reasoning with tiny networks, 2025 (there two
layers, and a step of the optimiser at every supervision).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, gelu, layer_norm
from torch.nn.functional import embedding as look_up

from journeylab.models import value_embeddings as values
from journeylab.studies.exp8_value_embeddings.data import Instances, Integers, instances_of
from journeylab.studies.exp8_value_embeddings.decoding import Logits, decode, judge
from journeylab.studies.exp8_value_embeddings.settings import (
    DECODERS,
    HIGHEST,
    SHARES,
    VALUES,
    Job,
    Model,
    Variant,
)

if TYPE_CHECKING:
    from journeylab.streams import Streams
    from journeylab.training import Problem

CURVE = 100
"""Number of i.i.d. test instances for a point of the curve."""
BATCH = 100
"""Number of instances in a forward pass of an evaluation."""
MASKED = -1e30


def embed(variant: Variant, model: Model, generator: Generator) -> values.UnitRms:
    """The embedding of a variant, with RMS ``model.scale`` over 1 … 100 before training.

    In a hybrid, the scale is that of the table, and its sinusoids have RMS ``model.waves``.
    """
    d, reference = model.d, torch.arange(1, HIGHEST + 1)
    inner: nn.Module
    match variant:
        case "discrete":
            inner = values.Discrete(d, size=VALUES, generator=generator)
        case "sinusoidal":
            inner = values.Sinusoidal(d)
        case "sinusoidal-standardised":
            inner = values.Standardised(values.Sinusoidal(d), reference)
        case "hybrid25" | "hybrid50" | "hybrid75":
            share = SHARES[variant]
            inner = values.Hybrid(d, sinusoidal=share, size=VALUES, generator=generator)
        case "fourier-low":
            inner = values.Fourier(d, slowest=0.5, fastest=4.0)
        case "fourier-high":
            inner = values.Fourier(d, slowest=0.5, fastest=32.0)
        case "periodic":
            inner = values.Periodic(d, spread=model.spread, generator=generator)
        case "scalar":
            inner = values.Scalar(d, generator=generator, scale=values.Range(1.0, HIGHEST))
        case "thermometer":
            inner = values.Thermometer(d, levels=VALUES - 1, generator=generator)
    embedding = values.UnitRms(inner, reference)
    with torch.no_grad():
        _scaled(embedding).mul_(model.scale)
    if isinstance(embedding.inner, values.Hybrid):
        embedding.inner.amplitude = model.waves
    return embedding


def _scaled(embedding: values.UnitRms) -> Tensor:
    """What the initial scale multiplies: the drawn vectors, or the factor of fixed waves."""
    inner = embedding.inner
    if isinstance(inner, values.Hybrid):
        inner = inner.learned
    match inner:
        case values.Discrete():
            return inner.table
        case values.Scalar():
            return inner.direction
        case values.Thermometer():
            return inner.steps
        case values.Periodic():
            return inner.weight
        case _:
            return embedding.factor


class RecursiveBlock(nn.Module):
    """The block f of the recursion: attention and MLP, each with residual and norm."""

    mask: Float[Tensor, "heads cells cells"]

    def __init__(self, n: int, sizes: Model, *, axial: bool, generator: Generator) -> None:
        super().__init__()
        d = sizes.d
        self.heads = sizes.heads
        self.project = _linear(d, 3 * d, generator)
        self.output = _linear(d, d, generator)
        self.expand = _linear(d, 2 * d, generator)
        self.contract = _linear(2 * d, d, generator)
        mask = _axial_mask(n, sizes.heads) if axial else torch.zeros(sizes.heads, n**2, n**2)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, u: Float[Tensor, "rows cells d"]) -> Float[Tensor, "rows cells d"]:
        """Return f(u)."""
        width = u.shape[-1]
        q, k, v = self.project(u).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        scores = (q / math.sqrt(q.shape[-1])) @ k.mT + self.mask
        mixed = (torch.softmax(scores, -1) @ v).transpose(1, 2).flatten(-2)
        h = layer_norm(u + self.output(mixed), (width,))
        return layer_norm(h + self.contract(gelu(self.expand(h))), (width,))


class Recursion(nn.Module):
    """The tiny recursive model; ``shown`` holds integers below ``VALUES``."""

    def __init__(self, job: Job, generator: Generator) -> None:
        super().__init__()
        sizes, n = job.model, job.data.n
        self.sizes = sizes
        self.register_buffer("numbers", torch.arange(VALUES), persistent=False)
        self.block = RecursiveBlock(n, sizes, axial=job.attention == "axial", generator=generator)
        self.answer = nn.Parameter(torch.randn(sizes.d, generator=generator))
        self.latent = nn.Parameter(torch.randn(sizes.d, generator=generator))
        self.head = _linear(sizes.d, 1, generator)
        self.embedding = embed(job.variant, sizes, generator)
        self.positions = None
        if job.attention == "full":
            drawn = torch.randn(2, n, sizes.d, generator=generator)
            self.positions = nn.Parameter(drawn / math.sqrt(2.0))

    def forward(self, shown: Int[Tensor, "rows n n"]) -> Float[Tensor, "rows n n"]:
        """The logits after the last supervision."""
        *_, last = self.supervised(shown)
        return last

    def supervised(self, shown: Int[Tensor, "rows n n"]) -> Iterator[Float[Tensor, "rows n n"]]:
        """The logits of every supervision, in order."""
        sizes, shape = self.sizes, shown.shape
        x = look_up(shown, self.table())
        if self.positions is not None:
            x = x + self.positions[0][:, None] + self.positions[1]
        x = x.flatten(1, 2)
        y, z = self.answer.expand_as(x), self.latent.expand_as(x)
        for _ in range(sizes.supervision):
            for cycle in range(1, sizes.cycles + 1):
                with nullcontext() if cycle == sizes.cycles else torch.no_grad():
                    for _ in range(sizes.updates):
                        z = self.block(x + y + z)
                    y = self.block(y + z)
            yield self.head(y).view(shape)
            y, z = y.detach(), z.detach()

    def table(self) -> Float[Tensor, "values d"]:
        """The vectors of 0 … 150, after ``UnitRms``."""
        vectors: Tensor = self.embedding(self.numbers)
        return vectors


@dataclass(frozen=True, eq=False)
class Assignment:
    """One seed's training problem; ``table`` is its dataset."""

    job: Job
    table: pd.DataFrame
    streams: Streams

    def select(self, split: str) -> Instances:
        """The instances of a split."""
        return instances_of(self.table, self.job.data.n, split)

    @cached_property
    def train(
        self,
    ) -> tuple[Int[Tensor, "instances n n"], Float[Tensor, "instances n n"]]:
        """The shown numbers, and targets: 1 for an assigned cell, 0 for any other."""
        instances = self.select("train")
        cells = torch.eye(self.job.data.n)[torch.tensor(instances.columns)]
        return torch.tensor(instances.shown), cells

    @cached_property
    def watched(self) -> Instances:
        """The instances on which the curve is measured."""
        return Instances(*(part[:CURVE] for part in self.select("iid")))

    @property
    def tokens_per_step(self) -> int:
        """Number of cells that a step supervises."""
        return self.job.training.rows * self.job.data.n**2

    def build(self, generator: Generator) -> nn.Module:
        """A new model, initialised from ``generator`` only."""
        return Recursion(self.job, generator)

    def batch(self, step: int, order: Generator, dropout: Generator) -> dict[str, Tensor]:
        """One step's instances, drawn uniformly with replacement."""
        del step, dropout
        shown, cells = self.train
        rows = torch.randint(len(shown), (self.job.training.rows,), generator=order)
        return {"shown": shown[rows], "cells": cells[rows]}

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Float[Tensor, ""]:
        """Mean binary cross-entropy over cells and supervisions."""
        assert isinstance(model, Recursion)
        logits = torch.stack(list(model.supervised(batch["shown"])))
        return binary_cross_entropy_with_logits(logits, batch["cells"].expand_as(logits))

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """For the curve: rates of valid and of optimal answers, by decoder."""
        logits = predict(model, self.watched.shown)
        curve: dict[str, float] = {}
        for decoder in DECODERS:
            rates = judge(decode(logits, decoder), self.watched)
            curve |= {f"{name}_{decoder}": rates[name] for name in ("valid", "optimal")}
        return curve

    def flops_per_step(self, model: nn.Module) -> float:
        """Floating-point operations of the products of a step.

        A block has 8d² multiply-adds per cell, and 2Nd for attention over N cells. A backward pass,
        which only the last cycle has, counts twice.
        """
        sizes, cells = self.job.model, self.job.data.n**2
        products = 8 * sizes.d**2 + 2 * cells * sizes.d
        updates = sizes.supervision * (sizes.updates + 1)
        return 2.0 * self.tokens_per_step * products * updates * (sizes.cycles + 2)


def problem(job: Job, dataset: pd.DataFrame, streams: Streams) -> Problem:
    """The training problem of one seed; ``dataset`` is the result of :func:`data.generate`."""
    return Assignment(job, dataset, streams)


def predict(model: nn.Module, shown: Integers) -> Logits:
    """The logits ``(instances, n, n)`` of all cells, after the last supervision."""
    device = next(model.parameters()).device
    with torch.no_grad():
        parts = [model(part.to(device)).cpu() for part in torch.tensor(shown).split(BATCH)]
    return torch.cat(parts).numpy()


def _linear(inputs: int, outputs: int, generator: Generator) -> nn.Linear:
    """y = x Wᵀ + b with W from N(0, 1/inputs) and b = 0."""
    layer = nn.Linear(inputs, outputs)
    with torch.no_grad():
        layer.weight.normal_(std=inputs**-0.5, generator=generator)
        layer.bias.zero_()
    return layer


def _axial_mask(n: int, heads: int) -> Float[Tensor, "heads cells cells"]:
    row, column = torch.arange(n**2) // n, torch.arange(n**2) % n
    same = torch.stack((row[:, None] == row, column[:, None] == column)).float()
    return ((1.0 - same) * MASKED).repeat_interleave(heads // 2, 0)
