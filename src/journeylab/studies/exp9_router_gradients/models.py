"""The language model of exp9, and what a training job asks of it.

Characters and their places are embedded; in every block each head of the attention sends each token
to one of K timelines, whose past it attends to; what is learned is next to each other's character.
Variants are estimators. *soft* mixes all timelines. The others send tokens to one: in training in
the form that computes all scores and masks them, which seeds can share (sorting takes other shapes
for every seed, and `torch.func.vmap` has one), and otherwise in blocks, which is the same function
with the same gradients, those with respect to the timelines that are taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy, embedding, gelu

from journeylab.datasets.shakespeare import Passages, Windows
from journeylab.models.estimators import (
    Annealing,
    Estimator,
    GumbelSoftmax,
    Soft,
    StraightThrough,
    draw_gumbel,
    harden,
)
from journeylab.models.hypergraph import (
    HyperGraphAttention,
    RoutedAttention,
    attend_masked,
    attend_softly,
    attend_sparsely,
)
from journeylab.models.transformer import Affine
from journeylab.studies.exp9_router_gradients.settings import Job, Model

if TYPE_CHECKING:
    from journeylab.streams import Streams
    from journeylab.training import Problem

ANNEALED = 0.4
"""The share of the steps over which the temperature falls."""
TAU = 0.5
CURVE_WINDOWS = 256
"""Held-out windows behind a point of the curve."""
WINDOWS = 64
"""Windows that are read at once where no gradient is needed."""

Router = Callable[[Tensor, int], Tensor]
"""Logits of a layer's routes, and which layer → its routes."""


class RoutedBlock(nn.Module):
    """x ← x + HyperGraphAttention(LN x), then x ← x + MLP(LN x), a GELU between d → 4d → d."""

    def __init__(self, sizes: Model, generator: Generator) -> None:
        super().__init__()
        d = sizes.d
        self.attention_norm = nn.LayerNorm(d)
        self.attention = HyperGraphAttention(d, sizes.heads, sizes.timelines, generator=generator)
        self.mlp_norm = nn.LayerNorm(d)
        self.expand = Affine(d, 4 * d, d**-0.5, generator)
        self.contract = Affine(4 * d, d, (4 * d) ** -0.5, generator)

    def forward(
        self,
        x: Float[Tensor, "rows length d"],
        router: Callable[[Tensor], Tensor],
        form: RoutedAttention,
    ) -> Float[Tensor, "rows length d"]:
        """Apply the block."""
        normed = self.attention_norm(x)
        x = x + self.attention(normed, router(self.attention.logits(normed)), form)
        fed: Tensor = self.contract(gelu(self.expand(self.mlp_norm(x))))
        return x + fed


class RoutedModel(nn.Module):
    """Embeddings of characters and places, routed blocks, norm and readout."""

    def __init__(self, letters: int, sizes: Model, generator: Generator) -> None:
        super().__init__()
        d = sizes.d
        self.embedding = nn.Parameter(torch.randn(letters, d, generator=generator))
        self.places = nn.Parameter(torch.randn(sizes.length, d, generator=generator))
        self.blocks = nn.ModuleList(RoutedBlock(sizes, generator) for _ in range(sizes.layers))
        self.norm = nn.LayerNorm(d)
        self.head = Affine(d, letters, 0.02, generator)

    def forward(
        self, characters: Int[Tensor, "rows length"], router: Router, form: RoutedAttention
    ) -> Float[Tensor, "rows length V"]:
        """Logits of the characters that follow."""
        x = embedding(characters, self.embedding) + self.places[: characters.shape[1]]
        for layer, block in enumerate(self.blocks):
            x = block(x, lambda logits, layer=layer: router(logits, layer), form)
        logits: Tensor = self.head(self.norm(x))
        return logits


@dataclass(frozen=True, eq=False)
class Language:
    """One seed's training problem: windows from anywhere in the passages that it may see."""

    job: Job
    table: pd.DataFrame
    streams: Streams

    @cached_property
    def seen(self) -> Passages:
        """What is trained on."""
        return Passages.of(self.table, "train")

    @cached_property
    def held_out(self) -> Passages:
        """What is not."""
        return Passages.of(self.table, "held-out")

    @property
    def tokens_per_step(self) -> int:
        """Characters that a step predicts."""
        return self.job.training.rows * self.job.model.length

    @property
    def form(self) -> RoutedAttention:
        """How routes are followed in training."""
        return attend_softly if self.job.variant == "soft" else attend_masked

    def build(self, generator: Generator) -> nn.Module:
        """A fresh model, initialised from ``generator`` only."""
        return RoutedModel(len(self.seen.alphabet), self.job.model, generator)

    def batch(self, step: int, order: Generator, dropout: Generator) -> dict[str, Tensor]:
        """Windows of the training passages, the same for all variants; routes' noise if it is used.

        Noise comes from the stream of what else is random in a forward pass, dropout's.
        """
        rows = self.job.training.rows
        drawn = self.seen.draw(rows, self.job.model.length, order)._asdict()
        return drawn | self.noise(rows, step, dropout)

    def noise(self, rows: int, step: int, generator: Generator) -> dict[str, Tensor]:
        """What the estimator of a step needs besides logits."""
        sizes = self.job.model
        tempered = self.temper(step)
        if tempered is None:
            return {}
        shape = (sizes.layers, rows, sizes.heads, sizes.length, sizes.timelines)
        return {
            "noise": draw_gumbel(torch.empty(shape), 1, generator)[0],
            "tau": torch.tensor(tempered.tau),
            "volume": torch.tensor(tempered.volume),
        }

    def temper(self, step: int) -> GumbelSoftmax | None:
        """The temperature and volume of a step's noise; None: without noise."""
        if self.job.variant == "annealing":
            return Annealing(round(ANNEALED * self.job.training.steps)).at(step)
        return GumbelSoftmax(TAU) if self.job.variant == "gumbel-0.5" else None

    def router(self, drawn: dict[str, Tensor]) -> Router:
        """Routes as they are in training, with what was drawn."""
        estimator: Estimator = Soft() if self.job.variant == "soft" else StraightThrough()
        if "noise" in drawn:
            estimator = GumbelSoftmax(drawn["tau"], drawn["volume"])

        def choose(logits: Tensor, layer: int) -> Tensor:
            noise = drawn["noise"][layer] if "noise" in drawn else torch.zeros_like(logits)
            return estimator.choose(logits, noise[None]).sample[0]

        return choose

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        """Mean cross-entropy in nats per character."""
        logits = model(batch["inputs"], self.router(batch), self.form)
        return cross_entropy(logits.flatten(0, 1), batch["targets"].flatten())

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Perplexity of some held-out windows, with hard routes."""
        windows = self.held_out.read(self.job.model.length)
        every = max(1, len(windows.inputs) // CURVE_WINDOWS)
        chosen = Windows(*(part[::every] for part in windows))
        return {"perplexity": perplexity(model, chosen, follow_hard)}

    def flops_per_step(self, model: nn.Module) -> float:
        """Floating-point operations of the matrix products of a step, backward included (×3)."""
        sizes, tokens = self.job.model, self.tokens_per_step
        d, routes = sizes.d, sizes.heads * sizes.timelines
        mixed = sizes.timelines if self.job.variant == "soft" else 1
        each = 12 * d**2 + d * routes + sizes.length * d * (1 + mixed)
        return 3.0 * 2.0 * tokens * (sizes.layers * each + d * len(self.seen.alphabet))


def problem(job: Job, dataset: pd.DataFrame, streams: Streams) -> Problem:
    """The training problem of one seed; ``dataset`` as :func:`data.generate` makes it."""
    return Language(job, dataset, streams)


def follow_hard(model: nn.Module, inputs: Tensor) -> Tensor:
    """Read as in use: every token goes where its largest logit says, and attends in blocks."""
    logits: Tensor = model(inputs, lambda logits, layer: harden(logits), attend_sparsely)
    return logits


def perplexity(
    model: nn.Module, windows: Windows, read: Callable[[nn.Module, Tensor], Tensor]
) -> float:
    """exp of the mean cross-entropy per character of how a model reads."""
    device = next(model.parameters()).device
    total = 0.0
    for inputs, targets in zip(*(part.split(WINDOWS) for part in windows), strict=True):
        logits = read(model, inputs.to(device)).flatten(0, 1)
        total += float(cross_entropy(logits, targets.to(device).flatten(), reduction="sum"))
    return math.exp(total / windows.targets.numel())
