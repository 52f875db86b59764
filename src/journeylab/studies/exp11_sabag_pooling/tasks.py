"""Targets of the k outputs for n input symbols, and the ceiling of permutation-invariant poolings.

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
"""Targets ``(rows, k)`` of symbols ``(rows, n)``, by task; the sentence has a fixed target."""
OUTPUTS: dict[Task, Callable[[int], int]] = {
    "first2": lambda n: 2,
    "copy": lambda n: n,
    "reverse": lambda n: n,
    "double": lambda n: 2 * n,
    "sorted": lambda n: n,
    "extremes": lambda n: 2,
    "sentence": lambda n: len(SENTENCE),
}
"""The number k of outputs of a task with n inputs."""
ORDERED: tuple[Task, ...] = ("first2", "copy", "reverse", "double")
"""Tasks whose outputs are symbols at given positions."""


def ceiling(task: Task, data: Data) -> float:
    """The exact best token accuracy of an answer that knows only the multiset of symbols.

    Given the multiset, all orders of a string are equally likely. A symbol that occurs m times is
    at any position with probability m/n, so the best answer is right with probability max m/n. The
    ceiling is the mean over uniform strings, by enumeration of multisets. Tasks that depend on the
    multiset alone have ceiling 1.
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
    """The partitions of n into positive parts of at most ``largest``, in descending order."""
    if n == 0:
        yield ()
    for first in range(min(n, largest), 0, -1):
        yield from ((first, *rest) for rest in _partitions(n - first, first))
