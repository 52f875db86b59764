"""The printed numbers of the worked example, and their distances from possible values.

All entries are integers in units of 0.01. The document truncates X to two decimals, rounds P, and
does not say how it prints Y = X + P.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

import torch

from journeylab.models.circuits import ADD, CONSTANT, INPUT, sinusoids

Matrix = Literal["P", "Y"]
MATRICES: tuple[Matrix, ...] = ("P", "Y")
Convention = Literal["rounded", "truncated", "truncated-rounded", "printed"]
CONVENTIONS: tuple[Convention, ...] = ("rounded", "truncated", "truncated-rounded", "printed")
"""P and Y rounded; both truncated; X truncated and Y rounded; Y the sum of printed X and P."""

X = (
    (107, -16, -86, -353, -68, -120, 58, -14),
    (-46, -15, 94, -241, -341, 41, 136, -30),
    (-56, -216, 28, 331, 204, -51, -187, 5),
)
P = (
    (0, 100, 0, 100, 0, 100, 0, 100),
    (84, 54, 10, 99, 1, 100, 0, 100),
    (91, -42, 20, 98, 2, 100, 0, 100),
)
Y = (
    (107, 84, -86, -253, -68, -20, 58, 86),
    (38, 39, 104, -142, -340, 141, 136, 70),
    (35, -257, 48, 429, 206, 49, -187, 105),
)
ONE_HOT = (0, 1, 0, 0, 0)
"""The vector that is printed for the type of an input."""
ROWS, COLUMNS = range(len(X)), range(len(X[0]))
WIDTH = len(COLUMNS)
_OPEN = Fraction(1, 10**9)
"""An interval ends this far before an open end."""

Action = tuple[int, int, int]
"""A type and two operands, or −1 for a missing operand."""


class Example(NamedTuple):
    """A list of actions, and the tokens that the document prints for them.

    ``nodes`` are the printed node indices. ``fields`` are the printed type, value, node index,
    input1 and input2 of every token, or None if the document does not print tokens.
    """

    actions: tuple[Action, ...]
    nodes: tuple[int, ...]
    fields: tuple[tuple[int, ...], ...] | None


EXAMPLES: dict[int, Example] = {
    1: Example(
        ((INPUT, -1, -1), (INPUT, -1, -1), (ADD, 0, 1)),
        (0, 1, 2),
        ((1, 0, 0, -1, -1), (1, 1, 1, -1, -1), (3, 0, 2, 0, 1)),
    ),
    2: Example(
        ((INPUT, -1, -1), (INPUT, -1, -1), (CONSTANT, -1, -1), (ADD, 0, 1), (ADD, 3, 2)),
        (0, 1, 2, 3, 4),
        None,
    ),
}
"""The three actions of the first walk-through, and those of x0 + x1 + 1."""
TERMS: dict[int, tuple[int, ...]] = {1: (1, 1, 0), 2: (1, 1, 1)}
"""The result of each example as coefficients of x0, x1 and 1."""


class PrintedCell(NamedTuple):
    """An entry of a printed matrix, and the range ``least`` … ``most`` of its possible values."""

    matrix: Matrix
    convention: Convention
    row: int
    column: int
    printed: int
    least: int
    most: int

    def error(self, shift: int = 0) -> int:
        """Distance of the entry plus ``shift`` from its range, in units of the last place."""
        entry = self.printed + shift
        return max(self.least - entry, entry - self.most, 0)


def audit() -> Iterator[PrintedCell]:
    """Every entry of P and Y under every convention that applies to it."""
    exact = sinusoids(len(ROWS), WIDTH, torch.float64).tolist()
    for row in ROWS:
        for column in COLUMNS:
            where = row, column
            p = Fraction(exact[row][column])
            x, y = Fraction(X[row][column]), Y[row][column]
            for convention in CONVENTIONS[:2]:
                shown = (_round if convention == "rounded" else _truncate)(100 * p, 100 * p)
                yield PrintedCell("P", convention, *where, P[row][column], *shown)
            rounded = x - Fraction(1, 2) + 100 * p, x + Fraction(1, 2) + 100 * p
            low, high = _cut_to(x)
            cut = low + 100 * p, high + 100 * p
            yield PrintedCell("Y", "rounded", *where, y, *_round(*rounded))
            yield PrintedCell("Y", "truncated", *where, y, *_truncate(*cut))
            yield PrintedCell("Y", "truncated-rounded", *where, y, *_round(*cut))
            summed = X[row][column] + P[row][column]
            yield PrintedCell("Y", "printed", *where, y, summed, summed)


def encode(actions: Sequence[Action], constant: int = 1) -> tuple[tuple[int, ...], ...]:
    """Type, value, node index, input1, input2 of every action.

    The value of an input is its index among the inputs, as in both examples; that of an operation
    is 0. No action contains the value of a constant: it is ``constant``.
    """
    tokens, inputs = [], 0
    for node, (kind, first, second) in enumerate(actions):
        value = {INPUT: inputs, CONSTANT: constant}.get(kind, 0)
        inputs += kind == INPUT
        tokens.append((kind, value, node, first, second))
    return tuple(tokens)


def one_hot_errors(kind: int) -> int:
    """Number of entries of the printed one-hot vector that differ from that of a type."""
    return sum(entry != (index == kind) for index, entry in enumerate(ONE_HOT))


def token_errors(example: int) -> int:
    """Number of printed fields that differ from those of the actions, plus 1 for a wrong sum."""
    return _wrong_fields(EXAMPLES[example], TERMS[example])


def token_errors_shifted(example: int) -> int:
    """The smallest such number if any printed number is increased by 1: the negative control."""
    shown, terms = EXAMPLES[example], TERMS[example]
    errors = [_wrong_fields(shown._replace(nodes=nodes), terms) for nodes in _shifted(shown.nodes)]
    errors += [_wrong_fields(shown, shifted) for shifted in _shifted(terms)]
    fields = shown.fields or ()
    for index, token in enumerate(fields):
        for shifted in _shifted(token):
            changed = (*fields[:index], shifted, *fields[index + 1 :])
            errors.append(_wrong_fields(shown._replace(fields=changed), terms))
    return min(errors)


def undetermined(example: int) -> int:
    """Number of fields of the tokens that differ between two expressions with the same actions."""
    actions = EXAMPLES[example].actions
    pairs = zip(encode(actions, 1), encode(actions, 2), strict=True)
    return sum(a != b for pair in pairs for a, b in zip(*pair, strict=True))


def _wrong_fields(shown: Example, terms: tuple[int, ...]) -> int:
    tokens = encode(shown.actions)
    wrong = sum(node != token[2] for node, token in zip(shown.nodes, tokens, strict=True))
    for printed, token in zip(shown.fields or (), tokens, strict=False):
        wrong += sum(a != b for a, b in zip(printed, token, strict=True))
    return wrong + (_sum_of(tokens) != terms)


def _shifted(numbers: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """For each of the numbers: all numbers, with this number increased by 1."""
    for index, number in enumerate(numbers):
        yield (*numbers[:index], number + 1, *numbers[index + 1 :])


def _sum_of(tokens: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The coefficients of x0, x1 and 1 in the last node; all operations are sums."""
    known: list[tuple[int, ...]] = []
    for kind, value, _, first, second in tokens:
        if kind == ADD:
            terms = tuple(a + b for a, b in zip(known[first], known[second], strict=True))
        elif kind == INPUT:
            terms = tuple(int(index == value) for index in range(3))
        else:
            terms = (0, 0, value)
        known.append(terms)
    return known[-1]


def _cut_to(x: Fraction) -> tuple[Fraction, Fraction]:
    """The interval of numbers that are truncated to x, towards zero."""
    low = x - 1 + _OPEN if x <= 0 else x
    high = x + 1 - _OPEN if x >= 0 else x
    return low, high


def _round(low: Fraction, high: Fraction) -> tuple[int, int]:
    """The range of the rounded numbers of an interval; a tie is rounded either way."""
    half = Fraction(1, 2)
    return math.ceil(low - half), math.floor(high + half)


def _truncate(low: Fraction, high: Fraction) -> tuple[int, int]:
    return math.trunc(low), math.trunc(high)
