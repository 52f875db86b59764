"""Random rows of synthetic sequence tasks: state tracking, and look-up in context.

Every task labels some positions of a row with an answer that depends on the tokens up to there::

    A5              17 4 59 0 …       labels: number of the product x_t ⋯ x_1 of group elements
    parity           1 0  1 1 …               parity of the ones
    arithmetic       3 × 4 + 2 …              value modulo 5 of the expression, at its digits
    flip-flop        w 1 i 0 r 1 …            the bit written last, at every r
    associative      k₃ v₇ k₁ v₂ … k₁         the value that follows this key, at later keys
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from journeylab.datasets.groups import GROUPS, Table

UNLABELLED = -1
MODULUS = 5
PLUS, MINUS, TIMES = range(MODULUS, MODULUS + 3)
"""Tokens of the operators of `draw_arithmetic`; digits are their own tokens."""
WRITE, READ, IGNORE = 2, 3, 4
"""Tokens of the instructions of `draw_flip_flop`; bits are their own tokens."""
IGNORED = 0.8
"""Share of the instructions of a flip-flop that are to be ignored."""
FILLER = 0
KEYS = VALUES = 32


class LabelledRows(NamedTuple):
    """Tokens and labels ``(rows, length)``; the label of token t is the answer after reading it."""

    tokens: NDArray[np.int64]
    labels: NDArray[np.int64]


@dataclass(frozen=True)
class SequenceTask:
    """A task: its number of tokens and of answers, and `draw(rows, length, rng)`."""

    vocabulary: int
    answers: int
    draw: Callable[[int, int, Generator], LabelledRows]


def draw_words(
    rows: int,
    length: int,
    rng: Generator,
    *,
    table: Table,
    letters: Sequence[int] | None = None,
) -> LabelledRows:
    """Uniform words; the label is the element g_t = x_t g_{t−1}, g_0 = 1.

    Token i is the element `letters[i]`, or the element i if `letters` is None: the whole group.
    """
    moves = table if letters is None else table[list(letters)]
    tokens = rng.integers(0, len(moves), (rows, length))
    state, labels = np.zeros(rows, dtype=np.int64), np.empty_like(tokens)
    for t in range(length):
        state = moves[tokens[:, t], state]
        labels[:, t] = state
    return LabelledRows(tokens, labels)


def draw_parity(rows: int, length: int, rng: Generator) -> LabelledRows:
    """Uniform bits; the label is the parity of the ones so far."""
    tokens = rng.integers(0, 2, (rows, length))
    return LabelledRows(tokens, tokens.cumsum(1) % 2)


def draw_arithmetic(rows: int, length: int, rng: Generator) -> LabelledRows:
    """Digits 0 … 4 alternate with +, − and ×, all uniform; × binds before + and −.

    A digit's label is the value modulo 5 of the expression that ends there. Source: Delétang et
    al., Neural networks and the Chomsky hierarchy, 2023, appendix A (without brackets).
    """
    digits = rng.integers(0, MODULUS, (rows, length))
    operators = rng.integers(PLUS, TIMES + 1, (rows, length))
    tokens = np.where(np.arange(length) % 2 == 0, digits, operators)
    labels = np.full_like(tokens, UNLABELLED)
    total, term = np.zeros((2, rows), dtype=np.int64)
    for t in range(0, length, 2):
        operator = tokens[:, t - 1] if t else np.full(rows, PLUS)
        signed = np.where(operator == MINUS, -digits[:, t], digits[:, t])
        multiplied = operator == TIMES
        total = np.where(multiplied, total, total + term) % MODULUS
        term = np.where(multiplied, term * digits[:, t], signed) % MODULUS
        labels[:, t] = (total + term) % MODULUS
    return LabelledRows(tokens, labels)


def draw_flip_flop(rows: int, length: int, rng: Generator) -> LabelledRows:
    """Instructions w, r and i, each followed by a bit; the label of r is the bit written last.

    The first instruction is w; each other is i with probability 0.8, else w or r alike. The bit
    behind r is the answer, other bits are uniform. Source: Liu et al., Exposing attention glitches
    with flip-flop language modeling, 2023, section 3. Raises ValueError for an odd length.
    """
    if length % 2:
        raise ValueError(f"instructions and bits come in pairs: write an even length, not {length}")
    pairs = (rows, length // 2)
    chosen = rng.random(pairs)
    instructions = np.select(
        [chosen < IGNORED, chosen < (1 + IGNORED) / 2], [IGNORE, WRITE], READ
    ).astype(np.int64)
    instructions[:, :1] = WRITE
    bits = rng.integers(0, 2, pairs)
    last = np.maximum.accumulate(np.where(instructions == WRITE, np.arange(pairs[1]), 0), axis=1)
    stored = np.take_along_axis(bits, last, 1)
    bits = np.where(instructions == READ, stored, bits)
    tokens = np.stack((instructions, bits), -1).reshape(rows, length)
    answers = np.where(instructions == READ, stored, UNLABELLED)
    labels = np.stack((answers, np.full_like(answers, UNLABELLED)), -1).reshape(rows, length)
    return LabelledRows(tokens, labels)


def draw_associations(
    rows: int, length: int, rng: Generator, *, keys: int = KEYS, values: int = VALUES
) -> LabelledRows:
    """Pairs of different keys and any values, then every key once more, at random positions.

    There are ⌊length/4⌋ pairs, at most `keys`. The label of a key's second occurrence is its value.
    Token 0 fills the rest; keys are 1 … `keys`, values follow. Source: Arora et al., Zoology, 2024,
    section 3 (multi-query associative recall), with uniform distances. Raises ValueError for fewer
    than four tokens.
    """
    pairs = min(length // 4, keys)
    if pairs < 1:
        raise ValueError(f"a pair and its query need at least 4 tokens, got length {length}")
    chosen = rng.permuted(np.tile(np.arange(1, keys + 1), (rows, 1)), axis=1)[:, :pairs]
    answers = rng.integers(0, values, (rows, pairs))
    later = np.arange(2 * pairs, length)
    places = rng.permuted(np.tile(later, (rows, 1)), axis=1)[:, :pairs]
    tokens = np.full((rows, length), FILLER)
    labels = np.full((rows, length), UNLABELLED)
    tokens[:, 0 : 2 * pairs : 2] = chosen
    tokens[:, 1 : 2 * pairs : 2] = 1 + keys + answers
    np.put_along_axis(tokens, places, chosen, 1)
    np.put_along_axis(labels, places, answers, 1)
    return LabelledRows(tokens, labels)


TASKS: dict[str, SequenceTask] = {
    **{
        name: SequenceTask(len(table), len(table), partial(draw_words, table=table))
        for name, table in GROUPS.items()
    },
    "parity": SequenceTask(2, 2, draw_parity),
    "arithmetic": SequenceTask(MODULUS + 3, MODULUS, draw_arithmetic),
    "flip-flop": SequenceTask(5, 2, draw_flip_flop),
    "associative": SequenceTask(1 + KEYS + VALUES, VALUES, draw_associations),
}
"""Every task by its name."""
