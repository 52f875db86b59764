"""What the worked example prints, and how far it is from anything that can be right.

Entries are whole numbers of hundredths. The document truncates X to two decimals, rounds P, and
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
"""P and Y rounded; both truncated; X truncated and Y rounded; Y the sum of what is printed."""

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
ROWS, COLUMNS = range(len(X)), range(len(X[0]))
WIDTH = len(COLUMNS)
_OPEN = Fraction(1, 10**9)
"""By this much an interval stops short of an end that is not its own."""

Action = tuple[int, int, int]
"""A type and two operands; −1 where there is none."""


class Example(NamedTuple):
    """A list of actions, and what the document prints of its tokens.

    ``nodes`` are the printed node indices, ``fields`` the printed type, value, node index, input1
    and input2 of every token, None where it prints none.
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
"""What each example computes: coefficients of x0, x1 and 1."""


class Cell(NamedTuple):
    """An entry of a printed matrix, what can stand there, and how far it is from that."""

    matrix: Matrix
    convention: Convention
    row: int
    column: int
    printed: int
    least: int
    most: int

    def off(self, moved: int = 0) -> int:
        """Units in the last place between the entry, moved by some, and what can stand there."""
        entry = self.printed + moved
        return max(self.least - entry, entry - self.most, 0)


def audit() -> Iterator[Cell]:
    """Every entry of P and Y under every convention that applies to it."""
    exact = sinusoids(len(ROWS), WIDTH, torch.float64).tolist()
    for row in ROWS:
        for column in COLUMNS:
            where = row, column
            p = Fraction(exact[row][column])
            x, y = Fraction(X[row][column]), Y[row][column]
            for how in CONVENTIONS[:2]:
                shown = (_round if how == "rounded" else _truncate)(100 * p, 100 * p)
                yield Cell("P", how, *where, P[row][column], *shown)
            rounded = x - Fraction(1, 2) + 100 * p, x + Fraction(1, 2) + 100 * p
            low, high = _cut_to(x)
            cut = low + 100 * p, high + 100 * p
            yield Cell("Y", "rounded", *where, y, *_round(*rounded))
            yield Cell("Y", "truncated", *where, y, *_truncate(*cut))
            yield Cell("Y", "truncated-rounded", *where, y, *_round(*cut))
            summed = X[row][column] + P[row][column]
            yield Cell("Y", "printed", *where, y, summed, summed)


def encode(actions: Sequence[Action], constant: int = 1) -> tuple[tuple[int, ...], ...]:
    """Type, value, node index, input1, input2 of every action.

    An input's value is its number among the inputs, which both examples fit; an operation's is 0. A
    constant's is told by no action: it is what ``constant`` says.
    """
    tokens, inputs = [], 0
    for node, (kind, first, second) in enumerate(actions):
        value = {INPUT: inputs, CONSTANT: constant}.get(kind, 0)
        inputs += kind == INPUT
        tokens.append((kind, value, node, first, second))
    return tuple(tokens)


def token_errors(example: int) -> int:
    """Printed fields that are not what the actions give, and a sum that is not the expression."""
    return _wrong_fields(EXAMPLES[example], TERMS[example])


def token_errors_moved(example: int) -> int:
    """The least of these where one number of what is said is larger by 1: the negative control."""
    shown, terms = EXAMPLES[example], TERMS[example]
    found = [_wrong_fields(shown._replace(nodes=nodes), terms) for nodes in _moved(shown.nodes)]
    found += [_wrong_fields(shown, moved) for moved in _moved(terms)]
    fields = shown.fields or ()
    for place, token in enumerate(fields):
        for moved in _moved(token):
            others = (*fields[:place], moved, *fields[place + 1 :])
            found.append(_wrong_fields(shown._replace(fields=others), terms))
    return min(found)


def undetermined(example: int) -> int:
    """Fields of the tokens that two expressions with the same actions differ in."""
    actions = EXAMPLES[example].actions
    pairs = zip(encode(actions, 1), encode(actions, 2), strict=True)
    return sum(a != b for pair in pairs for a, b in zip(*pair, strict=True))


def _wrong_fields(shown: Example, terms: tuple[int, ...]) -> int:
    tokens = encode(shown.actions)
    wrong = sum(node != token[2] for node, token in zip(shown.nodes, tokens, strict=True))
    for printed, token in zip(shown.fields or (), tokens, strict=False):
        wrong += sum(a != b for a, b in zip(printed, token, strict=True))
    return wrong + (_sum_of(tokens) != terms)


def _moved(numbers: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The numbers, one of them larger by 1."""
    for place, number in enumerate(numbers):
        yield (*numbers[:place], number + 1, *numbers[place + 1 :])


def _sum_of(tokens: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The coefficients of x0, x1 and 1 of the last node; all operations are sums."""
    known: list[tuple[int, ...]] = []
    for kind, value, _, first, second in tokens:
        if kind == ADD:
            terms = tuple(a + b for a, b in zip(known[first], known[second], strict=True))
        elif kind == INPUT:
            terms = tuple(int(place == value) for place in range(3))
        else:
            terms = (0, 0, value)
        known.append(terms)
    return known[-1]


def _cut_to(x: Fraction) -> tuple[Fraction, Fraction]:
    """What is truncated, towards zero, to x."""
    low = x - 1 + _OPEN if x <= 0 else x
    high = x + 1 - _OPEN if x >= 0 else x
    return low, high


def _round(low: Fraction, high: Fraction) -> tuple[int, int]:
    """What the numbers of an interval are rounded to; a tie goes either way."""
    half = Fraction(1, 2)
    return math.ceil(low - half), math.floor(high + half)


def _truncate(low: Fraction, high: Fraction) -> tuple[int, int]:
    return math.trunc(low), math.trunc(high)
