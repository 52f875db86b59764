"""Training rows as tensors: sentences, triples in slots, and the tokens that a step masks."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from journeylab.datasets.triples import HEAD, REL, TAIL, Fact, FactLanguage

PART_MASKS = 4
"""Equally likely ways to mask a row: HEAD, REL, TAIL, or single characters."""


class Batch(NamedTuple):
    """Rows with their targets; the loss is the mean over the tokens whose ``weights`` are 1."""

    inputs: Int[Tensor, "rows length"]
    targets: Int[Tensor, "rows length"]
    weights: Float[Tensor, "rows length"]


class TokenTable(NamedTuple):
    """All rows of one kind.

    ``parts``: the slot of a token, −1 for BEGIN and the padding of a sentence. ``letters``: the
    token is a character, not a relation token. ``present``: the token is no padding of a row.
    """

    tokens: Int[Tensor, "rows length"]
    parts: Int[Tensor, "rows length"]
    letters: Bool[Tensor, "rows length"]
    present: Bool[Tensor, "rows length"]


def tabulate_triples(facts: Sequence[Fact], language: FactLanguage, width: int) -> TokenTable:
    """Write triples: HEAD padded to ``width``, one REL token, TAIL padded to ``width``.

    The padding belongs to its slot, so masking a name also masks its length::

        M i r e . .  <son_of>  K a l o n e      (width 6, padding shown as .)
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
    return TokenTable(torch.tensor(tokens), parts, parts != REL, everywhere)


def tabulate_sentences(sentences: Sequence[str], language: FactLanguage, length: int) -> TokenTable:
    """Write sentences: BEGIN and the symbols, padded to ``length`` tokens."""
    read = [language.read(text) for text in sentences]
    owner = torch.tensor([[*parts, *[-1] * (length - len(parts))] for _, parts in read])
    present = torch.stack([torch.arange(length) < len(tokens) for tokens, _ in read])
    rows = torch.tensor([language.pad(tokens, length) for tokens, _ in read])
    return TokenTable(rows, owner, owner >= 0, present)


def next_tokens(table: TokenTable) -> Batch:
    """Every row for next-token prediction; padding is not predicted."""
    return Batch(table.tokens[:, :-1], table.tokens[:, 1:], table.present[:, 1:].float())


def draw_hidden(
    table: TokenTable, rows: Int[Tensor, " chosen"], rate: float, generator: Generator
) -> Bool[Tensor, "chosen length"]:
    """Draw which tokens of the chosen rows are masked: HEAD, REL, TAIL, or single characters.

    Each has probability ¼; in the last case every character is masked with probability ``rate``.
    """
    parts, letters = table.parts[rows], table.letters[rows]
    kind = torch.randint(PART_MASKS, (len(rows), 1), generator=generator)
    scattered = (torch.rand(parts.shape, generator=generator) < rate) & letters
    return torch.where(kind == PART_MASKS - 1, scattered, parts == kind)


def hide(
    tokens: Int[Tensor, "rows length"], hidden: Bool[Tensor, "rows length"], mask: int
) -> Batch:
    """Replace the ``hidden`` tokens by ``mask``; exactly these are predicted."""
    return Batch(tokens.masked_fill(hidden, mask), tokens, hidden.float())
