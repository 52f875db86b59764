"""What the k outputs are to say of n symbols, and what no permutation-invariant pooling can know.

input c a b a f     first2    c a
                    copy      c a b a f         reverse  f a b a c
                    double    c c a a b b a a f f
                    sorted    a a b c f
                    extremes  a f, in either order of the two outputs
input H i           sentence  the document's sentence of 44 characters
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from math import factorial, prod

import torch
from jaxtyping import Int
from torch import Tensor

from journeylab.studies.exp11_sabag_pooling.settings import Data, Task

SOURCE, SENTENCE = "Hi", "Hi, I am Grapheme, How can I help you today?"
ALPHABET = "".join(sorted(set(SOURCE + SENTENCE)))

Symbols = Int[Tensor, "rows n"]

TARGETS: dict[Task, Callable[[Tensor], Tensor]] = {
    "first2": lambda x: x[:, :2],
    "copy": lambda x: x,
    "reverse": lambda x: x.flip(1),
    "double": lambda x: x.repeat_interleave(2, 1),
    "sorted": lambda x: x.sort(1).values,
    "extremes": lambda x: torch.stack((x.amin(1), x.amax(1)), 1),
}
"""Targets by task, of symbols ``(rows, n)``; the sentence's is written."""
OUTPUTS: dict[Task, Callable[[int], int]] = {
    "first2": lambda n: 2,
    "copy": lambda n: n,
    "reverse": lambda n: n,
    "double": lambda n: 2 * n,
    "sorted": lambda n: n,
    "extremes": lambda n: 2,
    "sentence": lambda n: len(SENTENCE),
}
"""How many outputs a task has."""
ORDERED: tuple[Task, ...] = ("first2", "copy", "reverse", "double")
"""Tasks whose outputs are symbols at given places."""


def ceiling(task: Task, data: Data) -> float:
    """The best token accuracy, exactly, of answers that know the multiset of symbols only.

    Given its multiset every order of a string is as likely, so a symbol that occurs m times stands
    at any place with probability m/n, and the best answer is right with max m/n. The mean of that
    over uniform strings, by enumeration of multisets. What depends on the multiset alone has 1.
    """
    if task not in ORDERED:
        return 1.0
    n, symbols = data.length, data.symbols
    total = 0
    for counts in _partitions(n, n):
        if len(counts) <= symbols:
            shared = (factorial(len(list(same))) for _, same in groupby(counts))
            chosen = factorial(symbols) // factorial(symbols - len(counts)) // prod(shared)
            orders = factorial(n) // prod(map(factorial, counts))
            total += chosen * orders * max(counts)
    return float(total / n / symbols**n)


def _partitions(n: int, largest: int) -> Iterator[tuple[int, ...]]:
    """The ways to write n as a sum of positive numbers, the largest first."""
    if n == 0:
        yield ()
    for first in range(min(n, largest), 0, -1):
        yield from ((first, *rest) for rest in _partitions(n - first, first))
