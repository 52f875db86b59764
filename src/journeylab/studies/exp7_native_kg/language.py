"""The English of exp7, split into characters, and the vocabulary of its models."""

from journeylab.datasets.kinship import CONSONANTS, SENTENCES, VOWELS
from journeylab.datasets.triples import BEGIN, END, MASK, FactLanguage

RELATIONS = tuple(SENTENCES)
CHARACTERS = tuple(
    sorted(
        {*CONSONANTS, *CONSONANTS.upper(), *VOWELS}
        | set("".join("".join(forms) for forms in SENTENCES.values())) - set("{}")
    )
)
SYMBOLS = (BEGIN, END, MASK, *(f"<{relation}>" for relation in RELATIONS), *CHARACTERS)
"""The vocabulary, the same for all worlds and models."""

ENGLISH = FactLanguage(SENTENCES, SYMBOLS, tuple)
