"""The English of exp12: a word is one symbol, a name has 1, 2 or 4 symbols."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from journeylab.datasets.kinship import CONSONANTS, SENTENCES, VOWELS
from journeylab.datasets.triples import BEGIN, END, MASK, NAME, FactLanguage
from journeylab.studies.exp12_native_kg_transfer.settings import Data

LETTERS = 4
"""Letters of every name."""

ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "born_in": (
        "{head} was born in {tail}.",
        "{head} first saw light at {tail}.",
        "the birthplace of {head} is {tail}.",
    ),
    "works_for": (
        "{head} works for {tail}.",
        "{head} earns his bread with {tail}.",
        "the employer of {head} is {tail}.",
    ),
    "member_of": (
        "{head} is a member of {tail}.",
        "{head} pays his dues to {tail}.",
        "the guild of {head} is {tail}.",
    ),
}
"""Three templates per relation of an attribute world."""

TEMPLATES: dict[str, Mapping[str, tuple[str, ...]]] = {
    "family": SENTENCES,
    "attributes": ATTRIBUTES,
}


def cut(text: str, letters: int) -> list[str]:
    """Split a text into words, full stops and pieces of names: ``Ba ·do works for Ke ·lu .``

    ``letters``: the length of a piece; ``·`` marks the pieces that continue a name.
    """
    symbols: list[str] = []
    for word in re.findall(rf"{NAME}|[a-z-]+|\.", text):
        size = letters if re.fullmatch(NAME, word) else len(word)
        first, *others = (word[i : i + size] for i in range(0, len(word), size))
        symbols += [first, *(f"·{piece}" for piece in others)]
    return symbols


def language_of(world: Data, tokens: int, names: Sequence[str]) -> FactLanguage:
    """Return the language of a world; a name has ``tokens`` tokens, with 1 token its own symbol."""
    templates = TEMPLATES[world.world]
    letters = LETTERS // tokens
    forms = (form.format(head="", tail="") for form in sum(templates.values(), ()))
    words = {word for form in forms for word in cut(form, letters)}
    pieces = sorted(names) if tokens == 1 else sorted(_pieces(letters))
    relations = (f"<{relation}>" for relation in templates)
    symbols = (BEGIN, END, MASK, *relations, *sorted(words), *pieces)
    return FactLanguage(templates, symbols, partial(cut, letters=letters))


def _pieces(letters: int) -> Iterable[str]:
    """The syllables (2 letters) or characters (1) that begin a name, and those that continue it."""
    within = {*CONSONANTS, *VOWELS}
    if letters == 2:
        within = {consonant + vowel for consonant in CONSONANTS for vowel in VOWELS}
    begins = {piece.capitalize() for piece in within if piece[0] in CONSONANTS}
    return {*begins, *(f"·{piece}" for piece in within)}
