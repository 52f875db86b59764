"""The encoders of exp10, and what a training job asks of them.

| variant | embeds | positions |
| --- | --- | --- |
| sum, one-hot | type, value, node index: as documented | sinusoids |
| sum-wiring, one-hot-wiring | these, and both inputs | sinusoids |
| wiring-no-position, wiring-no-node, wiring-neither | without what the name says | none if so |
| wiring-learned | as sum-wiring | learned |
| wiring-no-value | type, node index, both inputs | sinusoids |
| tree | as sum; a child-sum tree LSTM follows the wiring | – |

All learn by cross-entropy, from the same batches at the same step of a seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import torch
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
from journeylab.studies.exp10_circuit_encoders.circuits import NODES, Integers, tokens_of
from journeylab.studies.exp10_circuit_encoders.data import circuits_of
from journeylab.studies.exp10_circuit_encoders.settings import ANSWERS, Job, Variant

if TYPE_CHECKING:
    from journeylab.streams import Streams
    from journeylab.training import Problem


class Form(NamedTuple):
    """What a variant embeds, how, and which positions are added."""

    fields: tuple[Field, ...]
    positions: Positions = "sinusoidal"
    encoder: type[SummedFields] | type[OneHotFields] = SummedFields


def _without(*fields: Field) -> tuple[Field, ...]:
    return tuple(field for field in WIRED if field not in fields)


FORMS: dict[Variant, Form] = {
    "sum": Form(DOCUMENTED),
    "one-hot": Form(DOCUMENTED, encoder=OneHotFields),
    "sum-wiring": Form(WIRED),
    "one-hot-wiring": Form(WIRED, encoder=OneHotFields),
    "wiring-no-position": Form(WIRED, "none"),
    "wiring-no-node": Form(_without("node")),
    "wiring-neither": Form(_without("node"), "none"),
    "wiring-learned": Form(WIRED, "learned"),
    "wiring-no-value": Form(_without("value")),
    "tree": Form(DOCUMENTED),
}
"""Every variant by its name in config.yaml."""


class Examples(NamedTuple):
    """Circuits and their answers."""

    tokens: Tensor
    answers: Tensor


@dataclass(frozen=True, eq=False)
class Circuits:
    """One seed's training problem: the circuits to learn from, and one question about them."""

    job: Job
    table: pd.DataFrame
    streams: Streams

    @cached_property
    def train(self) -> Examples:
        """The circuits to learn from."""
        return self.select("train")

    @cached_property
    def test(self) -> Examples:
        """The circuits to be asked about."""
        return self.select("test")

    def select(self, split: str) -> Examples:
        """All circuits of a split."""
        rows = self.table[self.table["split"] == split]
        answers = torch.from_numpy(rows[self.job.task].to_numpy(copy=True))
        return Examples(torch.from_numpy(tokens_of(circuits_of(rows))), answers)

    @property
    def tokens_per_step(self) -> int:
        """Circuits of a step: each has one answer."""
        return self.job.training.rows

    def build(self, generator: Generator) -> nn.Module:
        """A fresh model, initialised from ``generator`` only."""
        job, form = self.job, FORMS[self.job.variant]
        encoder = form.encoder(job.model.d, form.fields, generator=generator)
        answers = ANSWERS[job.task]
        if job.variant == "tree":
            return ChildSumTree(encoder, answers=answers, generator=generator)
        return CircuitTransformer(
            encoder,
            nodes=NODES,
            answers=answers,
            positions=form.positions,
            head=job.head,
            layers=job.model.layers,
            heads=job.model.heads,
            generator=generator,
        )

    def batch(self, step: int, order: Generator, dropout: Generator) -> dict[str, Tensor]:
        """One step's circuits. An epoch's order is that of its number: nothing has to be kept."""
        del order, dropout
        rows, count = self.job.training.rows, len(self.train.answers)
        epoch, place = divmod(step - 1, max(count // rows, 1))
        chosen = self._order(epoch)[place * rows : (place + 1) * rows]
        return {"tokens": self.train.tokens[chosen], "answers": self.train.answers[chosen]}

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        """Mean cross-entropy of the answers."""
        return cross_entropy(model(batch["tokens"]), batch["answers"])

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Accuracy on the test split, for the curve."""
        return {"accuracy": accuracy(model, self.test)}

    def flops_per_step(self, model: nn.Module) -> float:
        """Floating-point operations of the matrix products of a step, backward included (×3).

        A block has 2d² per node for keys and values, 10d² per node that is asked for and 2·S·d for
        its attention; the tree 9d² per node. Looking a row up is no product.
        """
        del model
        sizes, asked = self.job.model, NODES
        d = sizes.d
        if self.job.variant == "tree":
            products = 9 * d**2 * NODES
        else:
            inner = (sizes.layers - 1) * NODES
            if self.job.head in ("last", "token"):
                asked = 1
            products = 2 * d**2 * sizes.layers * NODES
            products += (10 * d**2 + 2 * NODES * d) * (inner + asked)
        return 3.0 * 2.0 * self.job.training.rows * (products + d * ANSWERS[self.job.task])

    def _order(self, epoch: int) -> Tensor:
        generator = self.streams.generator(f"epoch {epoch}")
        return torch.randperm(len(self.train.answers), generator=generator)


def problem(job: Job, dataset: pd.DataFrame, streams: Streams) -> Problem:
    """The training problem of one seed; ``dataset`` as :func:`data.generate` makes it."""
    return Circuits(job, dataset, streams)


def accuracy(model: nn.Module, examples: Examples) -> float:
    """Share of the circuits that are answered right."""
    device = next(model.parameters()).device
    with torch.no_grad():
        answers = model(examples.tokens.to(device)).argmax(-1).cpu()
    return float((answers == examples.answers).double().mean())


def circuits_in(task: Circuits, split: str) -> tuple[Integers, Integers]:
    """Circuits of a split and their answers, as arrays."""
    rows = task.table[task.table["split"] == split]
    return circuits_of(rows), rows[task.job.task].to_numpy()
