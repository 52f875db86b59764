"""The model of exp8, and what a training job asks of it.

A tiny recursive model: one block f, shared by all updates, on a token for every cell of the costs.
x are the embedded costs, z a latent, y the answer; z and y start at vectors of their own, which
no gradient reaches where there are two cycles or more. A cycle is

    z ← f(x + y + z)   (as often as ``updates`` says),   y ← f(y + z),

and the logit of a cell is linear in its y. After every ``cycles`` cycles, of which the last alone
passes a gradient, the cells are supervised, and z and y go on without one. The loss is the
binary cross-entropy of a cell, its mean over cells, instances and supervisions; one step of the
optimiser follows all of them.

f is post-norm: h = norm(u + attention(u)), f(u) = norm(h + MLP(h)), where norm takes mean and
scale away and learns nothing. *Axial* attention: half of the heads see the cells of the same row,
the other half those of the same column; nothing tells one row from another, so that permuting
rows and columns permutes the logits. *Full* attention sees all cells, and adds learned vectors of
row and column to x.

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
from journeylab.studies.exp8_value_embeddings.data import Instances, Whole, instances_of
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
"""I.i.d. test instances that a point of the curve is measured on."""
ASKED = 100
"""Instances that are asked about at once."""
FORBIDDEN = -1e30


def embed(variant: Variant, model: Model, generator: Generator) -> values.UnitRms:
    """The embedding of a variant, of RMS 1 over the costs 1 … 100 before training."""
    d, reference = model.d, torch.arange(1, HIGHEST + 1)
    inner: nn.Module
    match variant:
        case "discrete" | "discrete-double":
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
    return values.UnitRms(inner, reference)


class Block(nn.Module):
    """f: ``(rows, cells, d)`` to the same, as the module has it."""

    mask: Tensor

    def __init__(self, n: int, sizes: Model, *, axial: bool, generator: Generator) -> None:
        super().__init__()
        d = sizes.d
        self.heads = sizes.heads
        self.project = _map(d, 3 * d, generator)
        self.output = _map(d, d, generator)
        self.expand = _map(d, 2 * d, generator)
        self.contract = _map(2 * d, d, generator)
        mask = _axial_mask(n, sizes.heads) if axial else torch.zeros(sizes.heads, n**2, n**2)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, u: Float[Tensor, "rows cells d"]) -> Float[Tensor, "rows cells d"]:
        """Attend, then think, each with its residual and norm."""
        width = u.shape[-1]
        q, k, v = self.project(u).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        scores = (q / math.sqrt(q.shape[-1])) @ k.mT + self.mask
        mixed = (torch.softmax(scores, -1) @ v).transpose(1, 2).flatten(-2)
        h = layer_norm(u + self.output(mixed), (width,))
        return layer_norm(h + self.contract(gelu(self.expand(h))), (width,))


class Recursion(nn.Module):
    """The tiny recursive model; ``shown`` ``(rows, n, n)`` are whole numbers below ``VALUES``."""

    def __init__(self, job: Job, generator: Generator) -> None:
        super().__init__()
        sizes, n = job.model, job.data.n
        self.sizes = sizes
        self.register_buffer("numbers", torch.arange(VALUES), persistent=False)
        self.block = Block(n, sizes, axial=job.attention == "axial", generator=generator)
        self.answer = nn.Parameter(torch.randn(sizes.d, generator=generator))
        self.latent = nn.Parameter(torch.randn(sizes.d, generator=generator))
        self.head = _map(sizes.d, 1, generator)
        self.embedding = embed(job.variant, sizes, generator)
        self.places = None
        if job.attention == "full":
            drawn = torch.randn(2, n, sizes.d, generator=generator)
            self.places = nn.Parameter(drawn / math.sqrt(2.0))

    def forward(self, shown: Int[Tensor, "rows n n"]) -> Float[Tensor, "rows n n"]:
        """The logits after the last supervision."""
        *_, last = self.supervised(shown)
        return last

    def supervised(self, shown: Int[Tensor, "rows n n"]) -> Iterator[Float[Tensor, "rows n n"]]:
        """The logits at every supervision."""
        sizes, shape = self.sizes, shown.shape
        x = look_up(shown, self.table())
        if self.places is not None:
            x = x + self.places[0][:, None] + self.places[1]
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
        """The vectors of 0 … 150."""
        vectors: Tensor = self.embedding(self.numbers)
        return vectors


@dataclass(frozen=True, eq=False)
class Assignment:
    """One seed's training problem: its instances, and how a model is asked about them."""

    job: Job
    table: pd.DataFrame
    streams: Streams

    def select(self, split: str) -> Instances:
        """The instances of a split."""
        return instances_of(self.table, self.job.data.n, split)

    @cached_property
    def train(self) -> tuple[Tensor, Tensor]:
        """What is shown ``(instances, n, n)``, and 1 where a cell is assigned, 0 elsewhere."""
        instances = self.select("train")
        cells = torch.eye(self.job.data.n)[torch.tensor(instances.columns)]
        return torch.tensor(instances.shown), cells

    @cached_property
    def watched(self) -> Instances:
        """The instances of the curve."""
        return Instances(*(part[:CURVE] for part in self.select("iid")))

    @property
    def tokens_per_step(self) -> int:
        """Cells that a step supervises."""
        return self.job.training.rows * self.job.data.n**2

    def build(self, generator: Generator) -> nn.Module:
        """A fresh model, initialised from ``generator`` only."""
        return Recursion(self.job, generator)

    def batch(self, step: int, order: Generator, dropout: Generator) -> dict[str, Tensor]:
        """One step's instances, drawn uniformly with replacement."""
        del step, dropout
        shown, cells = self.train
        rows = torch.randint(len(shown), (self.job.training.rows,), generator=order)
        return {"shown": shown[rows], "cells": cells[rows]}

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        """Mean binary cross-entropy over cells and supervisions."""
        assert isinstance(model, Recursion)
        logits = torch.stack(list(model.supervised(batch["shown"])))
        return binary_cross_entropy_with_logits(logits, batch["cells"].expand_as(logits))

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """For the curve: rates of valid and of optimal answers, by every decoder."""
        logits = ask(model, self.watched.shown)
        found: dict[str, float] = {}
        for decoder in DECODERS:
            rates = judge(decode(logits, decoder), self.watched)
            found |= {f"{name}_{decoder}": rates[name] for name in ("valid", "optimal")}
        return found

    def flops_per_step(self, model: nn.Module) -> float:
        """Floating-point operations of a step's products: forward, and ×2 more where a gradient is.

        A block takes 8d² multiply-adds per cell, and 2Nd of attention over N cells.
        """
        sizes, cells = self.job.model, self.job.data.n**2
        each = 8 * sizes.d**2 + 2 * cells * sizes.d
        updates = sizes.supervision * (sizes.updates + 1)
        return 2.0 * self.tokens_per_step * each * updates * (sizes.cycles + 2)


def problem(job: Job, dataset: pd.DataFrame, streams: Streams) -> Problem:
    """The training problem of one seed; ``dataset`` as :func:`data.generate` makes it."""
    return Assignment(job, dataset, streams)


def ask(model: nn.Module, shown: Whole) -> Logits:
    """The logits of all cells ``(instances, n, n)``, after the last supervision."""
    device = next(model.parameters()).device
    with torch.no_grad():
        parts = [model(part.to(device)).cpu() for part in torch.tensor(shown).split(ASKED)]
    return torch.cat(parts).numpy()


def _map(inputs: int, outputs: int, generator: Generator) -> nn.Linear:
    """y = x Wᵀ + b with W from N(0, 1/inputs) and b = 0."""
    made = nn.Linear(inputs, outputs)
    with torch.no_grad():
        made.weight.normal_(std=inputs**-0.5, generator=generator)
        made.bias.zero_()
    return made


def _axial_mask(n: int, heads: int) -> Float[Tensor, "heads cells cells"]:
    row, column = torch.arange(n**2) // n, torch.arange(n**2) % n
    same = torch.stack((row[:, None] == row, column[:, None] == column)).float()
    return ((1.0 - same) * FORBIDDEN).repeat_interleave(heads // 2, 0)
