"""The tidy tables that stages hand on: whose rows they are, and how they are joined."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from journeylab.config import UserError
from journeylab.records.plans import Plan

LABELS = ("study", "arm", "variant", "seed")


def labelled(table: pd.DataFrame, plan: Plan, seed: int | None) -> pd.DataFrame:
    """The rows of one seed of a run, or of a run that has none, with its labels in front."""
    rows = table.copy()
    seeds = pd.Series([seed] * len(rows), rows.index, dtype="Int64" if seed is None else "int64")
    for place, value in enumerate((plan.study, plan.arm, plan.variant, seeds)):
        rows.insert(place, LABELS[place], value)
    return rows


def joined(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """All rows of tables that need not have the same factors; a factor that is absent is empty."""
    filled = [table for table in tables if not table.empty]
    return (
        pd.concat(filled, ignore_index=True)
        if filled
        else pd.DataFrame(columns=[*LABELS, "metric", "value"])
    )


def of_seed(dataset: pd.DataFrame, seed: int) -> pd.DataFrame:
    """One seed's rows of a dataset. Raises UserError if it has none."""
    chosen = dataset[dataset["seed"] == seed].drop(columns="seed").reset_index(drop=True)
    if chosen.empty:
        raise UserError(f"the dataset holds no seed {seed}; generate its chunk again")
    return chosen
