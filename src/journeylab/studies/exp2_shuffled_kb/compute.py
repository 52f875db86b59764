"""thm:rope-impossibility, checked by construction, without training.

| computed | metric | quantity checked |
| --- | --- | --- |
| invariance | invariance_error | largest change of a logit when the entries are permuted |
| witness | witness_change | largest change of a logit when the entries of a witness are swapped |
| recursion | ceiling_error | E[max multiplicity] by recursion against that by enumeration |

The witness is a repository of two entries. The query matches both keys equally, in one plane, so
only the operator distinguishes the entries. The logit of a value is then the attention of its
entry, a = softmax(s). A swap that exchanges the scores changes it by
|a_0 − a_1| = tanh(|s_0 − s_1|/2).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd
import torch
from torch import Generator, Tensor

from journeylab.studies.exp2_shuffled_kb.anchors import (
    enumerate_multiplicity,
    expected_multiplicity,
)
from journeylab.studies.exp2_shuffled_kb.data import Episodes, draw_lookup, permute
from journeylab.studies.exp2_shuffled_kb.models import (
    CUMULATIVE,
    Questions,
    Retriever,
    all_questions,
)
from journeylab.studies.exp2_shuffled_kb.settings import Computation

if TYPE_CHECKING:
    from journeylab.streams import Streams

COLUMNS = ("draw", "metric", "M", "precision", "value")
EPISODES = 4
PLANE = 1
"""The plane of the witness. It turns for both standard and integer frequencies."""
STRENGTH = 8.0
STEP = 1.0
ENUMERATED = ((2, 2), (2, 5), (3, 4), (6, 5), (16, 4))
"""Pairs (values, draws) for which all strings are enumerated."""

Row = tuple[int, str, int | None, str | None, float]


def compute(job: Computation, streams: Streams | None) -> pd.DataFrame:
    """The cases of one check and variant as tidy rows: draw, metric, M, precision, value."""
    del streams  # nothing depends on a seed: draws are numbered from 0
    if job.computed == "invariance":
        rows = [row for draw in range(job.draws) for row in _invariance(job, draw)]
    elif job.computed == "witness":
        rows = [(0, "witness_change", None, None, witness_change(job))]
    else:
        rows = list(_recursion())
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"M": "Int64"})


def witness_change(job: Computation) -> float:
    """The largest change of a logit when the two entries of the witness are swapped, in float64."""
    retriever = _witness(job)
    none = torch.zeros(1, 2, dtype=torch.long)
    episodes = Episodes(torch.tensor([[0, 1]]), torch.tensor([[0, 1]]), none)
    swapped = Episodes(*(column.flip(1) for column in episodes))
    questions = Questions(*(column[:, :1] for column in all_questions(episodes)))
    with torch.no_grad():
        return float((retriever(swapped, questions) - retriever(episodes, questions)).abs().max())


def _invariance(job: Computation, draw: int) -> Iterator[Row]:
    for size in job.data.sizes:
        generator = torch.Generator().manual_seed(draw)
        retriever = _retriever(job, generator)
        episodes = draw_lookup(job.data, size, EPISODES, generator)
        permuted = permute(episodes, generator)
        for precision in ("float32", "float64"):
            change = _change(retriever.to(getattr(torch, precision)), episodes, permuted)
            yield draw, "invariance_error", size, precision, change


def _recursion() -> Iterator[Row]:
    for case, (values, draws) in enumerate(ENUMERATED):
        exact = expected_multiplicity(draws, values) - enumerate_multiplicity(draws, values)
        yield case, "ceiling_error", None, None, float(abs(exact))


def _change(retriever: Retriever, episodes: Episodes, permuted: Episodes) -> float:
    questions = all_questions(episodes)
    with torch.no_grad():
        return float((retriever(permuted, questions) - retriever(episodes, questions)).abs().max())


def _retriever(job: Computation, generator: Generator) -> Retriever:
    return Retriever(job.variant, job.data, job.model, "softmax", generator)


def _witness(job: Computation) -> Retriever:
    retriever = _retriever(job, torch.Generator().manual_seed(0)).double()
    keys, values = job.data.keys, job.data.values
    answer = [2 * PLANE + 2, 2 * PLANE + 3]
    with torch.no_grad():
        for parameter in retriever.parameters():
            parameter.zero_()
        head = retriever.head
        for matrix in (head.query, head.key, head.value):
            assert isinstance(matrix, Tensor)
            matrix.fill_diagonal_(1.0)
        head.question[:, 2 * PLANE] = STRENGTH
        head.entry[:keys, 2 * PLANE] = STRENGTH
        for value, coordinate in enumerate(answer[:values]):
            head.entry[keys + value, coordinate] = 1.0
            head.readout.weight[value, coordinate] = 1.0
        if job.variant in (*CUMULATIVE, "content"):
            retriever.entry_angles[:keys, PLANE] = STEP
    return retriever
