"""The probes of exp3 and their training problem.

A job trains two probes for every length N, which read the standardised aggregate s ``(d,)``:

    linear   logits = W s + b
    mlp      logits = W₃ relu(W₂ relu(W₁ s + b₁) + b₂) + b₃

Both answer the same questions about a string: the colour at every position (N questions, C answers
each) and the count of every colour (C questions, N + 1 answers each). The loss of a probe is its
mean cross-entropy over the questions. The loss of a step is the sum over the probes. The probes
share no parameter, so each learns as if it were trained alone.

The probes of all lengths are computed at once. A shorter string is padded to the longest length:
its terms of s are zero beyond its end, a mask removes these positions from the loss, and counts
above its length have logit −∞.
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
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy, pad, relu

from journeylab.studies.exp3_order_information.aggregation import spell, standardise, terms
from journeylab.studies.exp3_order_information.data import skip, strings_of, values_of
from journeylab.studies.exp3_order_information.settings import LENGTHS, Job, Probe, Split

if TYPE_CHECKING:
    from journeylab.streams import Streams
    from journeylab.training import Problem

LONGEST = max(LENGTHS)


class ProbeLogits(NamedTuple):
    """Logits of one kind of probe, for strings of some lengths.

    In ``positions`` the dimension of the C answers precedes that of the questions, because a
    softmax over a few adjacent numbers is slow. ``counts`` are −∞ above the length.
    """

    positions: Float[Tensor, "lengths strings colours longest"]
    counts: Float[Tensor, "lengths strings colours longest+1"]


class Truth(NamedTuple):
    """The right answers about strings of some lengths, and their standardised aggregates.

    ``mask`` is 1 at the positions of a string and 0 beyond its end.
    """

    colours: Int[Tensor, "lengths strings longest"]
    counts: Int[Tensor, "lengths strings colours"]
    mask: Float[Tensor, "lengths 1 longest"]
    aggregate: Float[Tensor, "lengths strings d"]


class Score(NamedTuple):
    """Accuracies of a probe at positions and counts, and its cross-entropy per position in bits."""

    position_accuracy: float
    count_accuracy: float
    position_loss: float


class Layers(nn.Module):
    """Several networks of equal shape: affine maps with ReLU between them.

    Parameters are uniform within ±scale/√inputs, drawn from ``generator``.
    """

    def __init__(
        self, networks: int, widths: Sequence[int], generator: Generator, scale: float = 1.0
    ) -> None:
        super().__init__()
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for inputs, outputs in pairwise(widths):
            bound = scale / math.sqrt(inputs)
            for parameters, rows in ((self.weights, inputs), (self.biases, 1)):
                drawn = torch.empty(networks, rows, outputs)
                parameters.append(nn.Parameter(drawn.uniform_(-bound, bound, generator=generator)))

    def forward(
        self, x: Float[Tensor, "networks rows inputs"], index: int | None
    ) -> Float[Tensor, "networks rows outputs"]:
        """Return the outputs of all networks, or of the network with an index."""
        last = len(self.weights) - 1
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = x @ _part(weight, index) + _part(bias, index)
            x = x if layer == last else relu(x)
        return x


class Probes(nn.Module):
    """Both probes of every length, for the values of one seed."""

    added: Float[Tensor, "lengths longest*colours d"]
    mask: Float[Tensor, "lengths 1 longest"]
    barred: Float[Tensor, "lengths 1 1 longest+1"]

    def __init__(self, job: Job, values: Float[Tensor, "colours d"], generator: Generator) -> None:
        super().__init__()
        self.colours, count = job.colours, len(LENGTHS)
        added = [standardise(terms(job.variant, values, length)).float() for length in LENGTHS]
        rows = [pad(part, (0, 0, 0, 0, 0, LONGEST - len(part))).flatten(0, 1) for part in added]
        self.register_buffer("added", torch.stack(rows), persistent=False)
        lengths = torch.tensor(LENGTHS)[:, None, None]
        mask = torch.arange(LONGEST) < lengths
        self.register_buffer("mask", mask.to(rows[0].dtype), persistent=False)
        impossible = torch.arange(LONGEST + 1) > lengths[..., None]
        barred = torch.zeros(impossible.shape).masked_fill(impossible, -math.inf)
        self.register_buffer("barred", barred, persistent=False)
        self.answers = job.colours * LONGEST, job.colours * (LONGEST + 1)
        hidden = job.model.hidden
        scale = job.model.initial_scale
        self.mlp = Layers(count, (job.d, hidden, hidden, sum(self.answers)), generator, scale)
        self.linear = Layers(count, (job.d, sum(self.answers)), generator, scale)

    def read(self, strings: Int[Tensor, "lengths strings"], index: int | None = None) -> Truth:
        """Return the right answers and the aggregates of strings given as numbers.

        The strings have all lengths of LENGTHS, or only the length with an index.
        """
        colours = spell(strings, LONGEST, self.colours)
        alphabet = torch.arange(self.colours, device=strings.device)
        chosen = (colours[..., None] == alphabet).to(self.added.dtype)
        mask = _part(self.mask, index)
        counts = (chosen * mask[..., None]).sum(2).long()
        return Truth(colours, counts, mask, chosen.flatten(2) @ _part(self.added, index))

    def forward(
        self, aggregate: Float[Tensor, "lengths strings d"], index: int | None = None
    ) -> dict[Probe, ProbeLogits]:
        """Return the logits of each kind of probe; ``aggregate`` is the standardised s."""
        return {
            "mlp": self._split(self.mlp(aggregate, index), index),
            "linear": self._split(self.linear(aggregate, index), index),
        }

    def _split(self, logits: Tensor, index: int | None) -> ProbeLogits:
        positions, counts = logits.split(self.answers, -1)
        counts = counts.unflatten(-1, (self.colours, LONGEST + 1))
        return ProbeLogits(
            positions.unflatten(-1, (self.colours, LONGEST)), counts + _part(self.barred, index)
        )


@dataclass(frozen=True, eq=False)
class ProbeTraining:
    """One seed's training problem: to read colours and counts from aggregates of random strings."""

    job: Job
    table: pd.DataFrame

    @cached_property
    def values(self) -> Float[Tensor, "colours d"]:
        """The values v, in float64."""
        return values_of(self.table, self.job.colours, self.job.d)

    @cached_property
    def held_out(self) -> tuple[Int[Tensor, " strings"], ...]:
        """The held-out strings of every length, ascending."""
        return tuple(self.select("held-out", length) for length in LENGTHS)

    def select(self, split: Split, length: int) -> Int[Tensor, " strings"]:
        """The held-out strings of a length, or a sample of the others."""
        return strings_of(self.table, split, self.job.colours, length)

    @property
    def tokens_per_step(self) -> int:
        """Questions per step, to each kind of probe."""
        return self.job.training.strings * sum(length + self.job.colours for length in LENGTHS)

    def build(self, generator: Generator) -> nn.Module:
        """Fresh probes, initialised from ``generator`` only."""
        return Probes(self.job, self.values, generator)

    def batch(self, step: int, order: Generator, dropout: Generator) -> dict[str, Tensor]:
        """One step's strings ``(lengths, strings)``, uniform over those that are not held out."""
        del step, dropout  # there is no curriculum and no dropout
        drawn = []
        for length, held_out in zip(LENGTHS, self.held_out, strict=True):
            others = self.job.colours**length - len(held_out)
            ranks = torch.randint(others, (self.job.training.strings,), generator=order)
            drawn.append(skip(ranks, held_out))
        return {"strings": torch.stack(drawn)}

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Float[Tensor, ""]:
        """Mean cross-entropy over the questions of a probe, summed over probes and lengths."""
        probes = cast(Probes, model)
        truth = probes.read(batch["strings"])
        questions = (truth.mask.sum((1, 2)) + self.job.colours) * self.job.training.strings
        total = truth.mask.new_zeros(len(LENGTHS))
        for logits in probes(truth.aggregate).values():
            positions, counts = cross_entropies(logits, truth)
            total = total + positions.sum((1, 2)) + counts.sum((1, 2))
        return (total / questions).sum()

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Accuracies of the MLP probes on held-out strings, by length."""
        curve = {}
        for index, length in enumerate(LENGTHS):
            score = score_probes(model, self.held_out[index], index)["mlp"]
            curve[f"position_accuracy_{length}"] = score.position_accuracy
            curve[f"count_accuracy_{length}"] = score.count_accuracy
        return curve

    def flops_per_step(self, model: nn.Module) -> float:
        """Floating-point operations of the matrix products of a step, backward included (×3)."""
        products = sum(p.numel() for name, p in model.named_parameters() if "weights" in name)
        return 3.0 * 2.0 * products * self.job.training.strings


def problem(job: Job, dataset: pd.DataFrame, streams: Streams) -> Problem:
    """The training problem of one seed; ``dataset`` as :func:`data.generate` makes it."""
    del streams  # the engine passes the streams that `build` and `batch` need
    return ProbeTraining(job, dataset)


def score_probes(
    model: nn.Module, strings: Int[Tensor, " strings"], index: int
) -> dict[Probe, Score]:
    """Evaluate the probes of the length ``LENGTHS[index]`` on strings of that length."""
    probes = cast(Probes, model)
    with torch.no_grad():
        truth = probes.read(strings.to(probes.added.device)[None], index)
        logits = probes(truth.aggregate, index)
        return {probe: _score(of_probe, truth) for probe, of_probe in logits.items()}


def cross_entropies(
    logits: ProbeLogits, truth: Truth
) -> tuple[Float[Tensor, "lengths strings longest"], Float[Tensor, "lengths strings colours"]]:
    """Cross-entropies in nats at positions, 0 beyond the end of a string, and of counts."""
    positions = _cross_entropy(logits.positions.flatten(0, 1), truth.colours.flatten(0, 1))
    counts = _cross_entropy(logits.counts.flatten(0, 2), truth.counts.flatten())
    return (
        positions.reshape(truth.colours.shape) * truth.mask,
        counts.reshape(truth.counts.shape),
    )


def _cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    nats: Tensor = cross_entropy(logits, targets, reduction="none")
    return nats


def _part(tensor: Tensor, index: int | None) -> Tensor:
    """The part of one length, or everything: slicing everything copies in the backward pass."""
    return tensor if index is None else tensor[index : index + 1]


def _score(logits: ProbeLogits, truth: Truth) -> Score:
    positions = float(truth.mask.sum()) * truth.colours.shape[1]
    right = (logits.positions.argmax(2) == truth.colours) * truth.mask
    counted = logits.counts.argmax(-1) == truth.counts
    nats, _ = cross_entropies(logits, truth)
    return Score(
        float(right.sum()) / positions,
        float(counted.double().mean()),
        float(nats.double().sum()) / positions / math.log(2.0),
    )
