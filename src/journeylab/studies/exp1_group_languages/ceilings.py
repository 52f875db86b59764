"""The exact Parikh ceiling: the best that can be done by whoever knows only how many a's there are.

The Parikh vector of a string of length n over {a, b} is its number k of a's. Let N(k, c) count the
strings with k a's and label c among those that a task asks about, and N(c) = Σ_k N(k, c). Then

    plain accuracy       Σ_k max_c N(k, c) / Σ_c N(c)
    balanced accuracy    (1/C) Σ_k max_c N(k, c)/N(c)

are the largest that a function of k can have, each reached by answering the maximiser. N is found
by dynamic programming over (k, state of the automaton), in integers, so both are exact rationals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from journeylab.studies.exp1_group_languages.tasks import UNLABELLED, Task

Counts = NDArray[np.object_]
"""``[k, label]`` as Python integers."""


def parikh_ceilings(task: Task, lengths: Iterable[int]) -> dict[int, Fraction]:
    """The exact ceiling of every length; lengths that a task does not ask about are left out."""
    return {n: best_given_parikh(task, counts) for n, counts in _asked(task, lengths)}


def chances(task: Task, lengths: Iterable[int]) -> dict[int, Fraction]:
    """The accuracy of always answering one label, the best one, for every length asked about."""
    return {n: best_constant(task, counts) for n, counts in _asked(task, lengths)}


def best_given_parikh(task: Task, counts: Counts) -> Fraction:
    """The ceiling from the numbers of strings ``[k, label]``."""
    shares = _shares(task, counts)
    return sum((max(row) for row in shares), Fraction(0))


def best_constant(task: Task, counts: Counts) -> Fraction:
    """The best constant answer from the numbers of strings ``[k, label]``."""
    return max(sum(column, Fraction(0)) for column in zip(*_shares(task, counts), strict=True))


def count_labels(task: Task, longest: int) -> Iterator[Counts]:
    """The numbers of strings ``[k, label]`` of lengths 1 … longest, in turn."""
    labelled = np.array(task.labels)
    states = np.zeros((longest + 1, len(labelled)), dtype=object)
    states[0, 0] = 1
    for length in range(1, longest + 1):
        states = _extend(task, states)
        counts = np.zeros((length + 1, task.classes), dtype=object)
        for state, label in enumerate(labelled):
            if label != UNLABELLED:
                counts[:, label] += states[: length + 1, state]
        if task.halved:
            counts[[k for k in range(length + 1) if 2 * k != length]] = 0
        yield counts


def _asked(task: Task, lengths: Iterable[int]) -> Iterator[tuple[int, Counts]]:
    asked = set(lengths)
    for length, counts in enumerate(count_labels(task, max(asked)), start=1):
        if length in asked and counts.any():
            yield length, counts


def _extend(task: Task, states: Counts) -> Counts:
    """One letter more: an a also adds one to k."""
    with_a, with_b = np.zeros_like(states), np.zeros_like(states)
    for state, (after_a, after_b) in enumerate(zip(*task.following, strict=True)):
        with_a[1:, after_a] += states[:-1, state]
        with_b[:, after_b] += states[:, state]
    extended: Counts = with_a + with_b
    return extended


def _shares(task: Task, counts: Counts) -> list[list[Fraction]]:
    """What answering label c at k contributes to the accuracy, ``[k][label]``.

    A label that no string has counts as a class that nobody can get right.
    """
    sizes = counts.sum(0)
    total = int(sizes.sum())
    weights = [
        (Fraction(1, task.classes * int(size)) if size else Fraction(0))
        if task.balanced
        else Fraction(1, total)
        for size in sizes
    ]
    return [[int(n) * weight for n, weight in zip(row, weights, strict=True)] for row in counts]
