"""Rows as tensors: sentences, triples in slots, and what a step hides of them."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from journeylab.datasets.triples import HEAD, REL, TAIL, Fact, Language

PART_MASKS = 4


class Batch(NamedTuple):
    """Rows of one step: ``(rows, length)`` each; the loss is the mean where ``weights`` is 1."""

    inputs: Tensor
    targets: Tensor
    weights: Tensor


class Table(NamedTuple):
    """All rows of one kind, ``(rows, length)``.

    ``parts`` says which slot a token belongs to, −1 for BEGIN and for the filling of a sentence;
    ``letters`` where a character (not a relation token) stands; ``present`` where a row is not
    filled up.
    """

    tokens: Tensor
    parts: Tensor
    letters: Tensor
    present: Tensor


def tabulate_triples(facts: Sequence[Fact], language: Language, width: int) -> Table:
    """HEAD symbols filled to ``width``, one REL token, TAIL symbols filled to ``width``.

    The filling is part of its slot: whoever hides a name hides its length::

        M i r e . .  <son_of>  K a l o n e      (width 6, filling shown as .)
    """
    tokens = [
        [
            *language.pad(language.encode(fact.head), width),
            language.relation_token(fact.relation),
            *language.pad(language.encode(fact.tail), width),
        ]
        for fact in facts
    ]
    parts = torch.tensor([HEAD] * width + [REL] + [TAIL] * width).expand(len(tokens), -1)
    everywhere = torch.ones(len(tokens), 2 * width + 1, dtype=torch.bool)
    return Table(torch.tensor(tokens), parts, parts != REL, everywhere)


def tabulate_sentences(sentences: Sequence[str], language: Language, length: int) -> Table:
    """BEGIN and the symbols of every sentence, filled up to ``length`` tokens."""
    read = [language.read(text) for text in sentences]
    owner = torch.tensor([[*parts, *[-1] * (length - len(parts))] for _, parts in read])
    places = torch.arange(length)
    present = torch.stack([places < len(tokens) for tokens, _ in read])
    rows = torch.tensor([language.pad(tokens, length) for tokens, _ in read])
    return Table(rows, owner, owner >= 0, present)


def next_tokens(table: Table) -> Batch:
    """Every row for next-token prediction; nothing is asked beyond a sentence's full stop."""
    return Batch(table.tokens[:, :-1], table.tokens[:, 1:], table.present[:, 1:].float())


def draw_hidden(table: Table, rows: Tensor, rate: float, generator: Generator) -> Tensor:
    """Where the chosen rows are hidden: all of HEAD, all of REL, all of TAIL, or characters.

    Each with probability ¼; in the last case every character is hidden with probability ``rate``.
    """
    parts, letters = table.parts[rows], table.letters[rows]
    kind = torch.randint(PART_MASKS, (len(rows), 1), generator=generator)
    scattered = (torch.rand(parts.shape, generator=generator) < rate) & letters
    return torch.where(kind == PART_MASKS - 1, scattered, parts == kind)


def hide(tokens: Tensor, hidden: Tensor, mask: int) -> Batch:
    """The token ``mask`` where hidden; the loss asks for exactly those tokens."""
    return Batch(tokens.masked_fill(hidden, mask), tokens, hidden.float())
