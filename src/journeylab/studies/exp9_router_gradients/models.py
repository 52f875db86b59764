"""The language model of exp9, and its training problem.

The model predicts the next character. Characters and positions are embedded. In every block, each
attention head sends each token to one of K timelines, and the token attends to the past of that
timeline. Variants are gradient estimators. *soft* mixes all timelines; the others choose one.

Hard attention has two forms with the same values, and the same gradients with respect to the chosen
timelines. Training computes all scores and masks them, because seeds trained at once by
`torch.func.vmap` need equal shapes. Evaluation sorts tokens into blocks, whose shapes differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy, embedding, gelu

from journeylab.datasets.shakespeare import LanguageProblem, Windows
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
"""Share of the steps over which the temperature falls."""
TAU = 0.5
WINDOWS = 64
"""Windows per batch in evaluation, where no gradient is needed."""

Router = Callable[[Tensor, int], Tensor]
"""Maps the routing logits ``[rows, heads, length, K]`` of a layer, and its index, to routes of the
same shape."""


class RoutedBlock(nn.Module):
    """x ← x + HyperGraphAttention(LN x), then x ← x + MLP(LN x): d → 4d, GELU, 4d → d."""

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
    """Embeddings of characters and positions, routed blocks, norm and readout."""

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
        """Logits of the next character at every position; ``V`` is the size of the alphabet."""
        x = embedding(characters, self.embedding) + self.places[: characters.shape[1]]
        for layer, block in enumerate(self.blocks):
            x = block(x, lambda logits, layer=layer: router(logits, layer), form)
        logits: Tensor = self.head(self.norm(x))
        return logits


@dataclass(frozen=True, eq=False)
class RoutedProblem(LanguageProblem):
    """One seed's training problem: predict the next character, with routed attention."""

    job: Job

    @property
    def form(self) -> RoutedAttention:
        """The form of attention in training."""
        return attend_softly if self.job.variant == "soft" else attend_masked

    def build(self, generator: Generator) -> nn.Module:
        """A fresh model, initialised from ``generator`` only."""
        return RoutedModel(len(self.seen.alphabet), self.job.model, generator)

    def batch(self, step: int, order: Generator, dropout: Generator) -> dict[str, Tensor]:
        """Windows of the training passages, the same for all variants, and the routing noise.

        Noise is drawn from the dropout stream, as other randomness of a forward pass.
        """
        rows = self.job.training.rows
        drawn = self.seen.draw(rows, self.job.model.length, order)._asdict()
        return drawn | self.noise(rows, step, dropout)

    def noise(self, rows: int, step: int, generator: Generator) -> dict[str, Tensor]:
        """Noise, temperature and volume of a step; empty for estimators without noise."""
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
        """The Gumbel-softmax of a step, with its temperature and volume; None without noise."""
        if self.job.variant == "annealing":
            return Annealing(round(ANNEALED * self.job.training.steps)).at(step)
        return GumbelSoftmax(TAU) if self.job.variant == "gumbel-0.5" else None

    def router(self, drawn: dict[str, Tensor]) -> Router:
        """The router in training, given the result of :meth:`noise`."""
        estimator: Estimator = Soft() if self.job.variant == "soft" else StraightThrough()
        if "noise" in drawn:
            estimator = GumbelSoftmax(drawn["tau"], drawn["volume"])

        def choose(logits: Tensor, layer: int) -> Tensor:
            noise = drawn["noise"][layer] if "noise" in drawn else torch.zeros_like(logits)
            return estimator.choose(logits, noise[None]).sample[0]

        return choose

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Float[Tensor, ""]:
        """Mean cross-entropy in nats per character."""
        logits = model(batch["inputs"], self.router(batch), self.form)
        return cross_entropy(logits.flatten(0, 1), batch["targets"].flatten())

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Perplexity of a sample of the held-out windows, with hard routes."""
        return {"perplexity": perplexity(model, self.curve_windows(), follow_hard)}

    def flops_per_step(self, model: nn.Module) -> float:
        """Floating-point operations of the matrix products of a step, backward included (×3)."""
        sizes, tokens = self.job.model, self.tokens_per_step
        d, routes = sizes.d, sizes.heads * sizes.timelines
        mixed = sizes.timelines if self.job.variant == "soft" else 1
        each = 12 * d**2 + d * routes + sizes.length * d * (1 + mixed)
        return 3.0 * 2.0 * tokens * (sizes.layers * each + d * len(self.seen.alphabet))


def problem(job: Job, dataset: pd.DataFrame, streams: Streams) -> Problem:
    """The training problem of one seed; ``dataset`` comes from :func:`data.generate`."""
    return RoutedProblem(job, dataset, streams)


def follow_hard(
    model: nn.Module, inputs: Int[Tensor, "rows length"]
) -> Float[Tensor, "rows length V"]:
    """Logits with hard routes: each token goes to its largest routing logit; attends in blocks."""
    logits: Tensor = model(inputs, lambda logits, layer: harden(logits), attend_sparsely)
    return logits


def perplexity(
    model: nn.Module, windows: Windows, read: Callable[[nn.Module, Tensor], Tensor]
) -> float:
    """exp of the mean cross-entropy per character; ``read`` maps model and inputs to logits."""
    device = next(model.parameters()).device
    total = 0.0
    for inputs, targets in zip(*(part.split(WINDOWS) for part in windows), strict=True):
        logits = read(model, inputs.to(device)).flatten(0, 1)
        total += float(cross_entropy(logits, targets.to(device).flatten(), reduction="sum"))
    return math.exp(total / windows.targets.numel())
