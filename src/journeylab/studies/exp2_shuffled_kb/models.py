"""The models of exp2 and their training problem.

All variants have one retrieval head over fused entries E_key[key] + E_value[value]. They differ in
the angles that turn keys and queries (ω: frequencies, a(·): learned angles, M: number of entries,
slots from 0):

    position-free   no angles
    rope            j·ω in slot j, M·ω for the query; rope-integer has ω_k = k
    cumulative      Σ_{t≤j} a(entry t) in slot j, the sum of all plus its own angle for the query;
                    a starts near ω, in cumulative-as-shipped at N(0, 1)
    content         a(key) + a(value) of the entry itself, in any slot
    untagged        no angles; the entries of a subject look alike
    tag             no angles; E_relation[relation] is added to entries and questions
    operator        θ[relation] for entries and questions
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy, embedding

from journeylab.models.retrieval import RetrievalHead, Turns, combine, fuse, number_tokens
from journeylab.operators.journey import accumulate
from journeylab.operators.rotary import integer_frequencies, rotary_angles, standard_frequencies
from journeylab.studies.exp2_shuffled_kb.data import (
    Episodes,
    arrange,
    draw_lookup,
    draw_relations,
    select,
)
from journeylab.studies.exp2_shuffled_kb.settings import (
    ORDERS,
    Attention,
    Data,
    Job,
    Model,
    Relations,
)

if TYPE_CHECKING:
    from journeylab.streams import Streams
    from journeylab.training import Problem

CUMULATIVE = ("cumulative", "cumulative-as-shipped")
"""The variants that accumulate angles along the entries."""

CURVE_EPISODES = 32
"""Number of held-out repositories behind a point of the learning curve."""


class Questions(NamedTuple):
    """Questions to each repository, by key and relation, and the right answers."""

    keys: Int[Tensor, "episodes questions"]
    relations: Int[Tensor, "episodes questions"]
    answers: Int[Tensor, "episodes questions"]


class Retriever(nn.Module):
    """A retrieval head with the operators of a variant."""

    frequencies: Float[Tensor, " planes"]

    def __init__(
        self, variant: str, data: Data, sizes: Model, attention: Attention, generator: Generator
    ) -> None:
        super().__init__()
        self.variant, tagged = variant, variant == "tag"
        self.fields = (data.keys, data.values)
        relations = data.relations if isinstance(data, Relations) else 1
        planes = sizes.d // 2
        self.head = RetrievalHead(
            (*self.fields, relations) if tagged else self.fields,
            (data.keys, relations) if tagged else (data.keys,),
            data.values,
            width=sizes.d,
            weighting=attention,
            generator=generator,
        )
        with torch.no_grad():
            for parameter in self.head.parameters():
                parameter.mul_(sizes.initial_scale)
        integer = variant == "rope-integer"
        frequencies = integer_frequencies(sizes.d) if integer else standard_frequencies(sizes.d)
        self.register_buffer("frequencies", frequencies, persistent=False)

        def angles(symbols: int) -> nn.Parameter:
            drawn = torch.randn(symbols, planes, generator=generator)
            if variant == "cumulative":
                return nn.Parameter(frequencies * (1.0 + sizes.token_angle_spread * drawn))
            return nn.Parameter(sizes.angle_scale * drawn)

        if variant in (*CUMULATIVE, "content"):
            self.entry_angles = angles(data.keys + data.values)
        if variant in CUMULATIVE:
            self.question_angles = angles(data.keys)
        if variant == "operator":
            self.relation_angles = angles(relations)

    def forward(
        self, episodes: Episodes, questions: Questions
    ) -> Float[Tensor, "episodes questions values"]:
        """Return the logits of every question's answer."""
        entries, queries = [episodes.keys, episodes.values], [questions.keys]
        if self.variant == "tag":
            entries.append(episodes.relations)
            queries.append(questions.relations)
        logits: Tensor = self.head(
            torch.stack(entries, -1), torch.stack(queries, -1), self._turns(episodes, questions)
        )
        return logits

    def _turns(self, episodes: Episodes, questions: Questions) -> Turns:
        match self.variant:
            case "rope" | "rope-integer":
                size = episodes.keys.shape[1]
                places = torch.arange(size + 1, device=episodes.keys.device)
                angles = rotary_angles(places, self.frequencies)[None]
                return Turns(places=angles[:, :size], questions=angles[:, size:])
            case "cumulative" | "cumulative-as-shipped":
                tokens = torch.stack((episodes.keys, episodes.values), -1)
                steps = combine(self.entry_angles, self.fields)
                sums = accumulate(embedding(number_tokens(tokens, self.fields), steps))
                own = fuse(questions.keys[..., None], self.question_angles, self.fields[:1])
                return Turns(places=sums, questions=sums[:, -1:] + own)
            case "content":
                return Turns(tokens=combine(self.entry_angles, self.fields))
            case "operator":
                return Turns(
                    places=embedding(episodes.relations, self.relation_angles),
                    questions=embedding(questions.relations, self.relation_angles),
                )
        return Turns()


@dataclass(frozen=True, eq=False)
class Retrieval:
    """One seed's training problem: repositories drawn in every step, and held-out ones."""

    job: Job
    table: pd.DataFrame
    streams: Streams

    @cached_property
    def held_out(self) -> Episodes:
        """The held-out repositories of the job's task and size, shuffled."""
        return select(self.table, self.job.task, self.job.entries)

    @property
    def tokens_per_step(self) -> int:
        """Questions per step."""
        return self.job.training.rows

    def build(self, generator: Generator) -> nn.Module:
        """A fresh model, initialised from ``generator`` only."""
        job = self.job
        return Retriever(job.variant, job.data, job.model, job.attention, generator)

    def batch(self, step: int, order: Generator, dropout: Generator) -> dict[str, Tensor]:
        """New repositories in the arm's order, with one question each.

        The arms and variants of a seed see the same entries and questions at the same step.
        """
        del step, dropout  # there is no curriculum and no dropout
        job, rows = self.job, self.job.training.rows
        if isinstance(job.data, Relations):
            drawn = draw_relations(job.data, rows, order)
        else:
            drawn = draw_lookup(job.data, job.entries, rows, order)
        slots = torch.randint(job.entries, (rows, 1), generator=order)
        questions = Questions(
            keys=drawn.keys.gather(1, slots),
            relations=drawn.relations.gather(1, slots),
            answers=drawn.values.gather(1, slots),
        )
        named = {f"question_{name}": column for name, column in questions._asdict().items()}
        return arrange(drawn, job.order)._asdict() | named

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Float[Tensor, ""]:
        """Mean cross-entropy of the answers."""
        episodes = Episodes(*(batch[name] for name in Episodes._fields))
        questions = Questions(*(batch[f"question_{name}"] for name in Questions._fields))
        logits = model(episodes, questions)
        return cross_entropy(logits.flatten(0, 1), questions.answers.flatten())

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Accuracy on the first held-out repositories, sorted and shuffled."""
        device = next(model.parameters()).device
        first = Episodes(*(column[:CURVE_EPISODES].to(device) for column in self.held_out))
        questions = all_questions(first)
        accuracies = {}
        with torch.no_grad():
            for order in ORDERS:
                answers = model(arrange(first, order), questions).argmax(-1)
                hits = (answers == questions.answers).double()
                accuracies[f"accuracy_{order}"] = float(hits.mean())
        return accuracies

    def flops_per_step(self, model: nn.Module) -> float:
        """Floating-point operations of the matrix products of a step, backward included (×3)."""
        job, d = self.job, self.job.model.d
        symbols = len(self._head(model).entry)
        rows, values = job.training.rows, job.data.values
        turned = job.variant not in ("position-free", "untagged", "tag")
        scores = symbols * d**2 + rows * job.entries * d if turned else rows * (d + symbols) * d
        pooled = rows * (symbols + d + values) * d
        return 3.0 * 2.0 * (rows * d**2 + scores + pooled)

    def _head(self, model: nn.Module) -> RetrievalHead:
        assert isinstance(model, Retriever)
        return model.head


def problem(job: Job, dataset: pd.DataFrame, streams: Streams) -> Problem:
    """The training problem of one seed; ``dataset`` as :func:`data.generate` makes it."""
    return Retrieval(job, dataset, streams)


def all_questions(episodes: Episodes) -> Questions:
    """One question for every entry of every repository."""
    return Questions(episodes.keys, episodes.relations, episodes.values)
