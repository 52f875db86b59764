"""The English of exp7, character by character, and the symbols that all its models read."""

from journeylab.datasets.kinship import CONSONANTS, SENTENCES, VOWELS
from journeylab.datasets.triples import BEGIN, END, MASK, Language

RELATIONS = tuple(SENTENCES)
CHARACTERS = tuple(
    sorted(
        {*CONSONANTS, *CONSONANTS.upper(), *VOWELS}
        | set("".join("".join(forms) for forms in SENTENCES.values())) - set("{}")
    )
)
SYMBOLS = (BEGIN, END, MASK, *(f"<{relation}>" for relation in RELATIONS), *CHARACTERS)
"""The vocabulary, the same for every world and every model."""

ENGLISH = Language(SENTENCES, SYMBOLS, tuple)
