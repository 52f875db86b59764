"""The models of exp13 and their training problem: one block structure around every mechanism.

Tokens → embedding → blocks of mixer and MLP → logits of every prefix. All mechanisms have the same
width, heads and layers, so that embedding, readout and the states of recurrences are equally
large; the width of the MLP makes the blocks equally large as well. Rows get longer over the first
part of the training. Within a seed, all mechanisms with equal numbers of steps read the same rows
in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn
from torch.nn.functional import log_softmax

from journeylab.datasets.sequences import UNLABELLED, LabelledRows
from journeylab.models.mixers.model import SequenceModel, match_hidden
from journeylab.studies.exp13_published_mixers.data import rows_of, stages
from journeylab.studies.exp13_published_mixers.settings import STAGES, Job, Model, TaskName
from journeylab.studies.exp13_published_mixers.tasks import answers, vocabulary

if TYPE_CHECKING:
    from journeylab.streams import Streams
    from journeylab.training import Problem

BACKWARD = 3.0
"""Operations of a training step over those of a forward pass."""


class RowTensors(NamedTuple):
    """Tokens and labels; UNLABELLED positions have no answer."""

    tokens: Int[Tensor, "rows length"]
    labels: Int[Tensor, "rows length"]


def build_model(
    mechanism: str, task: TaskName, sizes: Model, generator: Generator
) -> SequenceModel:
    """A new model of a mechanism for a task.

    Raises ValueError if no MLP gives a block the parameters of `sizes` within 5 %.
    """
    size = match_hidden(mechanism, sizes.width, sizes.heads, parameters=sizes.parameters)
    return SequenceModel(
        mechanism,
        vocabulary(task),
        answers(task),
        size,
        heads=sizes.heads,
        layers=sizes.layers,
        scale=sizes.scale,
        generator=generator,
    )


@dataclass(frozen=True, eq=False)
class Labelling:
    """One seed's training problem: the answer at every labelled position of a row."""

    job: Job
    table: pd.DataFrame
    streams: Streams

    @cached_property
    def train(self) -> dict[int, RowTensors]:
        """The training rows by length."""
        return {n: as_tensors(rows_of(self.table, "train", n)) for n in self.lengths}

    @cached_property
    def validation(self) -> RowTensors:
        """The rows behind the learning curve."""
        return as_tensors(rows_of(self.table, "validation", self.job.data.length))

    @property
    def lengths(self) -> list[int]:
        """The lengths of training rows."""
        return stages(self.job.data.length)

    @property
    def tokens_per_step(self) -> int:
        """Tokens of a step, averaged over the curriculum; START is one of them."""
        return round(self.job.training.rows * (1.0 + self._mean_length()))

    def length_at(self, step: int) -> int:
        """The length of the rows of a step: grows by stages, then stays the longest."""
        growing = self.job.training.curriculum * self.job.training.steps
        stage = STAGES if step > growing else 1 + int(STAGES * (step - 1) / growing)
        return self.lengths[min(stage, STAGES) - 1]

    def build(self, generator: Generator) -> nn.Module:
        """A new model, initialised from `generator` only."""
        return build_model(self.job.variant, self.job.data.task, self.job.model, generator)

    def batch(self, step: int, order: Generator, dropout: Generator) -> dict[str, Tensor]:
        """Rows of the step's length, drawn uniformly with replacement."""
        del dropout  # the model has none
        rows = self.train[self.length_at(step)]
        chosen = torch.randint(len(rows.tokens), (self.job.training.rows,), generator=order)
        return {name: part[chosen] for name, part in rows._asdict().items()}

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Float[Tensor, ""]:
        """Mean cross-entropy over the labelled positions."""
        return mean_loss(model(batch["tokens"]), batch["labels"])

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Accuracy in the second half of the validation rows."""
        return {"accuracy": accuracy(model, self.validation)}

    def flops_per_step(self, model: nn.Module) -> float:
        """Operations of the matrix products of a step, averaged over the curriculum."""
        sequence = cast(SequenceModel, model)
        each = [
            (1 + n) * sequence.flops_per_token(1 + n) * share for n, share in self._shares().items()
        ]
        return BACKWARD * self.job.training.rows * sum(each)

    def _shares(self) -> dict[int, float]:
        """The share of the steps that reads rows of each length."""
        steps = self.job.training.steps
        drawn = [self.length_at(step) for step in range(1, steps + 1)]
        return {n: drawn.count(n) / steps for n in self.lengths}

    def _mean_length(self) -> float:
        return sum(n * share for n, share in self._shares().items())


def problem(job: Job, dataset: pd.DataFrame, streams: Streams) -> Problem:
    """The training problem of one seed; `dataset` as :func:`data.generate` makes it."""
    return Labelling(job, dataset, streams)


def as_tensors(rows: LabelledRows) -> RowTensors:
    """Rows as tensors of int64."""
    return RowTensors(*(torch.from_numpy(np.ascontiguousarray(part)) for part in rows))


def accuracy(model: nn.Module, rows: RowTensors) -> float:
    """Share of right answers in the second half of the rows; logits with NaN are no answer."""
    device = next(model.parameters()).device
    with torch.no_grad():
        logits = torch.cat([model(part.to(device)).cpu() for part in rows.tokens.split(128)])
    answered = logits.isfinite().all(-1)
    given = torch.where(answered, logits.argmax(-1), UNLABELLED - 1)
    half = 1 + (rows.labels.shape[1] - 1) // 2
    given, labels = given[:, half:], rows.labels[:, half:]
    return float((given == labels)[labels != UNLABELLED].double().mean())


def mean_loss(
    logits: Float[Tensor, "rows length answers"], labels: Int[Tensor, "rows length"]
) -> Float[Tensor, ""]:
    """Mean cross-entropy over the labelled positions."""
    labelled = labels != UNLABELLED
    likelihood = log_softmax(logits, -1).gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    return -torch.where(labelled, likelihood, 0.0).sum() / labelled.sum().clamp(min=1)
