"""The encoders of exp10 and their training problem.

| variant | embedded fields | positions |
| --- | --- | --- |
| sum, one-hot | type, value, node index, as in the document | sinusoids |
| sum-wiring, one-hot-wiring | type, value, node index, both inputs | sinusoids |
| wiring-no-position | as sum-wiring | none |
| wiring-no-node | type, value, both inputs | sinusoids |
| wiring-neither | type, value, both inputs | none |
| wiring-learned | as sum-wiring | learned |
| wiring-no-value | type, node index, both inputs | sinusoids |
| tree | as sum; a child-sum tree LSTM follows the wiring | – |

All are trained by cross-entropy. Within a seed, all variants see the same batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy

from journeylab.models.circuits import (
    DOCUMENTED,
    WIRED,
    ChildSumTree,
    CircuitTransformer,
    Field,
    OneHotFields,
    Positions,
    SummedFields,
)
from journeylab.studies.exp10_circuit_encoders.circuits import LEAVES, Integers, tokens_of
from journeylab.studies.exp10_circuit_encoders.data import circuits_of
from journeylab.studies.exp10_circuit_encoders.settings import Job, Variant, count_answers

if TYPE_CHECKING:
    from journeylab.streams import Streams
    from journeylab.training import Problem


class EncoderForm(NamedTuple):
    """The embedded fields, the kind of positions, and the encoder of a variant."""

    fields: tuple[Field, ...]
    positions: Positions = "sinusoidal"
    encoder: type[SummedFields] | type[OneHotFields] = SummedFields


def _without(*fields: Field) -> tuple[Field, ...]:
    return tuple(field for field in WIRED if field not in fields)


FORMS: dict[Variant, EncoderForm] = {
    "sum": EncoderForm(DOCUMENTED),
    "one-hot": EncoderForm(DOCUMENTED, encoder=OneHotFields),
    "sum-wiring": EncoderForm(WIRED),
    "one-hot-wiring": EncoderForm(WIRED, encoder=OneHotFields),
    "wiring-no-position": EncoderForm(WIRED, "none"),
    "wiring-no-node": EncoderForm(_without("node")),
    "wiring-neither": EncoderForm(_without("node"), "none"),
    "wiring-learned": EncoderForm(WIRED, "learned"),
    "wiring-no-value": EncoderForm(_without("value")),
    "tree": EncoderForm(DOCUMENTED),
}
"""The forms by variant, as in config.yaml."""


class CircuitExamples(NamedTuple):
    """Tokens of circuits, and their answers."""

    tokens: Int[Tensor, "circuits nodes fields"]
    answers: Int[Tensor, " circuits"]


@dataclass(frozen=True, eq=False)
class Circuits:
    """One seed's training problem; ``table`` is its dataset."""

    job: Job
    table: pd.DataFrame
    streams: Streams

    @cached_property
    def train(self) -> CircuitExamples:
        """The training split."""
        return self.select("train")

    @cached_property
    def test(self) -> CircuitExamples:
        """The test split."""
        return self.select("test")

    def select(self, split: str) -> CircuitExamples:
        """All circuits of a split, with the answers of the task."""
        rows = self.table[self.table["split"] == split]
        answers = torch.from_numpy(rows[self.job.task].to_numpy(copy=True))
        return CircuitExamples(torch.from_numpy(tokens_of(circuits_of(rows))), answers)

    @property
    def nodes(self) -> int:
        """Number of nodes of a circuit."""
        return LEAVES + self.job.data.operations

    @property
    def answers(self) -> int:
        """Number of classes."""
        return count_answers(self.job.task, self.job.data.operations)

    @property
    def tokens_per_step(self) -> int:
        """Number of circuits of a step; each has one answer."""
        return self.job.training.rows

    def build(self, generator: Generator) -> nn.Module:
        """A new model, initialised from ``generator`` only."""
        job, form = self.job, FORMS[self.job.variant]
        sizes = job.model
        encoder = form.encoder(sizes.d, form.fields, spread=sizes.spread, generator=generator)
        answers = self.answers
        if job.variant == "tree":
            return ChildSumTree(encoder, answers=answers, generator=generator)
        return CircuitTransformer(
            encoder,
            nodes=self.nodes,
            answers=answers,
            positions=form.positions,
            head=job.head,
            layers=sizes.layers,
            heads=sizes.heads,
            generator=generator,
        )

    def batch(self, step: int, order: Generator, dropout: Generator) -> dict[str, Tensor]:
        """One step's circuits; the number of an epoch seeds its order, so that a job can resume."""
        del order, dropout
        rows, count = self.job.training.rows, len(self.train.answers)
        epoch, index = divmod(step - 1, max(count // rows, 1))
        chosen = self._epoch_order(epoch)[index * rows : (index + 1) * rows]
        return {"tokens": self.train.tokens[chosen], "answers": self.train.answers[chosen]}

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Float[Tensor, ""]:
        """Mean cross-entropy of the answers."""
        return cross_entropy(model(batch["tokens"]), batch["answers"])

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Accuracy on the test split, for the curve."""
        return {"accuracy": accuracy(model, self.test)}

    def flops_per_step(self, model: nn.Module) -> float:
        """Floating-point operations of the matrix products of a step.

        A block has 2d² multiply-adds per node for keys and values, and 10d² + 2·S·d per node that
        it outputs, S being the number of nodes. The tree has 9d² per node. Table look-ups multiply
        nothing. The backward pass counts twice.
        """
        del model
        sizes, nodes = self.job.model, self.nodes
        outputs, d = nodes, sizes.d
        if self.job.variant == "tree":
            products = 9 * d**2 * nodes
        else:
            inner = (sizes.layers - 1) * nodes
            if self.job.head in ("last", "token"):
                outputs = 1
            products = 2 * d**2 * sizes.layers * nodes
            products += (10 * d**2 + 2 * nodes * d) * (inner + outputs)
        return 3.0 * 2.0 * self.job.training.rows * (products + d * self.answers)

    def _epoch_order(self, epoch: int) -> Tensor:
        generator = self.streams.generator(f"epoch {epoch}")
        return torch.randperm(len(self.train.answers), generator=generator)


def problem(job: Job, dataset: pd.DataFrame, streams: Streams) -> Problem:
    """The training problem of one seed; ``dataset`` is the result of :func:`data.generate`."""
    return Circuits(job, dataset, streams)


def accuracy(model: nn.Module, examples: CircuitExamples) -> float:
    """Share of correct answers."""
    device = next(model.parameters()).device
    with torch.no_grad():
        answers = model(examples.tokens.to(device)).argmax(-1).cpu()
    return float((answers == examples.answers).double().mean())


def circuits_in(task: Circuits, split: str) -> tuple[Integers, Integers]:
    """The circuits ``(circuits, operations, 3)`` of a split and their answers ``(circuits,)``."""
    rows = task.table[task.table["split"] == split]
    return circuits_of(rows), rows[task.job.task].to_numpy()
