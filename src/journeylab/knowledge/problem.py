"""The training problem of a model that reads text and KG rows.

For every model, the loss of a step is the mean over the text rows + λ · the mean over the KG rows.
A model that reads its KG rows twice, masked and causally, adds λ · the mean of the second reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy, pad

from journeylab.datasets.triples import (
    HEAD,
    MASK,
    REL,
    SPLITS,
    TAIL,
    Corpus,
    FactLanguage,
    entities,
    facts_of,
    write_corpus,
)
from journeylab.knowledge.reader import Reader
from journeylab.knowledge.rows import (
    PART_MASKS,
    Batch,
    TokenTable,
    draw_hidden,
    hide,
    next_tokens,
    tabulate_sentences,
    tabulate_triples,
)
from journeylab.knowledge.settings import TIERS, ReaderJob
from journeylab.models.flops import training_flops
from journeylab.models.transformer import Rows
from journeylab.operators.dropout import Dropout, draw_key

KINDS = ("text", "kg", "causal")
"""Kinds of rows in a batch: text, KG, and the KG rows of a second, causal reading."""

FLOPS_STEPS = 32
"""Number of steps over which the operations of a step are averaged."""

SPLIT_OF_TIER = dict(zip(TIERS, SPLITS, strict=True))
"""All tiers test derived facts, so they differ only in how these facts were trained."""


@dataclass(frozen=True, eq=False)
class Knowledge:
    """The training problem of one seed: the rows of its world, and the losses of its variant."""

    job: ReaderJob
    facts: pd.DataFrame
    language: FactLanguage
    linearised: tuple[int, ...]
    """The templates of the KG rows; none for a native model."""

    @cached_property
    def name_width(self) -> int:
        """The width of a slot: the symbols of the longest name."""
        return max(len(self.language.encode(name)) for name in entities(self.facts))

    @cached_property
    def sentence_length(self) -> int:
        """Tokens of the longest sentence, BEGIN included."""
        language, known = self.language, facts_of(self.facts, *self.facts["split"].unique())
        return max(
            len(language.read(language.sentence(*fact, template))[0])
            for fact in known
            for template in range(len(language.templates[fact.relation]))
        )

    @cached_property
    def text(self) -> Batch:
        """All text rows, for next-token prediction."""
        return next_tokens(self._tabulate(self._rows.text))

    @cached_property
    def kg(self) -> TokenTable:
        """All KG rows, as triples or sentences."""
        if self.job.spec.kg == "native":
            return tabulate_triples(self._rows.triples, self.language, self.name_width)
        return self._tabulate(self._rows.linearised)

    @property
    def tokens_per_step(self) -> int:
        """The expected number of predicted tokens of a step, rounded."""
        training = self.job.training
        text = float(self.text.weights.sum(1).mean()) * training.text_rows
        return round(text + self._supervised_kg() * training.kg_rows)

    def build(self, generator: Generator) -> nn.Module:
        """Return a new model, initialised from ``generator`` only."""
        return Reader(self.job, len(self.language.symbols), self.name_width, generator)

    def batch(self, step: int, order: Generator, dropout: Generator) -> dict[str, Tensor]:
        """Draw the rows of one step, uniformly with replacement, and its dropout key.

        The masks of KG rows come from the dropout stream, so that variants with and without masks
        read the same text rows at the same step of a seed.
        """
        del step  # there is no curriculum
        training = self.job.training
        text = torch.randint(len(self.text.inputs), (training.text_rows,), generator=order)
        kg = torch.randint(len(self.kg.tokens), (training.kg_rows,), generator=order)
        chosen = self._supervise(kg, dropout)
        batch = _named("text", Batch(*(column[text] for column in self.text)))
        batch |= _named("kg", chosen) | {"kg_present": self.kg.present[kg]}
        if self.job.spec.objective == "both":
            batch |= _named("causal", next_tokens(self._of_kg(kg)))
        if training.dropout > 0.0:
            batch["dropout"] = draw_key(dropout)
        return batch

    def compact(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Add the indices of the tokens that are ``present`` (no padding) and ``predicted``.

        The indices count through the text rows and then the KG rows, laid end to end.
        """
        predicted = _end_to_end("weights", batch)
        # in a causal row, padding comes after all predicted tokens and influences none of them
        whole = batch if self.job.spec.objective == "causal" else _with_all_kg_weights(batch)
        present = _end_to_end("weights", whole)
        return batch | {
            "present": present.nonzero().flatten(),
            "predicted": predicted.nonzero().flatten(),
        }

    def loss(self, model: nn.Module, batch: dict[str, Tensor]) -> Float[Tensor, ""]:
        """Mean cross-entropy of the text rows + λ · that of the KG rows, over predicted tokens."""
        reader, predicted = _reader(model), batch.get("predicted")
        rows, dropout = self._read(reader, batch), self._dropout(batch)
        logits = reader.transformer(rows, dropout, batch.get("present"), predicted)
        text, *kg = (rows.weights.flatten() for rows in _parts(batch))
        weight = self.job.training.kg_weight
        shares = torch.cat(
            (text / text.sum(), *(part * (weight / part.sum().clamp(min=1.0)) for part in kg))
        )
        targets = _end_to_end("targets", batch)
        if predicted is not None:
            targets, shares = targets[predicted], shares[predicted]
        return cross_entropy(logits, targets, reduction="none") @ shares

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Return the losses of all rows without dropout, and every tier's perplexity in template 0.

        With masks, every KG row counts once per masked head, relation and tail; the scattered masks
        of training are left out. Perplexity is that of the tail and the full stop.
        """
        reader = _reader(model)
        device = reader.frequencies.device
        everything = {name: rows.to(device) for name, rows in self._all_rows.items()}
        tiers = [
            Batch(*(column.to(device) for column in rows)) for rows in self._tier_rows.values()
        ]
        with torch.no_grad():
            text, *parts = (float(part) for part in self._losses(model, everything))
            of_tiers = model([reader.sentences(rows.inputs) for rows in tiers])
        kg = sum(parts)
        loss = text + self.job.training.kg_weight * kg
        curve = {"loss": loss, "text_loss": text, "kg_loss": kg}
        for tier, logits, rows in zip(self._tier_rows, of_tiers, tiers, strict=True):
            curve[f"perplexity_{tier}"] = float(_mean_loss(logits, rows).exp())
        return curve

    def flops_per_step(self, model: nn.Module) -> float:
        """Floating-point operations of the matrix products of a step, backward pass included.

        For a seed that is trained alone: the mean over some steps, because the numbers of present
        and predicted tokens are random.
        """
        sizes = self.job.model
        generator = Generator().manual_seed(0)
        batches = [self.batch(step, generator, generator) for step in range(FLOPS_STEPS)]
        counted = [self.compact(batch) for batch in batches]
        return training_flops(
            [(len(rows.inputs), rows.inputs.shape[1]) for rows in _parts(batches[0])],
            width=sizes.d,
            layers=sizes.layers,
            vocabulary=len(self.language.symbols),
            present=sum(len(batch["present"]) for batch in counted) / FLOPS_STEPS,
            predicted=sum(len(batch["predicted"]) for batch in counted) / FLOPS_STEPS,
        )

    @property
    def _mask(self) -> int:
        return self.language.identifiers[MASK]

    def _tabulate(self, sentences: Sequence[str]) -> TokenTable:
        return tabulate_sentences(sentences, self.language, self.sentence_length)

    @cached_property
    def _rows(self) -> Corpus:
        return write_corpus(
            self.facts,
            self.language,
            linearised=self.linearised,
            native=self.job.spec.kg == "native",
        )

    @cached_property
    def _all_rows(self) -> dict[str, Tensor]:
        kg = self._supervise_all()
        repeats = len(kg.inputs) // len(self.kg.tokens)
        rows = _named("text", self.text) | _named("kg", kg)
        rows["kg_present"] = self.kg.present.repeat(repeats, 1)
        if self.job.spec.objective == "both":
            rows |= _named("causal", next_tokens(self.kg))
        return rows

    @cached_property
    def _tier_rows(self) -> dict[str, Batch]:
        tiers = {}
        for tier, split in SPLIT_OF_TIER.items():
            facts = facts_of(self.facts, split)
            table = self._tabulate([self.language.sentence(*fact, 0) for fact in facts])
            rows = next_tokens(table)
            tiers[tier] = rows._replace(weights=rows.weights * _after_prompt(table)[:, 1:])
        return tiers

    def _losses(self, model: nn.Module, batch: dict[str, Tensor]) -> list[Tensor]:
        """Mean losses of the text rows and of every reading of the KG rows."""
        reader, parts = _reader(model), _parts(batch)
        logits = reader.transformer(self._read(reader, batch), self._dropout(batch))
        shapes = [rows.inputs.shape for rows in parts]
        of_parts = logits.split([shape.numel() for shape in shapes])
        return [
            _mean_loss(of_part.unflatten(0, shape), rows)
            for of_part, shape, rows in zip(of_parts, shapes, parts, strict=True)
        ]

    def _read(self, reader: Reader, batch: dict[str, Tensor]) -> list[Rows]:
        inputs, kg = batch["text_inputs"], batch["kg_inputs"]
        if self.job.spec.kg == "native":
            rows = [reader.sentences(inputs), reader.triples(kg)]
            if "causal_inputs" in batch:
                rows.append(reader.causal_triples(batch["causal_inputs"]))
            return rows
        if self.job.spec.objective == "mlm":
            return [reader.sentences(inputs), reader.hidden_sentences(kg, batch["kg_present"])]
        if inputs.shape[1] == kg.shape[1]:
            # one group calls fewer operations than two
            return [reader.sentences(torch.cat((inputs, kg)))]
        return [reader.sentences(inputs), reader.sentences(kg)]

    def _dropout(self, batch: dict[str, Tensor]) -> Dropout | None:
        key = batch.get("dropout")
        return None if key is None else Dropout(self.job.training.dropout, key)

    def _supervise(self, rows: Int[Tensor, " chosen"], generator: Generator) -> Batch:
        """The chosen KG rows with the targets of the variant's objective."""
        objective = self.job.spec.objective
        tokens = self.kg.tokens[rows]
        if objective in ("mlm", "both"):
            rate = self.job.training.mask_rate
            return hide(tokens, draw_hidden(self.kg, rows, rate, generator), self._mask)
        if objective == "tail":
            return hide(tokens, self.kg.parts[rows] == TAIL, self._mask)
        return self._supervise_unmasked(rows)

    def _of_kg(self, rows: Int[Tensor, " chosen"]) -> TokenTable:
        return TokenTable(*(column[rows] for column in self.kg))

    def _supervise_unmasked(self, rows: Int[Tensor, " chosen"]) -> Batch:
        table = self._of_kg(rows)
        if self.job.spec.objective == "causal":
            return next_tokens(table)
        return Batch(table.tokens, table.tokens, table.present.float())

    def _supervise_all(self) -> Batch:
        """All KG rows; with masks, each row once for every part that is masked as a whole."""
        objective = self.job.spec.objective
        if objective in ("causal", "copy"):
            return self._supervise_unmasked(torch.arange(len(self.kg.tokens)))
        parts = (TAIL,) if objective == "tail" else (HEAD, REL, TAIL)
        masked = [hide(self.kg.tokens, self.kg.parts == part, self._mask) for part in parts]
        return Batch(*(torch.cat(column) for column in zip(*masked, strict=True)))

    def _supervised_kg(self) -> float:
        """The expected number of predicted tokens of a KG row."""
        objective = self.job.spec.objective
        if objective not in ("mlm", "both"):
            return float(self._supervise_all().weights.sum(1).mean())
        parts = (self.kg.parts >= 0).sum(1).float()
        scattered = self.job.training.mask_rate * self.kg.letters.sum(1).float()
        hidden = float((parts + scattered).mean()) / PART_MASKS
        again = next_tokens(self.kg).weights.sum(1).mean() if objective == "both" else 0.0
        return hidden + float(again)


def _after_prompt(table: TokenTable) -> Bool[Tensor, "rows length"]:
    """The tokens of the tail and the full stop."""
    stop = table.present & ~pad(table.present[:, 1:], (0, 1))
    return (table.parts == TAIL) | stop


def _named(kind: str, rows: Batch) -> dict[str, Tensor]:
    return {f"{kind}_{name}": column for name, column in rows._asdict().items()}


def _parts(batch: dict[str, Tensor]) -> list[Batch]:
    """The text rows and KG rows of a batch, and the KG rows of a second reading if there is one."""
    kinds = (kind for kind in KINDS if f"{kind}_inputs" in batch)
    return [Batch(*(batch[f"{kind}_{name}"] for name in Batch._fields)) for kind in kinds]


def _with_all_kg_weights(batch: dict[str, Tensor]) -> dict[str, Tensor]:
    """The batch with weight 1 on all KG tokens that are no padding."""
    return batch | {"kg_weights": batch["kg_present"]}


def _end_to_end(name: str, batch: dict[str, Tensor]) -> Tensor:
    """A column of all rows, flattened and concatenated."""
    return torch.cat([getattr(rows, name).flatten() for rows in _parts(batch)])


def _mean_loss(logits: Tensor, rows: Batch) -> Tensor:
    lost = cross_entropy(logits.flatten(0, 1), rows.targets.flatten(), reduction="none")
    weights = rows.weights.flatten()
    return (lost * weights).sum() / weights.sum().clamp(min=1.0)


def _reader(model: nn.Module) -> Reader:
    return cast(Reader, model)
