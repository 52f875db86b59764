"""Tidy tables: labels of rows, joining, the rows of one world of a seed, and means over worlds."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import pandas as pd

from journeylab.config import UserError

if TYPE_CHECKING:
    from journeylab.streams import Streams

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


def of_world(dataset: pd.DataFrame, streams: Streams, worlds: int) -> pd.DataFrame:
    """The rows of one of a seed's ``worlds``. Raises UserError if there are none."""
    chosen = dataset[dataset["seed"] == streams.seed].drop(columns="seed")
    if worlds > 1:
        chosen = chosen[chosen["world"] == streams.world].drop(columns="world")
    if chosen.empty:
        raise UserError(f"the dataset holds no seed {streams.replicate}; generate its chunk again")
    return chosen.reset_index(drop=True)


def mean_over_worlds(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The rows of a seed from those of its worlds: ``value`` is their mean, rounded once.

    The mean does not depend on the order of the worlds. A single table is returned as it is. Raises
    ValueError if a row of one world (all columns but ``value``) is missing or repeated in another.
    """
    first, *others = tables
    if not others:
        return first
    keys = [name for name in first.columns if name != "value"]
    rows = pd.concat(tables, ignore_index=True)
    values = rows.groupby(keys, dropna=False, sort=False)["value"]
    repeated = any(table.duplicated(keys).any() for table in tables)
    if repeated or not (values.size() == len(tables)).all():
        raise ValueError("the worlds of a seed must have the same rows, each once")
    means = values.agg(fmean).reset_index()
    return means[list(first.columns)].astype(first.dtypes)
