"""Rows as tensors: sentences, triples in slots, and what a step hides of them."""

from typing import NamedTuple

import torch
from torch import Generator, Tensor

from journeylab.studies.exp7_native_kg.data import Fact
from journeylab.studies.exp7_native_kg.language import (
    BEGIN,
    IDENTIFIERS,
    MASK,
    encode,
    pad,
    relation_token,
)

HEAD, REL, TAIL = range(3)
"""The slots of a triple; in a sentence REL is every character that is in neither name."""

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


def tabulate_triples(facts: tuple[Fact, ...] | list[Fact], width: int) -> Table:
    """HEAD characters filled to ``width``, one REL token, TAIL characters filled to ``width``.

    The filling is part of its slot: whoever hides a name hides its length::

        M i r e . .  <son_of>  K a l o n e      (width 6, filling shown as .)
    """
    tokens = [
        [
            *pad(encode(fact.head), width),
            relation_token(fact.relation),
            *pad(encode(fact.tail), width),
        ]
        for fact in facts
    ]
    parts = torch.tensor([HEAD] * width + [REL] + [TAIL] * width).expand(len(tokens), -1)
    everywhere = torch.ones(len(tokens), 2 * width + 1, dtype=torch.bool)
    return Table(torch.tensor(tokens), parts, parts != REL, everywhere)


def tabulate_sentences(sentences: tuple[str, ...] | list[str], length: int) -> Table:
    """BEGIN and the characters of every sentence, filled up to ``length`` tokens."""
    rows, parts = [], []
    for text in sentences:
        first, last = _names(text)
        rows.append(pad([IDENTIFIERS[BEGIN], *encode(text)], length))
        part = [REL] * len(text)
        part[first] = [HEAD] * len(part[first])
        part[last] = [TAIL] * len(part[last])
        parts.append([-1, *part, *[-1] * (length - 1 - len(text))])
    owner = torch.tensor(parts)
    present = torch.tensor(
        [[True] * (1 + len(text)) + [False] * (length - 1 - len(text)) for text in sentences]
    )
    return Table(torch.tensor(rows), owner, owner >= 0, present)


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


def hide(tokens: Tensor, hidden: Tensor) -> Batch:
    """MASK where hidden; the loss asks for exactly those tokens."""
    return Batch(tokens.masked_fill(hidden, IDENTIFIERS[MASK]), tokens, hidden.float())


def _names(text: str) -> tuple[slice, slice]:
    starts = [i for i, character in enumerate(text) if character.isupper()]
    spans = []
    for start in starts:
        stop = start + 1
        while text[stop].islower():
            stop += 1
        spans.append(slice(start, stop))
    first, last = spans
    return first, last
