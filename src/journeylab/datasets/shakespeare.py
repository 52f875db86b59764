"""Tiny Shakespeare: the characters of plays, cut into passages, of which every seed holds some out.

The text is cut into passages of equal length; a seed's random stream decides which are held out. A
window is T characters of one passage, with the T characters one position later as targets::

    input   F i r s t _ C i
    target  i r s t _ C i t

Training draws windows at random positions of the training passages. The held-out passages are read
from their beginnings, window by window.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Self

import numpy as np
import pandas as pd
import torch
from jaxtyping import Int
from torch import Generator, Tensor

from journeylab.config import UserError
from journeylab.datasets.settings import Shakespeare

Part = Literal["train", "held-out"]


class Windows(NamedTuple):
    """Characters as indices of the alphabet, int64; `targets` are `inputs` one position later."""

    inputs: Int[Tensor, "rows length"]
    targets: Int[Tensor, "rows length"]


class Passages(NamedTuple):
    """The passages of one part; `characters` are indices of `alphabet`, int64."""

    characters: Int[Tensor, "passages width"]
    alphabet: str

    @classmethod
    def of(cls, dataset: pd.DataFrame, part: Part) -> Self:
        """Encode one part of a seed's dataset; both parts share the alphabet."""
        alphabet = "".join(sorted(set().union(*map(set, dataset["text"]))))
        texts = dataset.loc[dataset["part"] == part, "text"]
        return cls(encode(texts.tolist(), alphabet), alphabet)

    def draw(self, rows: int, length: int, generator: Generator) -> Windows:
        """Draw windows: a passage and a start in it, uniformly and independently."""
        count, width = self.characters.shape
        chosen = torch.randint(count, (rows, 1), generator=generator)
        starts = torch.randint(width - length, (rows, 1), generator=generator)
        window = self.characters[chosen, starts + torch.arange(length + 1)]
        return Windows(window[:, :-1], window[:, 1:])

    def read(self, length: int) -> Windows:
        """Read every passage from its beginning, window by window; an incomplete one is dropped."""
        fitting = (self.characters.shape[1] - 1) // length * length
        inputs = self.characters[:, :fitting].reshape(-1, length)
        return Windows(inputs, self.characters[:, 1 : fitting + 1].reshape(-1, length))


def split(data: Shakespeare, file: Path, generator: Generator) -> pd.DataFrame:
    """Cut a text into passages, in order: columns passage, part, text. The rest is dropped.

    Raises UserError if there are too few passages for two parts.
    """
    text = file.read_text(encoding="utf-8")
    passages = len(text) // data.passage
    held_out = round(passages * data.held_out)
    if not 0 < held_out < passages:
        raise UserError(
            f"{passages} passages of {data.passage} characters, {held_out} of them held out: "
            "write a smaller passage or another share"
        )
    chosen = torch.randperm(passages, generator=generator)[:held_out].tolist()
    starts = range(0, passages * data.passage, data.passage)
    parts = np.full(passages, "train", dtype=object)
    parts[chosen] = "held-out"
    texts = [text[start : start + data.passage] for start in starts]
    return pd.DataFrame({"passage": range(passages), "part": parts, "text": texts})


def encode(texts: Sequence[str], alphabet: str) -> Int[Tensor, "texts width"]:
    """Encode texts of one length as the indices of their characters in a sorted alphabet, int64."""
    points = np.array([list(map(ord, text)) for text in texts], dtype=np.int64)
    known = np.array([ord(character) for character in alphabet])
    return torch.from_numpy(np.searchsorted(known, points))


def unigram_entropy(seen: Passages, held_out: Passages) -> float:
    """Cross-entropy, in nats per held-out character, of the unigram frequencies of `seen`."""
    return _cross_entropy(seen, held_out, context=0)


def bigram_entropy(seen: Passages, held_out: Passages) -> float:
    """Cross-entropy, in nats per held-out character, of the bigram frequencies of `seen`."""
    return _cross_entropy(seen, held_out, context=1)


def _cross_entropy(seen: Passages, held_out: Passages, context: int) -> float:
    """Cross-entropy with add-one smoothing, given `context` (0 or 1) preceding characters."""
    letters = len(seen.alphabet)
    counts = torch.ones(letters**context, letters, dtype=torch.float64)
    counts += _pairs(seen, letters, context)
    probabilities = counts / counts.sum(1, keepdim=True)
    observed = _pairs(held_out, letters, context)
    return float(-(observed * probabilities.log()).sum() / observed.sum())


def _pairs(passages: Passages, letters: int, context: int) -> Tensor:
    """Counts of each character (context 0), or of each character after each other (context 1)."""
    before, after = passages.characters[:, :-1].flatten(), passages.characters[:, 1:].flatten()
    joint = after + (letters * before if context else 0)
    counts = torch.bincount(joint, minlength=letters ** (context + 1)).double()
    return counts.view(letters**context, letters)
