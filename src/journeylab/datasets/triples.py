"""Facts as triples, as sentences, and as the symbols that a model reads.

A table of facts has columns relation, head, tail, head_type, tail_type, kind and split. The split
says where a model reads the fact, and whether evaluation tests it:

=============== ================================================ ======
split           read                                             tested
=============== ================================================ ======
base            in text, and as a triple or linearised row       no
teaching        in text, and as a triple or linearised row       yes
transfer        as a triple or linearised row only               yes
shown           as a triple or linearised row only               no
generalisation  nowhere                                          yes
=============== ================================================ ======
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
"""The slots of a triple. In a sentence, REL is everything outside the two names."""
BEGIN, END, MASK = "<begin>", "<end>", "<mask>"
NAME = r"[A-Z][a-z]+"
"""An entity's name; a capital letter distinguishes it from words."""


class Fact(NamedTuple):
    """``relation`` holds between ``head`` and ``tail``."""

    head: str
    relation: str
    tail: str


class Corpus(NamedTuple):
    """The training rows of a model: sentences, linearised KG rows, and native triples."""

    text: tuple[str, ...]
    linearised: tuple[str, ...]
    triples: tuple[Fact, ...]


@dataclass(frozen=True)
class FactLanguage:
    """Sentence templates by relation, the vocabulary, and the tokeniser ``cut``.

    A template ends with the tail and a full stop; the head comes before the tail.
    """

    templates: Mapping[str, tuple[str, ...]]
    symbols: tuple[str, ...]
    cut: Callable[[str], Iterable[str]]

    @cached_property
    def identifiers(self) -> dict[str, int]:
        """Symbol → token number."""
        return {symbol: identifier for identifier, symbol in enumerate(self.symbols)}

    def sentence(self, head: str, relation: str, tail: str, template: int) -> str:
        """The sentence of a fact."""
        return self.templates[relation][template].format(head=head, tail=tail)

    def prompt(self, head: str, relation: str, template: int) -> str:
        """The sentence up to its tail; it ends with a blank."""
        return self.sentence(head, relation, "", template)[:-1]

    def encode(self, text: str) -> list[int]:
        """The tokens of a text; raises KeyError for a symbol outside the vocabulary."""
        return [self.identifiers[symbol] for symbol in self.cut(text)]

    def read(self, sentence: str) -> tuple[list[int], list[int]]:
        """The tokens of a sentence after BEGIN, and the part that each belongs to.

        The parts are HEAD (the first name), TAIL (the second name), REL (all else) and −1 (BEGIN).
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
        """The token that stands for a relation in a triple."""
        return self.identifiers[f"<{relation}>"]

    def pad(self, tokens: Sequence[int], width: int) -> list[int]:
        """Pad with END to ``width``; raises ValueError if there are more tokens than that."""
        if len(tokens) > width:
            raise ValueError(f"{len(tokens)} tokens do not fit into a width of {width}")
        return [*tokens, *[self.identifiers[END]] * (width - len(tokens))]


def entities(facts: pd.DataFrame) -> dict[str, str]:
    """Entity → type, in alphabetical order of type and name."""
    pairs = {*zip(facts["head"], facts["head_type"], strict=True)}
    pairs |= {*zip(facts["tail"], facts["tail_type"], strict=True)}
    return {name: kind for kind, name in sorted((kind, name) for name, kind in pairs)}


def facts_of(facts: pd.DataFrame, *splits: str) -> list[Fact]:
    """The facts of the given splits, in the order of the table."""
    chosen = facts[facts["split"].isin(splits)]
    return [
        Fact(*row) for row in zip(chosen["head"], chosen["relation"], chosen["tail"], strict=True)
    ]


def write_corpus(
    facts: pd.DataFrame, language: FactLanguage, *, linearised: Sequence[int], native: bool
) -> Corpus:
    """Write the training rows of one model.

    Text: the facts of base and teaching in all templates, the same for every model. KG rows: these
    facts and those of transfer and shown, as sentences in the ``linearised`` templates, and as
    triples if the model is ``native``. Raises AssertionError if a fact leaks into a row.
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
    """Raise AssertionError if a row shows a fact that it must not show.

    The pair {head, tail} of a generalisation fact must occur in no row, under any relation and in
    either order. The pair of a transfer or shown fact must occur in no text row.
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
