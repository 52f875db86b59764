"""The models of exp1 and their training problem.

    h_t = R_{x_t} h_{t−1} + J·v_{x_t},   h_0 = u,   logits W h_t + b at every prefix

J = 0 is the product state, J = 1 journey aggregation. R_a and R_b come from one family:

    orthogonal   exp(S − Sᵀ)                            S ~ N(0, 1)/√d
    linear       free                                   R = I + 0.3·N(0, 1)/√d at the start
    toral        turns of d/2 planes                    angles U(−π, π)
    complex      the same, times sigmoid(ρ) per plane   ρ ~ N(4, 1)
    real         diag tanh(r)                           r ~ N(0, 1)
    diagonal     free                                   R = diag(1 + 0.3·N(0, 1)) at the start

`Model.initial_scale` multiplies S, the deviations from I, the angles and r at the start. u and v ~
N(0, 1); W and b ~ U(−1, 1)/√d at the start. The operators of the last four families commute.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import torch
from jaxtyping import Float, Int8, UInt8
from torch import Generator, Tensor, nn
from torch.nn.functional import log_softmax

from journeylab.operators.chain import chain_states
from journeylab.operators.orthogonal import exponential
from journeylab.operators.toral import plane_turns
from journeylab.studies.exp1_group_languages.data import ALPHABET, PADDING, lay_out
from journeylab.studies.exp1_group_languages.settings import LONGEST, SHORTEST, Job, Model
from journeylab.studies.exp1_group_languages.tasks import (
    TASKS,
    UNLABELLED,
    Task,
    label_prefixes,
)

if TYPE_CHECKING:
    from journeylab.streams import Streams
    from journeylab.training import Problem

LETTERS = len(ALPHABET)


class Operators(nn.Module):
    """The operators R_a and R_b of one family, computed from free parameters."""

    def __init__(self, family: str, sizes: Model, generator: Generator) -> None:
        super().__init__()
        self.family = family
        d, planes, scale = sizes.d, sizes.d // 2, sizes.initial_scale
        # Drawn for every family, so that later draws do not depend on the family.
        normal = torch.randn(LETTERS, d, d, generator=generator) / math.sqrt(d)
        uniform = torch.rand(LETTERS, planes, generator=generator)
        if family == "orthogonal":
            self.square = nn.Parameter(scale * normal)
        elif family == "linear":
            self.matrix = nn.Parameter(torch.eye(d) + scale * sizes.linear_scale * normal)
        elif family == "real":
            self.entries = nn.Parameter(scale * torch.randn(LETTERS, d, generator=generator))
        elif family == "diagonal":
            spread = scale * sizes.linear_scale * torch.randn(LETTERS, d, generator=generator)
            self.entries = nn.Parameter(1.0 + spread)
        else:
            self.angles = nn.Parameter(scale * math.pi * (2.0 * uniform - 1.0))
        if family == "complex":
            spread = torch.randn(LETTERS, planes, generator=generator)
            self.radii = nn.Parameter(sizes.radius_logit + spread)

    def forward(self) -> Float[Tensor, "2 d d"]:
        """Return R_a and R_b."""
        match self.family:
            case "orthogonal":
                return exponential(self.square)
            case "linear":
                return self.matrix
            case "real":
                return torch.diag_embed(self.entries.tanh())
            case "diagonal":
                return torch.diag_embed(self.entries)
            case "toral":
                return plane_turns(self.angles)
            case _:
                return plane_turns(self.angles, self.radii.sigmoid())


class Recogniser(nn.Module):
    """The model: a state moved by operators, and a linear readout of the state."""

    def __init__(self, job: Job, classes: int, generator: Generator) -> None:
        super().__init__()
        d = job.model.d
        start = torch.randn(d, generator=generator)
        inputs = torch.randn(LETTERS, d, generator=generator)
        weight, bias = (
            torch.rand(classes, d, generator=generator),
            torch.rand(classes, generator=generator),
        )
        self.start = nn.Parameter(start)
        self.inputs = nn.Parameter(inputs) if job.form == "aggregation" else None
        self.weight = nn.Parameter((2.0 * weight - 1.0) / math.sqrt(d))
        self.bias = nn.Parameter((2.0 * bias - 1.0) / math.sqrt(d))
        self.operators = Operators(job.family, job.model, generator)

    def states(self, words: UInt8[Tensor, "strings length"]) -> Float[Tensor, "d length strings"]:
        """Return h_1 … h_T of every string; a letter other than 0 and 1 sets the state to 0."""
        return chain_states(self.operators(), self.start, words.mT, self.inputs)

    def read(self, states: Float[Tensor, "d ..."]) -> Float[Tensor, "classes ..."]:
        """Return the logits W h + b."""
        logits = torch.addmm(self.bias[:, None], self.weight, states.flatten(1))
        return logits.view(-1, *states.shape[1:])

    def forward(
        self, words: UInt8[Tensor, "strings length"]
    ) -> Float[Tensor, "classes length strings"]:
        """Return the logits of every prefix."""
        return self.read(self.states(words))


class LabelledWords(NamedTuple):
    """Words and the labels of their prefixes."""

    words: UInt8[Tensor, "strings length"]
    labels: Int8[Tensor, "strings length"]


@dataclass(frozen=True, eq=False)
class Recognition:
    """One seed's training problem: to label every prefix of a string."""

    job: Job
    table: pd.DataFrame
    streams: Streams

    @property
    def task(self) -> Task:
        """The automaton to learn."""
        return TASKS[self.job.task]

    @cached_property
    def train(self) -> LabelledWords:
        """The training strings."""
        return self._select("train")

    @cached_property
    def validation(self) -> LabelledWords:
        """The strings behind the learning curve."""
        return self._select("validation")

    @property
    def tokens_per_step(self) -> int:
        """Labelled prefixes per step, averaged over the curriculum and the strings."""
        training = self.job.training
        seen = (self.train.labels != UNLABELLED).double().mean(0).cumsum(0)
        cuts = [self.cut(step) for step in range(1, training.steps + 1)]
        return round(training.batch * float(seen[torch.tensor(cuts) - 1].mean()))

    def cut(self, step: int) -> int:
        """The length that strings are cut to: grows linearly from SHORTEST, then stays LONGEST."""
        growing = self.job.training.curriculum * self.job.training.steps
        if step >= growing:
            return LONGEST
        return SHORTEST + math.floor((LONGEST + 1 - SHORTEST) * (step - 1) / growing)

    def build(self, generator: Generator) -> nn.Module:
        """A fresh model, initialised from ``generator`` only."""
        return Recogniser(self.job, self.task.classes, generator)

    def batch(self, step: int, order: Generator, dropout: Generator) -> dict[str, Tensor]:
        """One step's strings, drawn uniformly with replacement and cut."""
        del dropout  # the model has none
        rows = torch.randint(len(self.train.words), (self.job.training.batch,), generator=order)
        length = self.cut(step)
        return {
            name: column.index_select(0, rows)[:, :length]
            for name, column in self.train._asdict().items()
        }

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Float[Tensor, ""]:
        """Mean cross-entropy over the labelled prefixes."""
        return _mean_loss(model(batch["words"]), batch["labels"])

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Loss and accuracy over the labelled prefixes of the validation strings."""
        device = next(model.parameters()).device
        words, labels = (column.to(device) for column in self.validation)
        logits = model(words)
        right = (logits.argmax(0) == labels.mT)[labels.mT != UNLABELLED]
        return {
            "loss": float(_mean_loss(logits, labels)),
            "prefix_accuracy": float(right.float().mean()),
        }

    def flops_per_step(self, model: nn.Module) -> float:
        """Floating-point operations of the matrix products of a step, backward included (×3).

        A letter costs one operator and one readout. Every operator counts as a d×d matrix, since
        the operators of all families are applied as matrices.
        """
        d, training = self.job.model.d, self.job.training
        steps = range(1, training.steps + 1)
        letters = training.batch * sum(map(self.cut, steps)) / training.steps
        return 3.0 * 2.0 * letters * (d * d + d * self.task.classes)

    def _select(self, split: str) -> LabelledWords:
        kind = "halved" if self.task.halved else "uniform"
        rows = self.table[(self.table["split"] == split) & (self.table["kind"] == kind)]
        words = lay_out(rows["word"])
        ended = words == PADDING
        labels = label_prefixes(self.task, words * ~ended)
        labels[ended] = UNLABELLED
        return LabelledWords(*(torch.from_numpy(columns.T.copy()) for columns in (words, labels)))


def problem(job: Job, dataset: pd.DataFrame, streams: Streams) -> Problem:
    """The training problem of one seed; ``dataset`` as :func:`data.generate` makes it."""
    return Recognition(job, dataset, streams)


def _mean_loss(logits: Tensor, labels: Tensor) -> Tensor:
    flat = labels.mT.flatten()
    labelled = flat != UNLABELLED
    targets = flat.clamp(min=0).long().unsqueeze(0)
    likelihood = log_softmax(logits.flatten(1), 0).gather(0, targets).squeeze(0)
    return -torch.where(labelled, likelihood, 0.0).sum() / labelled.sum().clamp(min=1)
