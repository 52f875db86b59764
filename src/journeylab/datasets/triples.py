"""Facts as triples, as sentences, and as the symbols that a model reads.

A table of facts has columns relation, head, tail, head_type, tail_type, kind and split. Facts of
split ``base`` and ``teaching`` are written as text, those of ``transfer`` are shown as triples or
as linearised rows only, and those of ``generalisation`` nowhere. ``shown`` facts are seen as those
of transfer are, and never asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pandas as pd

COLUMNS = ("relation", "head", "tail", "head_type", "tail_type", "kind", "split")
SPLITS = ("teaching", "transfer", "generalisation")
HEAD, REL, TAIL = range(3)
"""The slots of a triple; in a sentence REL is all that is in neither name."""
BEGIN, END, MASK = "<begin>", "<end>", "<mask>"
NAME = r"[A-Z][a-z]+"
"""An entity's name, told from words by its capital."""


class Fact(NamedTuple):
    """Head and tail of a relation."""

    head: str
    relation: str
    tail: str


class Corpus(NamedTuple):
    """What one model trains on: sentences, linearised KG rows, and native triples."""

    text: tuple[str, ...]
    linearised: tuple[str, ...]
    triples: tuple[Fact, ...]


@dataclass(frozen=True)
class Language:
    """Sentence templates by relation, the vocabulary, and how a text is cut into its symbols.

    In a template the tail comes last, with a full stop, and after the head.
    """

    templates: Mapping[str, tuple[str, ...]]
    symbols: tuple[str, ...]
    cut: Callable[[str], Iterable[str]]

    @cached_property
    def identifiers(self) -> dict[str, int]:
        """Every symbol's number."""
        return {symbol: identifier for identifier, symbol in enumerate(self.symbols)}

    def sentence(self, head: str, relation: str, tail: str, template: int) -> str:
        """A fact in English."""
        return self.templates[relation][template].format(head=head, tail=tail)

    def prompt(self, head: str, relation: str, template: int) -> str:
        """The sentence up to its tail, which begins right after the last blank."""
        return self.sentence(head, relation, "", template)[:-1]

    def encode(self, text: str) -> list[int]:
        """A text's symbols as numbers; raises KeyError for one that is not in the vocabulary."""
        return [self.identifiers[symbol] for symbol in self.cut(text)]

    def read(self, sentence: str) -> tuple[list[int], list[int]]:
        """BEGIN and a sentence's symbols, and what each belongs to: HEAD, TAIL, else REL.

        BEGIN belongs to nothing, −1. HEAD is the first name, TAIL the last one.
        """
        tokens, parts = [self.identifiers[BEGIN]], [-1]
        names = iter((HEAD, TAIL))
        for piece in re.split(f"({NAME})", sentence):
            part = next(names) if re.fullmatch(NAME, piece) else REL
            encoded = self.encode(piece)
            tokens += encoded
            parts += [part] * len(encoded)
        return tokens, parts

    def relation_token(self, relation: str) -> int:
        """The number of the one symbol that stands for a relation in a triple."""
        return self.identifiers[f"<{relation}>"]

    def pad(self, tokens: Sequence[int], width: int) -> list[int]:
        """Fill up with END to ``width``; raises ValueError if the tokens are longer than that."""
        if len(tokens) > width:
            raise ValueError(f"{len(tokens)} tokens do not fit into a width of {width}")
        return [*tokens, *[self.identifiers[END]] * (width - len(tokens))]


def entities(facts: pd.DataFrame) -> dict[str, str]:
    """Every entity and its type, in alphabetical order by type and name."""
    pairs = {*zip(facts["head"], facts["head_type"], strict=True)}
    pairs |= {*zip(facts["tail"], facts["tail_type"], strict=True)}
    return {name: kind for kind, name in sorted((kind, name) for name, kind in pairs)}


def facts_of(facts: pd.DataFrame, *splits: str) -> list[Fact]:
    """The facts of the given splits (``base`` or one of SPLITS), in the order of the table."""
    chosen = facts[facts["split"].isin(splits)]
    return [
        Fact(*row) for row in zip(chosen["head"], chosen["relation"], chosen["tail"], strict=True)
    ]


def write_corpus(
    facts: pd.DataFrame, language: Language, *, linearised: Sequence[int], native: bool
) -> Corpus:
    """The rows of one model; text, in all templates, is the same for all of them.

    KG facts add those of transfer and those shown; they are written in the ``linearised``
    templates, or are triples where the model is ``native``. Raises AssertionError if a fact leaks
    into rows that must not show it.
    """
    kg = facts_of(facts, "base", "teaching", "transfer", "shown")
    rows = Corpus(
        text=tuple(
            language.sentence(*fact, template)
            for fact in facts_of(facts, "base", "teaching")
            for template in range(len(language.templates[fact.relation]))
        ),
        linearised=tuple(
            language.sentence(*fact, template) for fact in kg for template in linearised
        ),
        triples=tuple(kg) if native else (),
    )
    assert_no_leak(facts, rows)
    return rows


def assert_no_leak(facts: pd.DataFrame, rows: Corpus) -> None:
    """Refuse rows that show a fact they must not.

    A generalisation pair {head, tail} occurs in no row of any kind, under any relation and in
    either order; a transfer pair, or one that is shown only, occurs in no text row.
    """
    text = _pairs(rows.text)
    everything = text | _pairs(rows.linearised)
    everything |= {frozenset((fact.head, fact.tail)) for fact in rows.triples}
    for fact in facts_of(facts, "generalisation"):
        assert frozenset((fact.head, fact.tail)) not in everything, f"{fact} occurs in training"
    for fact in facts_of(facts, "transfer", "shown"):
        assert frozenset((fact.head, fact.tail)) not in text, f"{fact} occurs in a text row"


def _pairs(sentences: Iterable[str]) -> set[frozenset[str]]:
    return {frozenset(re.findall(NAME, text)) for text in sentences}
