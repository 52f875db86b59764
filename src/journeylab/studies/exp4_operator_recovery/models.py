"""The character model of exp4, and its training problem.

One pre-LN block of width d with one attention head predicts the next character. Operators carry
keys and values from one position to a later one. There are three kinds::

    one     a single R for all positions, T_ij = R^{i−j}
    each    R_1 … R_{T−1}, one per position, T_ij = R_i ⋯ R_{j+1}
    fixed   a single R that is not trained

Two penalties may be added to the loss: λ times the mean of ‖RᵀR − I‖², and λ times the squared
normalised commutator of the deviations from the identity (:func:`commutator`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy, embedding

from journeylab.datasets.shakespeare import LanguageProblem, Windows
from journeylab.models.transformer import Affine, TransformerBlock
from journeylab.studies.exp4_operator_recovery.settings import Job, Model
from journeylab.studies.exp4_operator_recovery.transport import (
    BLOCK,
    attend,
    start,
    transports,
)

if TYPE_CHECKING:
    from journeylab.streams import Streams
    from journeylab.training import Problem

WINDOWS = 256
"""Windows per batch in evaluation, where no gradient is needed."""


class JourneyBlock(TransformerBlock):
    """A pre-LN block whose keys and values are carried by operators, rotations or not."""

    def carry(
        self,
        x: Float[Tensor, "rows length d"],
        carried_by: Float[Tensor, "blocks BLOCK BLOCK+1 d d"],
    ) -> Float[Tensor, "rows length d"]:
        """Attention and MLP with their residual connections; ``carried_by`` as `transports`."""
        q, k, v = self.project(self.attention_norm(x)).chunk(3, -1)
        x = x + self.output(attend(q, k, v, carried_by))
        return x + self.feed(x)


class CharacterModel(nn.Module):
    """Embedding, one block, norm and readout; weights as in ``journeylab.models.transformer``."""

    operators: Tensor

    def __init__(
        self, variant: str, kind: str, letters: int, sizes: Model, generator: Generator
    ) -> None:
        super().__init__()
        d, count = sizes.d, sizes.length - 1 if kind == "each" else 1
        self.embedding = nn.Parameter(torch.randn(letters, d, generator=generator))
        self.block = JourneyBlock(d, 1, True, "softmax", generator)
        self.norm = nn.LayerNorm(d)
        self.head = Affine(d, letters, 0.02, generator)
        with torch.no_grad():
            for value in self.parameters():
                if value.dim() > 1:  # not norms and biases, whose initial values are not drawn
                    value.mul_(sizes.initial_scale)
        # Drawn last, so that all other weights are the same in every arm of a seed.
        first = start(variant, count, d, sizes.spread * sizes.initial_scale, generator)
        if kind == "fixed":
            self.register_buffer("operators", first)
        else:
            self.operators = nn.Parameter(first)

    def forward(self, characters: Int[Tensor, "rows length"]) -> Float[Tensor, "rows length V"]:
        """Logits of the next character at every position; ``V`` is the size of the alphabet."""
        carried_by = transports(self.operators, characters.shape[1])
        x = self.block.carry(embedding(characters, self.embedding), carried_by)
        logits: Tensor = self.head(self.norm(x))
        return logits


def orthogonality(operators: Float[Tensor, "count d d"]) -> Float[Tensor, ""]:
    """Mean of ‖RᵀR − I‖² over the operators (Frobenius norm)."""
    identity = torch.eye(operators.shape[-1], dtype=operators.dtype, device=operators.device)
    return (operators.mT @ operators - identity).square().sum((-2, -1)).mean()


def commutator(operators: Float[Tensor, "count d d"]) -> Float[Tensor, ""]:
    """Σ‖A_s A_t − A_t A_s‖² / (2 Σ‖A_s‖²‖A_t‖²) over pairs s ≠ t of A = R − I: from 0 to 1.

    Subtracting I changes no commutator; it makes the denominator measure the distance from I.
    The upper bound 1 is by Böttcher and Wenzel, The Frobenius norm and the commutator, 2008.
    """
    count, d, _ = operators.shape
    away = operators - torch.eye(d, dtype=operators.dtype, device=operators.device)
    columns = away.permute(1, 0, 2).reshape(d, count * d)
    products = (away.reshape(count * d, d) @ columns).view(count, d, count, d)
    difference = products - products.transpose(0, 2)
    sizes = away.square().sum((-2, -1))
    return difference.square().sum() / (2.0 * (sizes.sum().square() - sizes.square().sum()))


@dataclass(frozen=True, eq=False)
class RecoveryProblem(LanguageProblem):
    """One seed's training problem: predict the next character, with operators in attention."""

    job: Job

    def build(self, generator: Generator) -> nn.Module:
        """A fresh model, initialised from ``generator`` only."""
        job, letters = self.job, len(self.seen.alphabet)
        return CharacterModel(job.variant, job.operators, letters, job.model, generator)

    def batch(self, step: int, order: Generator, dropout: Generator) -> dict[str, Tensor]:
        """Windows of the training passages, the same for all arms of a seed at the same step."""
        del step, dropout  # neither a curriculum nor dropout
        drawn = self.seen.draw(self.job.training.rows, self.job.model.length, order)
        return drawn._asdict()

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Float[Tensor, ""]:
        """Mean cross-entropy in nats per character, plus the penalties."""
        assert isinstance(model, CharacterModel)
        loss = cross_entropy(model(batch["inputs"]).flatten(0, 1), batch["targets"].flatten())
        if self.job.orthogonality:
            loss = loss + self.job.orthogonality * orthogonality(model.operators)
        if self.job.commutator:
            loss = loss + self.job.commutator * commutator(model.operators)
        return loss

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Loss on a sample of the held-out windows."""
        return {"loss": mean_loss(model, self.curve_windows())}

    def flops_per_step(self, model: nn.Module) -> float:
        """Floating-point operations of the matrix products of a step, backward included (×3)."""
        assert isinstance(model, CharacterModel)
        d, length, rows = self.job.model.d, self.job.model.length, self.job.training.rows
        position_wise = rows * length * (12 * d**2 + d * len(self.seen.alphabet))
        near = rows * length * BLOCK * (d**2 + 2 * d)
        far = rows * length * (length - BLOCK) // 2 * (d**2 // BLOCK + 2 * d)
        products = len(model.operators) * BLOCK * d**3
        return 3.0 * 2.0 * (position_wise + 2 * (near + far) + products)


def problem(job: Job, dataset: pd.DataFrame, streams: Streams) -> Problem:
    """The training problem of one seed; ``dataset`` comes from :func:`data.generate`."""
    return RecoveryProblem(job, dataset, streams)


def mean_loss(model: nn.Module, windows: Windows) -> float:
    """Mean cross-entropy over all characters of the windows, in nats per character."""
    device = next(model.parameters()).device
    total = 0.0
    for inputs, targets in zip(*(part.split(WINDOWS) for part in windows), strict=True):
        logits = model(inputs.to(device)).flatten(0, 1)
        total += float(cross_entropy(logits, targets.to(device).flatten(), reduction="sum"))
    return total / windows.targets.numel()
