"""thm:rope-impossibility, checked by construction and without training.

| variant | metric | what is checked |
| --- | --- | --- |
| position-free, content | invariance_error | no permutation of the entries changes a logit |
| every variant | witness_change | change of a logit when the two entries of a witness swap |
| ceiling | ceiling_error | E[max multiplicity]: recursion against writing down every string |

The witness: two keys that the query matches alike, in one plane, so that only the operator tells
the entries apart. The logit of a value is then the attention of its entry, a = softmax(s), and a
swap that exchanges the scores changes it by |a_0 − a_1| = tanh(|s_0 − s_1|/2).
"""

from __future__ import annotations

import pandas as pd
import torch
from torch import Generator, Tensor

from journeylab.studies.exp2_shuffled_kb.anchors import (
    enumerate_multiplicity,
    expected_multiplicity,
)
from journeylab.studies.exp2_shuffled_kb.data import Episodes, draw_lookup, permute
from journeylab.studies.exp2_shuffled_kb.models import Questions, Reader, ask_everything
from journeylab.studies.exp2_shuffled_kb.settings import VARIANTS, Certificates

COLUMNS = ("variant", "seed", "metric", "M", "precision", "value")
INVARIANT = ("position-free", "content")
EPISODES = 4
PLANE = 1
"""The witness lives in this plane: it turns for standard and for integer frequencies."""
STRENGTH = 8.0
STEP = 1.0
ENUMERATED = ((2, 2), (2, 5), (3, 4), (6, 5), (16, 4))
"""(values, draws) small enough to write down every string."""

Row = tuple[str, int, str, int | None, str | None, float]


def certify(certificates: Certificates) -> pd.DataFrame:
    """All cases as tidy rows: variant, seed (the draw), metric, M, precision, value."""
    rows = [row for draw in range(certificates.draws) for row in _invariance(certificates, draw)]
    rows += [
        (variant, 0, "witness_change", None, None, witness_change(variant, certificates))
        for variant in VARIANTS["lookup"]
    ]
    for case, (values, draws) in enumerate(ENUMERATED):
        exact = expected_multiplicity(draws, values) - enumerate_multiplicity(draws, values)
        rows.append(("ceiling", case, "ceiling_error", None, None, float(abs(exact))))
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"M": "Int64"})


def witness_change(variant: str, certificates: Certificates) -> float:
    """Largest change of a logit when the witness's two entries swap, in float64."""
    reader = _witness(variant, certificates)
    none = torch.zeros(1, 2, dtype=torch.long)
    episodes = Episodes(torch.tensor([[0, 1]]), torch.tensor([[0, 1]]), none)
    swapped = Episodes(*(column.flip(1) for column in episodes))
    questions = Questions(*(column[:, :1] for column in ask_everything(episodes)))
    with torch.no_grad():
        return float((reader(swapped, questions) - reader(episodes, questions)).abs().max())


def _invariance(certificates: Certificates, draw: int) -> list[Row]:
    rows: list[Row] = []
    for variant in INVARIANT:
        for size in certificates.data.sizes:
            generator = torch.Generator().manual_seed(draw)
            reader = _reader(variant, certificates, generator)
            episodes = draw_lookup(certificates.data, size, EPISODES, generator)
            permuted = permute(episodes, generator)
            for precision in ("float32", "float64"):
                change = _change(reader.to(getattr(torch, precision)), episodes, permuted)
                rows.append((variant, draw, "invariance_error", size, precision, change))
    return rows


def _change(reader: Reader, episodes: Episodes, permuted: Episodes) -> float:
    questions = ask_everything(episodes)
    with torch.no_grad():
        return float((reader(permuted, questions) - reader(episodes, questions)).abs().max())


def _reader(variant: str, certificates: Certificates, generator: Generator) -> Reader:
    return Reader(variant, certificates.data, certificates.model, "softmax", generator)


def _witness(variant: str, certificates: Certificates) -> Reader:
    reader = _reader(variant, certificates, torch.Generator().manual_seed(0)).double()
    keys, values = certificates.data.keys, certificates.data.values
    answer = [2 * PLANE + 2, 2 * PLANE + 3]
    with torch.no_grad():
        for parameter in reader.parameters():
            parameter.zero_()
        head = reader.head
        for matrix in (head.query, head.key, head.value):
            assert isinstance(matrix, Tensor)
            matrix.fill_diagonal_(1.0)
        head.question[:, 2 * PLANE] = STRENGTH
        head.entry[:keys, 2 * PLANE] = STRENGTH
        for value, place in enumerate(answer[:values]):
            head.entry[keys + value, place] = 1.0
            head.readout.weight[value, place] = 1.0
        if variant in ("cumulative", "content"):
            reader.entry_angles[:keys, PLANE] = STEP
    return reader
