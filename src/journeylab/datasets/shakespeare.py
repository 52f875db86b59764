"""Tiny Shakespeare, or any other UTF-8 text, cut into passages; each seed holds some of them out.

All passages have the same length. A window is T characters of one passage; its targets are the
characters that follow, one position later::

    input   F i r s t _ C i
    target  i r s t _ C i t

Training draws windows from anywhere in the training passages. Held-out passages are read from
their beginning, window by window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, Self

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from journeylab.config import UserError
from journeylab.datasets.settings import LanguageJob, Shakespeare
from journeylab.streams import Streams

Part = Literal["train", "held-out"]

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""Stands for every character outside printable ASCII, so that any text has a small alphabet."""
CURVE_WINDOWS = 256
"""Held-out windows behind a point of the training curve, roughly."""


class Windows(NamedTuple):
    """Characters, and the characters that follow them, as indices into an alphabet."""

    inputs: Int[Tensor, "rows length"]
    targets: Int[Tensor, "rows length"]

    def take(self, rows: slice | Int[Tensor, " chosen"]) -> Windows:
        """The windows of these rows."""
        return Windows(self.inputs[rows], self.targets[rows])


class Passages(NamedTuple):
    """The passages of one part as indices into a sorted alphabet, int64."""

    characters: Int[Tensor, "passages width"]
    alphabet: str

    @classmethod
    def of(cls, dataset: pd.DataFrame, part: Part) -> Self:
        """The passages of one part of a seed; both parts share one alphabet."""
        alphabet = "".join(sorted(set().union(*map(set, dataset["text"]))))
        texts = dataset.loc[dataset["part"] == part, "text"]
        return cls(encode(texts.tolist(), alphabet), alphabet)

    def draw(self, rows: int, length: int, order: Generator) -> Windows:
        """Windows from a random passage and position, both uniform and independent."""
        count, width = self.characters.shape
        chosen = torch.randint(count, (rows, 1), generator=order)
        starts = torch.randint(width - length, (rows, 1), generator=order)
        positions = starts + torch.arange(length + 1)
        window = self.characters[chosen, positions]
        return Windows(window[:, :-1], window[:, 1:])

    def read(self, length: int) -> Windows:
        """Every passage from its beginning, window by window; a remainder is not read."""
        fitting = (self.characters.shape[1] - 1) // length * length
        inputs = self.characters[:, :fitting].reshape(-1, length)
        return Windows(inputs, self.characters[:, 1 : fitting + 1].reshape(-1, length))


@dataclass(frozen=True, eq=False)
class LanguageProblem:
    """The text of one seed's training problem; studies add the model and its loss."""

    job: LanguageJob
    table: pd.DataFrame
    streams: Streams

    @cached_property
    def seen(self) -> Passages:
        """The training passages."""
        return Passages.of(self.table, "train")

    @cached_property
    def held_out(self) -> Passages:
        """The held-out passages."""
        return Passages.of(self.table, "held-out")

    @property
    def tokens_per_step(self) -> int:
        """Characters that a step predicts."""
        return self.job.training.rows * self.job.model.length

    def curve_windows(self) -> Windows:
        """Held-out windows for the training curve, spread evenly over the held-out text."""
        windows = self.held_out.read(self.job.model.length)
        return windows.take(slice(None, None, max(1, len(windows.inputs) // CURVE_WINDOWS)))


def split(data: Shakespeare, file: Path, generator: Generator) -> pd.DataFrame:
    """The passages of a text in its order: passage, part, text; a remainder is dropped.

    Line ends become ``\\n``; every other character outside printable ASCII becomes ``REPLACEMENT``.
    Raises UserError for a file that is not UTF-8, or too short for both parts.
    """
    text = _read(file)
    passages = len(text) // data.passage
    held_out = round(passages * data.held_out)
    if not 0 < held_out < passages:
        raise UserError(
            f"{file}: {len(text)} characters are {passages} passages of {data.passage}, "
            f"{held_out} of them held out; both parts need at least 1: write a longer text, a "
            "smaller passage or another held_out"
        )
    chosen = torch.randperm(passages, generator=generator)[:held_out].tolist()
    starts = range(0, passages * data.passage, data.passage)
    parts = np.full(passages, "train", dtype=object)
    parts[chosen] = "held-out"
    texts = [text[start : start + data.passage] for start in starts]
    return pd.DataFrame({"passage": range(passages), "part": parts, "text": texts})


def _read(file: Path) -> str:
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{file}: is not UTF-8 text (byte {error.start}); convert it") from None
    return "".join(sign if sign == "\n" or " " <= sign <= "~" else REPLACEMENT for sign in text)


def encode(texts: Sequence[str], alphabet: str) -> Int[Tensor, "texts width"]:
    """Texts of equal length as indices of their characters in a sorted alphabet, int64."""
    points = np.array([list(map(ord, text)) for text in texts], dtype=np.int64)
    known = np.array([ord(character) for character in alphabet])
    return torch.from_numpy(np.searchsorted(known, points))


def unigram_entropy(seen: Passages, held_out: Passages) -> float:
    """Cross-entropy of held-out characters under their training frequencies, in nats."""
    return _cross_entropy(seen, held_out, context=0)


def bigram_entropy(seen: Passages, held_out: Passages) -> float:
    """Cross-entropy of held-out characters given the previous character, in nats."""
    return _cross_entropy(seen, held_out, context=1)


def _cross_entropy(seen: Passages, held_out: Passages, context: int) -> float:
    letters = len(seen.alphabet)
    # Every count is raised by one, so that no character has probability 0.
    counts = torch.ones(letters**context, letters, dtype=torch.float64)
    counts += _counts(seen, letters, context)
    probabilities = counts / counts.sum(1, keepdim=True)
    observed = _counts(held_out, letters, context)
    return float(-(observed * probabilities.log()).sum() / observed.sum())


def _counts(passages: Passages, letters: int, context: int) -> Float[Tensor, "contexts letters"]:
    """How often each character follows each other one (context 1), or occurs (context 0)."""
    before, after = passages.characters[:, :-1].flatten(), passages.characters[:, 1:].flatten()
    joint = after + (letters * before if context else 0)
    counts = torch.bincount(joint, minlength=letters ** (context + 1)).double()
    return counts.view(letters**context, letters)
