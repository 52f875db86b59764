"""The tasks: finite automata over {a, b} whose states are labelled.

A string is read letter by letter, and every prefix has the label of the state it leads to; −1 is
no label. Letters are 0 (a) and 1 (b). A worked string, its labels below it::

            a  b  b  a  a  b  a
    A       0  0  0  0  1  1  0      1 where the number of a's is a multiple of 3
    B       −  1  1  1  1  1  1      1 starts with a and contains b, 0 with a and b exchanged
    Z6      3  5  1  4  1  3  0      a adds 3, b adds 2, modulo 6

B is the document's “the first ab precedes the first ba”: a string whose first letter is a reads
a…ab before it can read ba. Constant strings are in neither class. Its states cannot be undone, so
B is no group language.

The state tasks ask for an element of a group, g_t = g_{x_t} g_{t−1}, g_0 = 1: S3 = ⟨(12), (123)⟩,
A5 = ⟨(123), (12345)⟩, and as the abelian control Z6 = ⟨3, 2⟩, whose generators have the same orders
as those of S3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from journeylab.studies.exp1_group_languages.settings import TaskName

Permutation = tuple[int, ...]
"""i ↦ p[i] on 0 … m − 1."""

UNLABELLED = -1


@dataclass(frozen=True)
class Task:
    """An automaton with state 0 as its start.

    ``following[x][s]`` is the state after letter x in state s, ``labels[s]`` its label. ``halved``:
    strings have as many a's as b's. ``balanced``: accuracy is the mean over the classes of the
    share that is right, not the share of strings.
    """

    title: str
    following: tuple[tuple[int, ...], tuple[int, ...]]
    labels: tuple[int, ...]
    balanced: bool
    halved: bool = False

    @property
    def classes(self) -> int:
        """How many labels there are."""
        return max(self.labels) + 1


def compose(second: Permutation, first: Permutation) -> Permutation:
    """First one, then the other: (second ∘ first)[i] = second[first[i]]."""
    return tuple(second[i] for i in first)


def generate_group(generators: tuple[Permutation, ...]) -> list[Permutation]:
    """All elements of the generated group, the identity first, in order of discovery."""
    elements = [tuple(range(len(generators[0])))]
    for element in elements:  # grows while it is read
        for generator in generators:
            found = compose(generator, element)
            if found not in elements:
                elements.append(found)
    return elements


def cycles(size: int, *points: tuple[int, ...]) -> Permutation:
    """A permutation of 1 … size in cycle notation, on 0 … size − 1."""
    image = list(range(size))
    for cycle in points:
        for here, there in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            image[here - 1] = there - 1
    return tuple(image)


GENERATORS: dict[TaskName, tuple[Permutation, Permutation]] = {
    "S3": (cycles(3, (1, 2)), cycles(3, (1, 2, 3))),
    "A5": (cycles(5, (1, 2, 3)), cycles(5, (1, 2, 3, 4, 5))),
    "Z6": (cycles(6, (1, 4), (2, 5), (3, 6)), cycles(6, (1, 3, 5), (2, 4, 6))),
}
"""What a and b stand for in the state tasks; Z6 as the powers 3 and 2 of a six-cycle."""


def state_task(name: str, generators: tuple[Permutation, Permutation]) -> Task:
    """The task to name the element that a string reaches, in the order of `generate_group`."""
    elements = generate_group(generators)
    place = {element: i for i, element in enumerate(elements)}
    moves = [tuple(place[compose(g, element)] for element in elements) for g in generators]
    return Task(
        title=f"{name} state",
        following=(moves[0], moves[1]),
        labels=tuple(range(len(elements))),
        balanced=False,
    )


def _first_letter(title: str, *, halved: bool) -> Task:
    # States: nothing read, a…a, b…b, a…ab…, b…ba….
    return Task(
        title=title,
        following=((1, 1, 4, 3, 4), (2, 3, 2, 3, 4)),
        labels=(UNLABELLED, UNLABELLED, UNLABELLED, 1, 0),
        balanced=True,
        halved=halved,
    )


TASKS: dict[TaskName, Task] = {
    "A": Task("A: #a mod 3 = 0", ((1, 2, 0), (0, 1, 2)), (1, 0, 0), balanced=True),
    "B": _first_letter("B: ab before ba", halved=False),
    "Bbal": _first_letter("B given #a = n/2", halved=True),
    **{name: state_task(name, generators) for name, generators in GENERATORS.items()},
}
"""Every task by the name of its arm."""


def label_prefixes(task: Task, words: NDArray[np.uint8]) -> NDArray[np.int8]:
    """The label of every prefix of words ``(length, strings)``, in the same shape."""
    following, labels = np.array(task.following), np.array(task.labels, dtype=np.int8)
    states = np.zeros(words.shape[1], dtype=np.int64)
    found = np.empty(words.shape, dtype=np.int8)
    for t, letters in enumerate(words):
        states = following[letters, states]
        found[t] = labels[states]
    return found


def label_words(task: Task, words: NDArray[np.uint8]) -> NDArray[np.int8]:
    """The labels ``(strings,)`` of whole words ``(length, strings)``."""
    labels: NDArray[np.int8] = label_prefixes(task, words)[-1]
    return labels
