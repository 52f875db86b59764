"""Text that attends to a repository of KG facts, which are not trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy

from journeylab.knowledge.problem import Knowledge
from journeylab.knowledge.reader import Reader
from journeylab.models.flops import training_flops
from journeylab.models.repository import Repository, read_beside, store
from journeylab.models.transformer import Rows
from journeylab.operators.dropout import draw_masks


class RepositoryReader:
    """A reader whose text attends to a repository of stored facts."""

    def __init__(self, reader: Reader, repository: Repository) -> None:
        self.reader, self.repository = reader, repository

    def branching_sentences(
        self, tokens: Int[Tensor, "rows length"], ancestors: Bool[Tensor, "length length"]
    ) -> Rows:
        """Return rows of branching text; see :meth:`Reader.branching_sentences`."""
        return self.reader.branching_sentences(tokens, ancestors)

    def __call__(self, groups: Sequence[Rows]) -> list[Float[Tensor, "_ _ vocabulary"]]:
        """Return the logits [rows, length, vocabulary] of every group."""
        model = self.reader.transformer
        return [model.predict(read_beside(model, rows, self.repository)) for rows in groups]


@dataclass(frozen=True, eq=False)
class RepositoryProblem:
    """The training problem of one seed: text is trained, KG facts are in the repository.

    At the same step of a seed, it reads the same text rows as :class:`Knowledge`.
    """

    knowledge: Knowledge

    @property
    def facts(self) -> pd.DataFrame:
        """The seed's world."""
        return self.knowledge.facts

    @property
    def tokens_per_step(self) -> int:
        """The expected number of predicted tokens of a step, rounded."""
        weights = self.knowledge.text.weights
        return round(float(weights.sum(1).mean()) * self.knowledge.job.training.text_rows)

    def build(self, generator: Generator) -> nn.Module:
        """Return a new reader, initialised from ``generator`` only."""
        return self.knowledge.build(generator)

    def batch(self, step: int, order: Generator, dropout: Generator) -> dict[str, Tensor]:
        """Draw a step's text rows and dropout key; add all entries of the repository."""
        drawn = self.knowledge.batch(step, order, dropout)
        kept = {name: rows for name, rows in drawn.items() if not name.startswith("kg_")}
        return kept | self._entries

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Float[Tensor, ""]:
        """Mean cross-entropy of the text rows, over predicted tokens."""
        reader = cast(Reader, model)
        transformer = reader.transformer
        text, entries = reader.sentences(batch["text_inputs"]), self._read(reader, batch["entries"])
        of_text = of_entries = None
        if "dropout" in batch:
            sizes = [text.tokens.numel(), entries.tokens.numel()]
            shape = (1 + 2 * transformer.layers, sum(sizes), transformer.width)
            rate = self.knowledge.job.training.dropout
            masks = draw_masks(shape, rate, batch["dropout"], transformer.embedding.dtype)
            of_text, of_entries = masks.split(sizes, 1)
        repository = store(transformer, entries, of_entries, batch["entries_present"])
        logits = transformer.predict(read_beside(transformer, text, repository, of_text))
        return _mean_loss(logits, batch["text_targets"], batch["text_weights"])

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Return the training loss without dropout."""
        reader, rows = cast(Reader, model), self.knowledge.text
        device = reader.frequencies.device
        with torch.no_grad():
            [logits] = self.with_repository(reader)([reader.sentences(rows.inputs.to(device))])
            loss = _mean_loss(logits, rows.targets.to(device), rows.weights.to(device))
        return {"loss": float(loss), "text_loss": float(loss)}

    def with_repository(self, reader: Reader) -> RepositoryReader:
        """Return the reader with its repository, whose keys and values are computed once."""
        held = {name: rows.to(reader.frequencies.device) for name, rows in self._entries.items()}
        entries = self._read(reader, held["entries"])
        return RepositoryReader(
            reader, store(reader.transformer, entries, present=held["entries_present"])
        )

    def flops_per_step(self, model: nn.Module) -> float:
        """Floating-point operations of the matrix products of a step, backward pass included."""
        sizes, text = self.knowledge.job.model, self.knowledge.text.inputs
        rows, length = self.knowledge.job.training.text_rows, text.shape[1]
        entries = self._entries
        beside = 2 * rows * length * entries["entries"].numel() * sizes.d * sizes.layers
        shapes = [(rows, length), (len(entries["entries"]), entries["entries"].shape[1])]
        within = training_flops(
            shapes,
            width=sizes.d,
            layers=sizes.layers,
            vocabulary=len(self.knowledge.language.symbols),
            predicted=rows * length,
        )
        return within + 6.0 * beside

    @cached_property
    def _entries(self) -> dict[str, Tensor]:
        """The KG rows, and which of their tokens are no padding."""
        kg = self.knowledge.kg
        return {"entries": kg.tokens, "entries_present": kg.present}

    def _read(self, reader: Reader, tokens: Tensor) -> Rows:
        native = self.knowledge.job.spec.kg == "native"
        return reader.triples(tokens) if native else reader.sentences(tokens)


def _mean_loss(logits: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    lost = cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    return (lost * weights.flatten()).sum() / weights.sum()
