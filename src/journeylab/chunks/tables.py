"""Tidy tables: labels of rows, joining, and the rows of one seed."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from journeylab.config import UserError

LABELS = ("study", "arm", "variant", "seed")


def labelled(
    table: pd.DataFrame, run: tuple[str, str | None, str | None], seed: int | None
) -> pd.DataFrame:
    """A table with study, arm and variant of its `run` and its seed, if any, as first columns."""
    rows = table.copy()
    seeds = pd.Series([seed] * len(rows), rows.index, dtype="Int64" if seed is None else "int64")
    for position, value in enumerate((*run, seeds)):
        rows.insert(position, LABELS[position], value)
    return rows


def joined(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """All rows of tables that may have different factors; a factor that is absent is empty."""
    filled = [table for table in tables if not table.empty]
    return (
        pd.concat(filled, ignore_index=True)
        if filled
        else pd.DataFrame(columns=[*LABELS, "metric", "value"])
    )


def of_seed(dataset: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The rows of one seed of a dataset. Raises UserError if there are none."""
    chosen = dataset[dataset["seed"] == seed].drop(columns="seed").reset_index(drop=True)
    if chosen.empty:
        raise UserError(f"the dataset holds no seed {seed}; generate its chunk again")
    return chosen
