"""The models of exp6 and their training problem.

Every model computes scores S[t, s, e]; its answer is argmax_e. T, S and E count t, s and e.

    journey            ⟨R_t q, R_s k_e⟩            the teacher's frequencies
    journey-learned    ⟨R_t q, R_s k_e⟩            frequencies are learned
    separable          Σ_h f_h(t)·g_h(s, e)        tables f, g
    separable-matched  Σ_h f_h(t)·a_h(s)·b_h(e)    as many heads as the journey's parameters allow
    additive           Σ_h f_h(t, e) + g_h(s, e)   heads that read the position, or the role
    additive-outputs   log mean of softmax_e A_h(t, e) and softmax_e B_h(s, e) over all heads

One run trains the models of all H and all restarts together. These *copies* share no parameter and
their losses are added, so that each trains as if it were alone.

*Labels* are fitted by the cross-entropy over all noisy queries, *scores* by the squared error over
the whole noiseless table; every step uses all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

import pandas as pd
import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn
from torch.nn.functional import log_softmax

from journeylab.operators.orthogonal import exponential
from journeylab.operators.toral import plane_turns
from journeylab.studies.exp6_coupling_rank.data import (
    counts_of,
    frequencies_of,
    position_operators,
    scores_of,
)
from journeylab.studies.exp6_coupling_rank.settings import (
    HEADS,
    STACKED,
    D,
    Job,
)
from journeylab.studies.exp6_coupling_rank.tables import FORMS, Scores

if TYPE_CHECKING:
    from journeylab.streams import Streams
    from journeylab.training import Problem


Copies = Float[Tensor, "copies T S E"]
"""Scores of several independent models of one form."""


class Tables(nn.Module):
    """Models of one form: for every number of heads, a copy per restart."""

    def __init__(self, job: Job, heads: tuple[int, ...], generator: Generator) -> None:
        super().__init__()
        self.form = FORMS[job.variant]
        self.copies = nn.ModuleList()
        for count in heads:
            tables = nn.ParameterList()
            for shape in self.form.shapes(count, *_shape(job)):
                drawn = job.model.spread * torch.randn(
                    (job.model.restarts, *shape), generator=generator
                )
                tables.append(nn.Parameter(drawn))
            self.copies.append(tables)

    def forward(self) -> Copies:
        """The scores of every copy."""
        return torch.cat([self.form.join(*tables) for tables in self.tables()])

    def tables(self) -> list[list[Tensor]]:
        """The tables for every number of heads, (restarts, heads, …)."""
        return [list(cast(nn.ParameterList, copy)) for copy in self.copies]


class Journey(nn.Module):
    """One journey head of d coordinates, S[t, s, e] = ⟨R_t q, R_s k_e⟩.

    Without given ``frequencies``, they are learned. Every restart is a copy.
    """

    frequencies: Float[Tensor, "copies planes"]

    def __init__(
        self, job: Job, frequencies: Float[Tensor, " planes"] | None, generator: Generator
    ) -> None:
        super().__init__()
        self.positions, roles, entities = _shape(job)
        copies, spread = job.model.restarts, job.model.spread
        self.toral = job.data.operators == "toral"
        self.query = nn.Parameter(spread * torch.randn(copies, D, generator=generator))
        keys = torch.randn(copies, entities, D, generator=generator)
        self.keys = nn.Parameter(spread * keys)
        width = D // 2 if self.toral else D * (D - 1) // 2
        drawn = 2.0 * torch.rand(copies, roles, width, generator=generator) - 1.0
        self.roles = nn.Parameter(math.pi * drawn if self.toral else drawn)
        if frequencies is None:
            started = math.pi * torch.rand(copies, D // 2, generator=generator)
            self.frequencies = nn.Parameter(started)
        else:
            given = frequencies.float().expand(copies, -1).clone()
            self.register_buffer("frequencies", given, persistent=False)

    def forward(self) -> Copies:
        """The scores of every copy."""
        positions = torch.arange(self.positions, device=self.query.device)
        queries = position_operators(positions, self.frequencies) @ self.query[:, None, :, None]
        operators = plane_turns(self.roles) if self.toral else exponential(_square(self.roles))
        keys = torch.einsum("rsij,rej->rsei", operators, self.keys)
        return torch.einsum("rti,rsei->rtse", queries.squeeze(-1), keys)


@dataclass(frozen=True, eq=False)
class Coupling:
    """One seed's training problem; ``table`` is its dataset."""

    job: Job
    table: pd.DataFrame

    @cached_property
    def scores(self) -> Scores:
        """The noiseless table M in float64."""
        return scores_of(self.table, self.job.data)

    @cached_property
    def counts(self) -> Scores:
        """Counts of the noisy queries at (t, s) with the label e, in float64."""
        return counts_of(self.table, self.job.data)

    @cached_property
    def target(self) -> Scores:
        """What a step fits, in float32: shares of the queries, or scores of mean square 1."""
        if self.job.fit == "labels":
            return (self.counts / self.counts.sum()).float()
        return (self.scores / self.scores.square().mean().sqrt()).float()

    @property
    def tokens_per_step(self) -> int:
        """Number of labels or scores that a step fits."""
        data = self.job.data
        return data.queries if self.job.fit == "labels" else math.prod(self.scores.shape)

    def build(self, generator: Generator) -> nn.Module:
        """A new model, initialised from ``generator`` only."""
        job = self.job
        if job.variant in STACKED:
            return Tables(job, HEADS, generator)
        if job.variant == "separable-matched":
            return Tables(job, (matched_heads(job),), generator)
        learned = job.variant == "journey-learned"
        return Journey(job, None if learned else frequencies_of(self.table), generator)

    def batch(self, step: int, order: Generator, dropout: Generator) -> dict[str, Tensor]:
        """The whole target: every step fits all of it."""
        del step, order, dropout
        return {"target": self.target}

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Float[Tensor, ""]:
        """The sum of the losses of all copies."""
        return losses(model(), batch["target"], self.job).sum()

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """For the curve: accuracy or squared error by number of heads, or of the best restart."""
        scores, target = model(), self.target
        device = scores.device
        copy_losses = losses(scores, target.to(device), self.job)
        if self.job.fit == "scores":
            values = copy_losses.tolist()
        else:
            correct = scores.argmax(-1) == self.scores.to(device).argmax(-1)
            values = correct.double().mean((1, 2)).tolist()
        name = "accuracy" if self.job.fit == "labels" else "squared_error"
        chosen = [values[copy] for copy in best_copies(copy_losses, self.job)]
        if self.job.variant in STACKED:
            return {f"{name}_{heads}": value for heads, value in zip(HEADS, chosen, strict=True)}
        return {name: chosen[0]}

    def flops_per_step(self, model: nn.Module) -> float:
        """Floating-point operations of the products of a step; the backward pass counts twice."""
        positions, roles, entities = _shape(self.job)
        table = positions * roles * entities
        if isinstance(model, Journey):
            products = positions * D**2 + roles * entities * D**2 + table * D
            return 3.0 * 2.0 * len(model.query) * products
        heads = [first.shape[:2].numel() for first, *_ in cast(Tables, model).tables()]
        return 3.0 * 2.0 * sum(heads) * table


def problem(job: Job, dataset: pd.DataFrame, streams: Streams) -> Problem:
    """The training problem of one seed; ``dataset`` is the result of :func:`data.generate`."""
    del streams  # the dataset holds the teacher, and the engine passes the other streams itself
    return Coupling(job, dataset)


def losses(scores: Copies, target: Scores, job: Job) -> Float[Tensor, " copies"]:
    """The loss of every copy: the mean cross-entropy of labels, or the mean squared error."""
    if job.fit == "labels":
        return -(target * log_softmax(scores, -1)).sum((1, 2, 3))
    return (scores - target).square().mean((1, 2, 3))


def best_copies(losses: Float[Tensor, " copies"], job: Job) -> list[int]:
    """The copy with the smallest loss for every number of heads, or of all copies."""
    restarts = job.model.restarts
    best = losses.unflatten(0, (-1, restarts)).argmin(-1).tolist()
    return [group * restarts + restart for group, restart in enumerate(best)]


def journey_parameters(job: Job) -> int:
    """Number of parameters of a journey head: frequencies, query, keys and roles."""
    width = D // 2 if job.data.operators == "toral" else D * (D - 1) // 2
    return D // 2 + D + job.data.entities * D + job.data.roles * width


def matched_heads(job: Job) -> int:
    """Largest number of factored heads with at most the parameters of the journey head, or 1."""
    return max(journey_parameters(job) // sum(_shape(job)), 1)


def _shape(job: Job) -> tuple[int, int, int]:
    return job.data.positions, job.data.roles, job.data.entities


def _square(triangle: Tensor) -> Tensor:
    """S ``(…, d, d)`` with these numbers above its diagonal, zero elsewhere."""
    rows, columns = torch.triu_indices(D, D, 1, device=triangle.device)
    # A product with a 0/1 matrix: torch.func.vmap, which trains seeds, cannot assign to indices.
    # All on one device: a CUDA graph cannot be captured across a copy from the CPU.
    scatter = torch.eye(D * D, device=triangle.device)[rows * D + columns]
    square: Tensor = (triangle @ scatter).unflatten(-1, (D, D))
    return square
