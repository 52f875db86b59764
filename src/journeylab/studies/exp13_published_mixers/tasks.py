"""The tasks of exp13: rows of `datasets.sequences` behind a start token, two letters per group.

A word problem has the letters 0 and 1, which are the generators of `datasets.groups`. Token START
begins every row and has no label, so that a state or a softmax has something to begin with::

    S3            START 1 0 0 1 …      labels: − and the element x_t ⋯ x_1
    associative   START k₃ v₇ … k₃     labels: − and the value of a key at its second occurrence
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.random import Generator

from journeylab.datasets.groups import GENERATORS, GROUPS
from journeylab.datasets.sequences import (
    TASKS,
    UNLABELLED,
    LabelledRows,
    SequenceTask,
    draw_associations,
    draw_words,
)
from journeylab.studies.exp13_published_mixers.settings import WORD_TASKS, TaskName

START = 0
"""The first token of every row; the tokens of the task follow it, increased by 1."""

KEYS, VALUES = 32, 16
"""Keys and values of the recall task. A row of 64 tokens has 16 of the keys: a memory whose rank is
the width, 16, keeps any 16 orthogonal keys, and no 32 keys are orthogonal in it."""


def _words(name: str) -> SequenceTask:
    table, letters = GROUPS[name], GENERATORS[name]
    return SequenceTask(len(letters), len(table), partial(draw_words, table=table, letters=letters))


DRAWN: dict[str, SequenceTask] = {
    **TASKS,
    **{name: _words(name) for name in WORD_TASKS},
    "associative": SequenceTask(
        1 + KEYS + VALUES, VALUES, partial(draw_associations, keys=KEYS, values=VALUES)
    ),
}


def vocabulary(task: TaskName) -> int:
    """Number of tokens, with START."""
    return 1 + DRAWN[task].vocabulary


def answers(task: TaskName) -> int:
    """Number of answers."""
    return DRAWN[task].answers


def draw_rows(task: TaskName, rows: int, length: int, rng: Generator) -> LabelledRows:
    """Rows of `length` tokens of the task behind START: tokens and labels (rows, 1 + length)."""
    tokens, labels = DRAWN[task].draw(rows, length, rng)
    return LabelledRows(
        np.pad(tokens + 1, ((0, 0), (1, 0)), constant_values=START),
        np.pad(labels, ((0, 0), (1, 0)), constant_values=UNLABELLED),
    )
