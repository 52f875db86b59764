"""Tiny Shakespeare: characters of plays, cut into passages of which a seed holds some out.

The text is cut into passages of equal length; the stream of a seed decides which are held out. A
window is T characters of one passage and, one place on, the T that follow them::

    input   F i r s t _ C i
    target  i r s t _ C i t

Training draws windows from anywhere in the passages it may see; those that are held out are read
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
    """Characters, and those that follow them."""

    inputs: Int[Tensor, "rows length"]
    targets: Int[Tensor, "rows length"]


class Passages(NamedTuple):
    """The passages of one part as numbers of an alphabet."""

    characters: Int[Tensor, "passages width"]
    alphabet: str

    @classmethod
    def of(cls, dataset: pd.DataFrame, part: Part) -> Self:
        """The passages of a part of a seed; the alphabet is that of both."""
        alphabet = "".join(sorted(set().union(*map(set, dataset["text"]))))
        texts = dataset.loc[dataset["part"] == part, "text"]
        return cls(encode(texts.tolist(), alphabet), alphabet)

    def draw(self, rows: int, length: int, order: Generator) -> Windows:
        """Windows from anywhere: a passage and a place in it, uniformly and independently."""
        count, width = self.characters.shape
        chosen = torch.randint(count, (rows, 1), generator=order)
        starts = torch.randint(width - length, (rows, 1), generator=order)
        places = starts + torch.arange(length + 1)
        window = self.characters[chosen, places]
        return Windows(window[:, :-1], window[:, 1:])

    def read(self, length: int) -> Windows:
        """Every passage from its beginning, window by window; what is left over is not read."""
        fitting = (self.characters.shape[1] - 1) // length * length
        inputs = self.characters[:, :fitting].reshape(-1, length)
        return Windows(inputs, self.characters[:, 1 : fitting + 1].reshape(-1, length))


def split(data: Shakespeare, file: Path, generator: Generator) -> pd.DataFrame:
    """The passages of a text in its order: passage, part, text; what is left over is dropped.

    Raises UserError where there are too few passages for two parts.
    """
    text = file.read_text(encoding="utf-8")
    passages = len(text) // data.passage
    held_out = round(passages * data.held_out)
    if not 0 < held_out < passages:
        raise UserError(
            f"{passages} passages of {data.passage} characters, {held_out} of them held out: "
            "write a smaller passage, or another share"
        )
    chosen = torch.randperm(passages, generator=generator)[:held_out].tolist()
    starts = range(0, passages * data.passage, data.passage)
    parts = np.full(passages, "train", dtype=object)
    parts[chosen] = "held-out"
    texts = [text[start : start + data.passage] for start in starts]
    return pd.DataFrame({"passage": range(passages), "part": parts, "text": texts})


def encode(texts: Sequence[str], alphabet: str) -> Int[Tensor, "texts width"]:
    """Texts of one length as the places of their characters in a sorted alphabet."""
    points = np.array([list(map(ord, text)) for text in texts], dtype=np.int64)
    known = np.array([ord(character) for character in alphabet])
    return torch.from_numpy(np.searchsorted(known, points))


def unigram_entropy(seen: Passages, held_out: Passages) -> float:
    """Nats per held-out character for who knows how often each one is seen, and nothing else."""
    return _cross_entropy(seen, held_out, order=0)


def bigram_entropy(seen: Passages, held_out: Passages) -> float:
    """The same for who knows the character before as well."""
    return _cross_entropy(seen, held_out, order=1)


def _cross_entropy(seen: Passages, held_out: Passages, order: int) -> float:
    """With every count raised by one, so that nothing is impossible."""
    letters = len(seen.alphabet)
    counts = torch.ones(letters**order, letters, dtype=torch.float64)
    counts += _pairs(seen, letters, order)
    chances = counts / counts.sum(1, keepdim=True)
    asked = _pairs(held_out, letters, order)
    return float(-(asked * chances.log()).sum() / asked.sum())


def _pairs(passages: Passages, letters: int, order: int) -> Tensor:
    """How often each character follows each (order 1), or occurs at all (order 0)."""
    before, after = passages.characters[:, :-1].flatten(), passages.characters[:, 1:].flatten()
    joint = after + (letters * before if order else 0)
    found = torch.bincount(joint, minlength=letters ** (order + 1)).double()
    return found.view(letters**order, letters)
