"""The probes of exp3, and what a training job asks of them.

A job trains two probes for every length N, which read the standardised aggregate s ``(d,)``:

    linear   logits = W s + b
    mlp      logits = W₃ relu(W₂ relu(W₁ s + b₁) + b₂) + b₃

Both answer the same questions about a string: the colour at every position (N questions, C answers
each) and the count of every colour (C questions, N + 1 answers each). The loss of a probe is its
mean cross-entropy over the questions; the loss of a step is the sum over the probes. They share no
parameter, so each learns as if it were alone.

The probes of all lengths are computed at once. A shorter string is one with zeros at its end: there
its terms of s are zero, and what a probe answers there is neither asked nor possible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, cast

import pandas as pd
import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy, pad, relu

from journeylab.studies.exp3_order_information.aggregation import spell, standardise, terms
from journeylab.studies.exp3_order_information.data import skip, strings_of, values_of
from journeylab.studies.exp3_order_information.settings import LENGTHS, Job, Probe, Split

if TYPE_CHECKING:
    from journeylab.streams import Streams
    from journeylab.training import Problem

LONGEST = max(LENGTHS)


class Answers(NamedTuple):
    """Logits of the probes of some lengths, to strings of each.

    ``positions`` (lengths, strings, C, 20), with the answers before the questions, since a softmax
    over a few neighbours is slow; ``counts`` (lengths, strings, C, 21), −∞ beyond the length.
    """

    positions: Tensor
    counts: Tensor


class Truth(NamedTuple):
    """Strings of some lengths, read.

    ``colours`` (lengths, strings, 20); ``counts`` (lengths, strings, C); ``aggregate`` (lengths,
    strings, d); ``asked`` (lengths, 1, 20), 1 for a position and 0 beyond the end.
    """

    colours: Tensor
    counts: Tensor
    asked: Tensor
    aggregate: Tensor


class Score(NamedTuple):
    """How a probe answers: shares of right answers, and bits lost per position."""

    position_accuracy: float
    count_accuracy: float
    position_loss: float


class Layers(nn.Module):
    """Networks of equal shape side by side: affine maps with ReLU between them.

    Initialised from ``generator``, uniform within ±1/√inputs.
    """

    def __init__(self, networks: int, widths: Sequence[int], generator: Generator) -> None:
        super().__init__()
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for inputs, outputs in pairwise(widths):
            bound = 1.0 / math.sqrt(inputs)
            for parameters, rows in ((self.weights, inputs), (self.biases, 1)):
                drawn = torch.empty(networks, rows, outputs)
                parameters.append(nn.Parameter(drawn.uniform_(-bound, bound, generator=generator)))

    def forward(self, x: Tensor, place: int | None) -> Tensor:
        """Outputs of the network at a place, or of all: ``x`` is (networks, rows, inputs)."""
        last = len(self.weights) - 1
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = x @ _part(weight, place) + _part(bias, place)
            x = x if layer == last else relu(x)
        return x


class Probes(nn.Module):
    """Both probes of every length, for values ``(C, d)`` of one seed."""

    added: Tensor
    asked: Tensor
    barred: Tensor

    def __init__(self, job: Job, values: Tensor, generator: Generator) -> None:
        super().__init__()
        self.colours, count = job.colours, len(LENGTHS)
        added = [standardise(terms(job.variant, values, length)).float() for length in LENGTHS]
        rows = [pad(one, (0, 0, 0, 0, 0, LONGEST - len(one))).flatten(0, 1) for one in added]
        self.register_buffer("added", torch.stack(rows), persistent=False)
        lengths = torch.tensor(LENGTHS)[:, None, None]
        asked = torch.arange(LONGEST) < lengths
        self.register_buffer("asked", asked.to(rows[0].dtype), persistent=False)
        impossible = torch.arange(LONGEST + 1) > lengths[..., None]
        barred = torch.zeros(impossible.shape).masked_fill(impossible, -math.inf)
        self.register_buffer("barred", barred, persistent=False)
        self.answers = job.colours * LONGEST, job.colours * (LONGEST + 1)
        hidden = job.model.hidden
        self.mlp = Layers(count, (job.d, hidden, hidden, sum(self.answers)), generator)
        self.linear = Layers(count, (job.d, sum(self.answers)), generator)

    def read(self, strings: Tensor, place: int | None = None) -> Truth:
        """What is true of strings ``(lengths, strings)``, given as numbers.

        The length at ``place`` is read, or all lengths.
        """
        colours = spell(strings, LONGEST, self.colours)
        alphabet = torch.arange(self.colours, device=strings.device)
        chosen = (colours[..., None] == alphabet).to(self.added.dtype)
        asked = _part(self.asked, place)
        counts = (chosen * asked[..., None]).sum(2).long()
        return Truth(colours, counts, asked, chosen.flatten(2) @ _part(self.added, place))

    def forward(self, aggregate: Tensor, place: int | None = None) -> dict[Probe, Answers]:
        """Answers by probe; ``aggregate`` (lengths, strings, d) is the standardised s."""
        return {
            "mlp": self._split(self.mlp(aggregate, place), place),
            "linear": self._split(self.linear(aggregate, place), place),
        }

    def _split(self, logits: Tensor, place: int | None) -> Answers:
        positions, counts = logits.split(self.answers, -1)
        counts = counts.unflatten(-1, (self.colours, LONGEST + 1))
        return Answers(
            positions.unflatten(-1, (self.colours, LONGEST)), counts + _part(self.barred, place)
        )


@dataclass(frozen=True, eq=False)
class Strings:
    """One seed's training problem: its values, and the strings to learn from and to be asked."""

    job: Job
    table: pd.DataFrame

    @cached_property
    def values(self) -> Tensor:
        """v ``(C, d)`` in float64."""
        return values_of(self.table, self.job.colours, self.job.d)

    @cached_property
    def held_out(self) -> tuple[Tensor, ...]:
        """The held-out strings of every length, in ascending order."""
        return tuple(self.select("held-out", length) for length in LENGTHS)

    def select(self, split: Split, length: int) -> Tensor:
        """The strings that are held out, or some of those that are not."""
        return strings_of(self.table, split, self.job.colours, length)

    @property
    def tokens_per_step(self) -> int:
        """Questions that a step answers."""
        return self.job.training.strings * sum(length + self.job.colours for length in LENGTHS)

    def build(self, generator: Generator) -> nn.Module:
        """Fresh probes, initialised from ``generator`` only."""
        return Probes(self.job, self.values, generator)

    def batch(self, step: int, order: Generator, dropout: Generator) -> dict[str, Tensor]:
        """One step's strings ``(lengths, strings)``, uniform over those that are not held out."""
        del step, dropout  # all steps are alike
        drawn = []
        for length, held_out in zip(LENGTHS, self.held_out, strict=True):
            others = self.job.colours**length - len(held_out)
            ranks = torch.randint(others, (self.job.training.strings,), generator=order)
            drawn.append(skip(ranks, held_out))
        return {"strings": torch.stack(drawn)}

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        """Mean cross-entropy over the questions of a probe, summed over probes and lengths."""
        probes = cast(Probes, model)
        truth = probes.read(batch["strings"])
        questions = (truth.asked.sum((1, 2)) + self.job.colours) * self.job.training.strings
        total = truth.asked.new_zeros(len(LENGTHS))
        for answers in probes(truth.aggregate).values():
            positions, counts = cross_entropies(answers, truth)
            total = total + positions.sum((1, 2)) + counts.sum((1, 2))
        return (total / questions).sum()

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Accuracy of the MLP probes on held-out strings, by length, for the curve."""
        curve = {}
        for place, length in enumerate(LENGTHS):
            score = ask(model, self.held_out[place], place)["mlp"]
            curve[f"position_accuracy_{length}"] = score.position_accuracy
            curve[f"count_accuracy_{length}"] = score.count_accuracy
        return curve

    def flops_per_step(self, model: nn.Module) -> float:
        """Floating-point operations of the matrix products of a step, backward included (×3)."""
        products = sum(p.numel() for name, p in model.named_parameters() if "weights" in name)
        return 3.0 * 2.0 * products * self.job.training.strings


def problem(job: Job, dataset: pd.DataFrame, streams: Streams) -> Problem:
    """The training problem of one seed; ``dataset`` as :func:`data.generate` makes it."""
    del streams  # the strings are in the dataset, and the engine hands the other streams over
    return Strings(job, dataset)


def ask(model: nn.Module, strings: Tensor, place: int) -> dict[Probe, Score]:
    """Ask the probes of the length at ``place`` about strings ``(strings,)`` of that length."""
    probes = cast(Probes, model)
    with torch.no_grad():
        truth = probes.read(strings.to(probes.added.device)[None], place)
        answers = probes(truth.aggregate, place)
        return {probe: _score(each, truth) for probe, each in answers.items()}


def cross_entropies(answers: Answers, truth: Truth) -> tuple[Tensor, Tensor]:
    """Nats lost on positions (lengths, strings, 20), 0 beyond the end, and on counts (…, C)."""
    positions = _cross_entropy(answers.positions.flatten(0, 1), truth.colours.flatten(0, 1))
    counts = _cross_entropy(answers.counts.flatten(0, 2), truth.counts.flatten())
    return (
        positions.reshape(truth.colours.shape) * truth.asked,
        counts.reshape(truth.counts.shape),
    )


def _cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    lost: Tensor = cross_entropy(logits, targets, reduction="none")
    return lost


def _part(tensor: Tensor, place: int | None) -> Tensor:
    """One length of all; even a slice of everything costs a copy in the backward pass."""
    return tensor if place is None else tensor[place : place + 1]


def _score(answers: Answers, truth: Truth) -> Score:
    asked = float(truth.asked.sum()) * truth.colours.shape[1]
    right = (answers.positions.argmax(2) == truth.colours) * truth.asked
    counted = answers.counts.argmax(-1) == truth.counts
    lost, _ = cross_entropies(answers, truth)
    return Score(
        float(right.sum()) / asked,
        float(counted.double().mean()),
        float(lost.double().sum()) / asked / math.log(2.0),
    )
