"""The tasks: finite automata over {a, b} with labelled states.

An automaton reads a string letter by letter. The label of a prefix is the label of the state that
it leads to; −1 means no label. Letters are 0 (a) and 1 (b). An example string with its labels::

            a  b  b  a  a  b  a
    A       0  0  0  0  1  1  0      1 if the number of a's is a multiple of 3
    B       −  1  1  1  1  1  1      1 if the string starts with a and contains b, 0 if it starts
                                     with b and contains a
    Z6      3  5  1  4  1  3  0      a adds 3, b adds 2, modulo 6

Task B is the document's “the first ab precedes the first ba”: a string that starts with a reads
a…ab before it can read ba. Strings of one repeated letter have no label. No later letter can undo
what the automaton of B has read, so B is no group language.

The state tasks ask for a group element, g_t = g_{x_t} g_{t−1}, g_0 = 1, in S3 = ⟨(12), (123)⟩,
A5 = ⟨(123), (12345)⟩ and, as the abelian control, Z6 = ⟨3, 2⟩. The generators of Z6 have the same
orders as those of S3.
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
    """A labelled automaton; state 0 is its start.

    ``following[x][s]`` is the state after letter x in state s, ``labels[s]`` the label of state s.
    ``halved``: only strings with as many a's as b's. ``balanced``: the accuracy is the mean of the
    classes' accuracies, not the share of all strings.
    """

    following: tuple[tuple[int, ...], tuple[int, ...]]
    labels: tuple[int, ...]
    balanced: bool
    halved: bool = False

    @property
    def classes(self) -> int:
        """The number of labels."""
        return max(self.labels) + 1


def compose(second: Permutation, first: Permutation) -> Permutation:
    """Apply ``first``, then ``second``: (second ∘ first)[i] = second[first[i]]."""
    return tuple(second[i] for i in first)


def generate_group(generators: tuple[Permutation, ...]) -> list[Permutation]:
    """All elements of the generated group, identity first, by breadth-first search."""
    elements = [tuple(range(len(generators[0])))]
    for element in elements:  # the list grows while the loop reads it: a queue
        for generator in generators:
            product = compose(generator, element)
            if product not in elements:
                elements.append(product)
    return elements


def cycles(size: int, *points: tuple[int, ...]) -> Permutation:
    """The permutation of 0 … size − 1 given by cycles of the points 1 … size."""
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
"""The permutations of a and b in the state tasks; those of Z6 are powers 3 and 2 of a 6-cycle."""


def state_task(generators: tuple[Permutation, Permutation]) -> Task:
    """The task to name the group element after each prefix, numbered as in `generate_group`."""
    elements = generate_group(generators)
    index = {element: i for i, element in enumerate(elements)}
    moves = [tuple(index[compose(g, element)] for element in elements) for g in generators]
    return Task(following=(moves[0], moves[1]), labels=tuple(range(len(elements))), balanced=False)


def _first_letter(*, halved: bool) -> Task:
    # States: nothing read, a…a, b…b, a…ab…, b…ba….
    return Task(
        following=((1, 1, 4, 3, 4), (2, 3, 2, 3, 4)),
        labels=(UNLABELLED, UNLABELLED, UNLABELLED, 1, 0),
        balanced=True,
        halved=halved,
    )


TASKS: dict[TaskName, Task] = {
    "A": Task(following=((1, 2, 0), (0, 1, 2)), labels=(1, 0, 0), balanced=True),
    "B": _first_letter(halved=False),
    "Bbal": _first_letter(halved=True),
    **{name: state_task(generators) for name, generators in GENERATORS.items()},
}
"""Every task by its name in config.yaml."""


def label_prefixes(task: Task, words: NDArray[np.uint8]) -> NDArray[np.int8]:
    """The label of every prefix of words ``(length, strings)``, in the same shape."""
    following, labels = np.array(task.following), np.array(task.labels, dtype=np.int8)
    states = np.zeros(words.shape[1], dtype=np.int64)
    labelled = np.empty(words.shape, dtype=np.int8)
    for t, letters in enumerate(words):
        states = following[letters, states]
        labelled[t] = labels[states]
    return labelled


def label_words(task: Task, words: NDArray[np.uint8]) -> NDArray[np.int8]:
    """The labels ``(strings,)`` of whole words ``(length, strings)``."""
    labels: NDArray[np.int8] = label_prefixes(task, words)[-1]
    return labels
