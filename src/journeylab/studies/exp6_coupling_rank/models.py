"""The models of exp6, and what a training job asks of them.

Every model makes scores S[t, s, e]; its answer is argmax_e. T, S and E count t, s and e.

    journey            ⟨R_t q, R_s k_e⟩            frequencies given, or learned from restarts
    separable          Σ_h f_h(t)·g_h(s, e)        tables f, g
    separable-matched  Σ_h f_h(t)·a_h(s)·b_h(e)    as many heads as the journey's parameters allow
    additive-scores    Σ_h A_h(t) + B_h(s, e)      which a softmax over e cannot tell from Σ_h B_h
    additive-outputs   log mean of softmax_e A_h(t, e) and softmax_e B_h(s, e) over all heads

Models with H heads are trained for all H at once, learned frequencies from all restarts at once.
These *copies* share no parameter, and their losses are added, so each learns as if it were alone.

*Labels* are fitted by cross-entropy, over all noisy queries at every step; *scores* by the squared
error over the whole noiseless table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

import pandas as pd
import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import log_softmax

from journeylab.operators.orthogonal import exponential
from journeylab.operators.toral import plane_turns
from journeylab.studies.exp6_coupling_rank.data import (
    counts_of,
    frequencies_of,
    scores_of,
    turns,
)
from journeylab.studies.exp6_coupling_rank.settings import (
    HEADS,
    STACKED,
    D,
    Job,
)
from journeylab.studies.exp6_coupling_rank.tables import FORMS

if TYPE_CHECKING:
    from journeylab.streams import Streams
    from journeylab.training import Problem


class Tables(nn.Module):
    """Models of the same form with these numbers of heads; scores ``(copies, T, S, E)``."""

    def __init__(self, job: Job, heads: tuple[int, ...], generator: Generator) -> None:
        super().__init__()
        self.form = FORMS[job.variant]
        self.copies = nn.ModuleList()
        for count in heads:
            tables = nn.ParameterList()
            for shape in self.form.shapes(count, *_shape(job)):
                drawn = job.model.spread * torch.randn(shape, generator=generator)
                tables.append(nn.Parameter(drawn))
            self.copies.append(tables)

    def forward(self) -> Tensor:
        """Scores of every copy."""
        return torch.stack([self.form.join(*tables) for tables in self.tables()])

    def tables(self) -> list[list[Tensor]]:
        """The tables of every copy; the rows of each are heads."""
        return [list(cast(nn.ParameterList, copy)) for copy in self.copies]


class Journey(nn.Module):
    """One head of d coordinates; scores ``(copies, T, S, E)``.

    ``frequencies`` ``(d/2,)`` are given, or None where they are learned: from several restarts.
    """

    frequencies: Tensor

    def __init__(self, job: Job, frequencies: Tensor | None, generator: Generator) -> None:
        super().__init__()
        self.positions, roles, entities = _shape(job)
        copies = job.model.restarts if frequencies is None else 1
        self.toral = job.data.operators == "toral"
        self.query = nn.Parameter(torch.randn(copies, D, generator=generator))
        self.keys = nn.Parameter(torch.randn(copies, entities, D, generator=generator))
        width = D // 2 if self.toral else D * (D - 1) // 2
        drawn = 2.0 * torch.rand(copies, roles, width, generator=generator) - 1.0
        self.roles = nn.Parameter(math.pi * drawn if self.toral else drawn)
        if frequencies is None:
            started = math.pi * torch.rand(copies, D // 2, generator=generator)
            self.frequencies = nn.Parameter(started)
        else:
            given = frequencies.float().expand(copies, -1).clone()
            self.register_buffer("frequencies", given, persistent=False)

    def forward(self) -> Tensor:
        """Scores of every copy."""
        positions = torch.arange(self.positions, device=self.query.device)
        queries = turns(positions, self.frequencies) @ self.query[:, None, :, None]
        operators = plane_turns(self.roles) if self.toral else exponential(_square(self.roles))
        keys = torch.einsum("rsij,rej->rsei", operators, self.keys)
        return torch.einsum("rti,rsei->rtse", queries.squeeze(-1), keys)


@dataclass(frozen=True, eq=False)
class Coupling:
    """One seed's training problem: its table, the answers to noisy queries, and what is fitted."""

    job: Job
    table: pd.DataFrame

    @cached_property
    def scores(self) -> Tensor:
        """The noiseless table M ``(T, S, E)`` in float64."""
        return scores_of(self.table, self.job.data)

    @cached_property
    def counts(self) -> Tensor:
        """How often every label was given ``(T, S, E)``, in float64."""
        return counts_of(self.table, self.job.data)

    @cached_property
    def target(self) -> Tensor:
        """Shares of the queries, or scores of mean square 1: what a step fits."""
        if self.job.fit == "labels":
            return (self.counts / self.counts.sum()).float()
        return (self.scores / self.scores.square().mean().sqrt()).float()

    @property
    def tokens_per_step(self) -> int:
        """Labels, or scores, that a step fits."""
        data = self.job.data
        return data.queries if self.job.fit == "labels" else math.prod(self.scores.shape)

    def build(self, generator: Generator) -> nn.Module:
        """A fresh model, initialised from ``generator`` only."""
        job = self.job
        if job.variant in STACKED:
            return Tables(job, HEADS, generator)
        if job.variant == "separable-matched":
            return Tables(job, (matched_heads(job),), generator)
        learned = job.variant == "journey-learned"
        return Journey(job, None if learned else frequencies_of(self.table), generator)

    def batch(self, step: int, order: Generator, dropout: Generator) -> dict[str, Tensor]:
        """Every step fits everything there is."""
        del step, order, dropout
        return {"target": self.target}

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        """The loss of every copy, added up."""
        return losses(model(), batch["target"], self.job).sum()

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """For the curve: of every number of heads, or the best restart, how well it does."""
        made, target = model(), self.target
        where = made.device
        lost = losses(made, target.to(where), self.job).tolist()
        if self.job.fit == "scores":
            found = dict(enumerate(lost))
        else:
            right = made.argmax(-1) == self.scores.to(where).argmax(-1)
            found = dict(enumerate(right.double().mean((1, 2)).tolist()))
        name = "accuracy" if self.job.fit == "labels" else "squared_error"
        if self.job.variant in STACKED:
            return {f"{name}_{heads}": found[copy] for copy, heads in enumerate(HEADS)}
        return {name: found[lost.index(min(lost))]}

    def flops_per_step(self, model: nn.Module) -> float:
        """Floating-point operations of a step's products, backward included (×3)."""
        positions, roles, entities = _shape(self.job)
        table = positions * roles * entities
        if isinstance(model, Journey):
            each = positions * D**2 + roles * entities * D**2 + table * D
            return 3.0 * 2.0 * len(model.query) * each
        heads = [len(first) for first, *_ in cast(Tables, model).tables()]
        return 3.0 * 2.0 * sum(heads) * table


def problem(job: Job, dataset: pd.DataFrame, streams: Streams) -> Problem:
    """The training problem of one seed; ``dataset`` as :func:`data.generate` makes it."""
    del streams  # the teacher is in the dataset, and the engine hands the other streams over
    return Coupling(job, dataset)


def losses(scores: Tensor, target: Tensor, job: Job) -> Tensor:
    """The loss of every copy ``(copies,)``: mean cross-entropy of labels, or mean squared error."""
    if job.fit == "labels":
        return -(target * log_softmax(scores, -1)).sum((1, 2, 3))
    return (scores - target).square().mean((1, 2, 3))


def journey_parameters(job: Job) -> int:
    """What a journey head with given frequencies learns: its query, its keys and its roles."""
    width = D // 2 if job.data.operators == "toral" else D * (D - 1) // 2
    return D + job.data.entities * D + job.data.roles * width


def matched_heads(job: Job) -> int:
    """The most heads of factored products that have no more parameters than the journey."""
    return max(journey_parameters(job) // sum(_shape(job)), 1)


def _shape(job: Job) -> tuple[int, int, int]:
    return job.data.positions, job.data.roles, job.data.entities


def _square(triangle: Tensor) -> Tensor:
    """S ``(…, d, d)`` with these numbers above its diagonal, zero elsewhere."""
    rows, columns = torch.triu_indices(D, D, 1, device=triangle.device)
    place = torch.zeros(len(rows), D * D, device=triangle.device)
    place[torch.arange(len(rows)), rows * D + columns] = 1.0
    square: Tensor = (triangle @ place).unflatten(-1, (D, D))
    return square
