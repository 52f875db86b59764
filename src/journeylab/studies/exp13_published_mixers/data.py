"""Training and validation rows of one task.

    split       length  tokens              labels
    train            4  0 2 1 1 2           − 3 2 4 0

Training rows have STAGES lengths in equal numbers, validation rows the longest. Tokens and labels
are bytes, one per position; the label 255 means none.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from journeylab.datasets.sequences import LabelledRows
from journeylab.streams import Streams
from journeylab.studies.exp13_published_mixers.settings import STAGES, Data
from journeylab.studies.exp13_published_mixers.tasks import draw_rows

NONE = 255
VALIDATION = 256
"""Validation rows; they decide nothing and draw the learning curve."""


def generate(data: Data, streams: Streams) -> pd.DataFrame:
    """The rows of one seed: split, length, tokens, labels."""
    rng = streams.numpy("rows")
    tables = []
    for length in stages(data.length):
        tables.append(_table("train", length, draw_rows(data.task, data.rows, length, rng)))
    rows = draw_rows(data.task, VALIDATION, data.length, rng)
    return pd.concat([*tables, _table("validation", data.length, rows)], ignore_index=True)


def stages(longest: int) -> list[int]:
    """The lengths of training rows."""
    return [longest * stage // STAGES for stage in range(1, STAGES + 1)]


def rows_of(table: pd.DataFrame, split: str, length: int) -> LabelledRows:
    """The rows of a split and a length, as arrays of int64."""
    rows = table[(table["split"] == split) & (table["length"] == length)]
    tokens, labels = (_array(rows[column]) for column in ("tokens", "labels"))
    return LabelledRows(tokens, np.where(labels == NONE, -1, labels))


def _table(split: str, length: int, rows: LabelledRows) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "split": split,
            "length": length,
            "tokens": [row.tobytes() for row in rows.tokens.astype(np.uint8)],
            "labels": [row.tobytes() for row in rows.labels.astype(np.uint8)],
        }
    )


def _array(column: pd.Series[bytes]) -> NDArray[np.int64]:
    flat = np.frombuffer(b"".join(column), dtype=np.uint8)
    return flat.reshape(len(column), -1).astype(np.int64)
