"""The exact Parikh ceiling: the best accuracy of a classifier that sees only the letter counts.

The Parikh vector of a string of length n over {a, b} is its number k of a's. Let N(k, c) be the
number of labelled strings with k a's and label c, and N(c) = Σ_k N(k, c). Then

    plain accuracy       Σ_k max_c N(k, c) / Σ_c N(c)
    balanced accuracy    (1/C) Σ_k max_c N(k, c)/N(c)

are the largest accuracies of any function of k. Answering with the maximising c reaches them. N is
computed by dynamic programming over (k, state of the automaton), in integers, so both accuracies
are exact rationals.
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
    """The exact ceiling by length; lengths at which the task labels no string are left out."""
    return {n: best_given_parikh(task, counts) for n, counts in _labelled_counts(task, lengths)}


def chances(task: Task, lengths: Iterable[int]) -> dict[int, Fraction]:
    """The accuracy of the best constant answer, for the same lengths as `parikh_ceilings`."""
    return {n: best_constant(task, counts) for n, counts in _labelled_counts(task, lengths)}


def best_given_parikh(task: Task, counts: Counts) -> Fraction:
    """The ceiling, from the numbers of strings ``[k, label]``."""
    shares = _shares(task, counts)
    return sum((max(row) for row in shares), Fraction(0))


def best_constant(task: Task, counts: Counts) -> Fraction:
    """The accuracy of the best constant answer, from the numbers of strings ``[k, label]``."""
    return max(sum(column, Fraction(0)) for column in zip(*_shares(task, counts), strict=True))


def count_labels(task: Task, longest: int) -> Iterator[Counts]:
    """Yield the numbers of strings ``[k, label]`` for the lengths 1, 2, …, longest."""
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


def _labelled_counts(task: Task, lengths: Iterable[int]) -> Iterator[tuple[int, Counts]]:
    wanted = set(lengths)
    for length, counts in enumerate(count_labels(task, max(wanted)), start=1):
        if length in wanted and counts.any():
            yield length, counts


def _extend(task: Task, states: Counts) -> Counts:
    """Append one letter to every string; an a also increases k by 1."""
    with_a, with_b = np.zeros_like(states), np.zeros_like(states)
    for state, (after_a, after_b) in enumerate(zip(*task.following, strict=True)):
        with_a[1:, after_a] += states[:-1, state]
        with_b[:, after_b] += states[:, state]
    extended: Counts = with_a + with_b
    return extended


def _shares(task: Task, counts: Counts) -> list[list[Fraction]]:
    """The contribution to the accuracy of answering label c at k, ``[k][label]``.

    A label that no string has contributes 0, but still counts in the number of classes C.
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
