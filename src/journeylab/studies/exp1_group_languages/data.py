"""Strings for training and validation over {a, b}.

There are two kinds: *uniform* strings, and *halved* strings, uniform among those with as many a's
as b's. All lengths have the same number of strings, up to 1. Every task labels the same strings, so
the arms of a seed are paired. An example row: ``train, uniform, "abbabaabba"``.
"""

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray

from journeylab.streams import Streams
from journeylab.studies.exp1_group_languages.settings import LONGEST, SHORTEST, Data

COLUMNS = ("split", "kind", "word")
SPLITS = ("train", "validation")
KINDS = ("uniform", "halved")
ALPHABET = "ab"
PADDING = 2
"""Fills the rows behind the end of a string that is shorter than LONGEST."""


def generate(data: Data, streams: Streams) -> pd.DataFrame:
    """One seed's strings: split, kind (``halved`` has even lengths only), word."""
    rng = streams.numpy("strings")
    rows = [
        (split, kind, "".join(ALPHABET[letter] for letter in draw_word(kind, length, rng)))
        for split, size in zip(SPLITS, (data.train, data.validation), strict=True)
        for kind in KINDS
        for length in _spread_lengths(kind, size)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def draw_word(kind: str, length: int, rng: Generator) -> NDArray[np.uint8]:
    """A random string as letters ``(length,)``, 0 for a and 1 for b.

    Raises ValueError for a halved string of odd length.
    """
    if kind == "uniform":
        return rng.integers(0, 2, length, dtype=np.uint8)
    if length % 2:
        raise ValueError(f"no string of {length} letters has as many a's as b's")
    return rng.permutation(np.arange(length) % 2).astype(np.uint8)


def lay_out(words: pd.Series) -> NDArray[np.uint8]:
    """Strings as columns of letters ``(LONGEST, strings)``, with PADDING behind their ends."""
    columns = np.full((LONGEST, len(words)), PADDING, dtype=np.uint8)
    for column, word in enumerate(words):
        columns[: len(word), column] = np.frombuffer(word.encode(), np.uint8) - ord(ALPHABET[0])
    return columns


def _spread_lengths(kind: str, size: int) -> list[int]:
    step = 1 if kind == "uniform" else 2
    lengths = range(SHORTEST, LONGEST + 1, step)
    return [lengths[i % len(lengths)] for i in range(size)]
