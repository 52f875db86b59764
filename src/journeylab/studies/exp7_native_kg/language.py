"""The English of exp7, split into characters or words, and the vocabulary of its models."""

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from journeylab.datasets.kinship import CONSONANTS, SENTENCES, VOWELS
from journeylab.datasets.triples import BEGIN, END, MASK, NAME, FactLanguage

RELATIONS = tuple(SENTENCES)
_TEXT = "".join("".join(forms) for forms in SENTENCES.values())


def words(text: str) -> list[str]:
    """Split a text into names, words and full stops."""
    return re.findall(rf"{NAME}|[a-z-]+|\.", text)


def language_of(tokens: Literal["characters", "words"], names: Sequence[str] = ()) -> FactLanguage:
    """Return the language of a world with these ``names``, each of which is a token among words."""
    known: Iterable[str] = {*CONSONANTS, *CONSONANTS.upper(), *VOWELS, *_TEXT} - {*"{}"}
    if tokens == "words":
        known = {*words(re.sub("{[a-z]+}", "", _TEXT)), *names}
    symbols = (BEGIN, END, MASK, *(f"<{relation}>" for relation in RELATIONS), *sorted(known))
    return FactLanguage(SENTENCES, symbols, words if tokens == "words" else tuple)


ENGLISH = language_of("characters")
"""In characters the vocabulary is the same for all worlds."""
