"""Rows, reference lines and limits of the figures of exp2."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from journeylab import plotting as plot
from journeylab.plotting import StudyResults
from journeylab.plotting.results import Level
from journeylab.studies.exp2_shuffled_kb.anchors import chance, key_blind, untagged_ceiling, vote
from journeylab.studies.exp2_shuffled_kb.settings import ORDERS, VARIANTS, Arm
from journeylab.studies.exp2_shuffled_kb.tables import settings_of


def lookups(results: StudyResults) -> Mapping[str, Level]:
    """Where task lookup is trained with softmax weights."""
    arms = results.arms_of(Arm).items()
    softmax = [name for name, arm in arms if arm.attention == "softmax" and arm.size]
    return {"arm": softmax, "variant": VARIANTS["lookup"]}


def add_conditions(results: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """The number of entries M, or 0, and the order in training."""
    arms = results.arms_of(Arm)
    sizes = rows["arm"].map({name: arm.size or 0 for name, arm in arms.items()})
    trained = rows["arm"].map({name: f"trained {arm.order}" for name, arm in arms.items()})
    return rows.assign(M=sizes, trained=trained)


def smallest(results: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """The smallest repositories; of answers that flip, those from the order in training."""
    rows = add_conditions(results, rows)
    rows = rows[rows["M"] == min(settings_of(results).lookups.sizes)]
    accuracy = rows["measure"] != "answers that flip"
    return rows[accuracy | (rows["trained"] == "trained " + rows["order"])]


def size_below(level: tuple[str, str], rows: pd.DataFrame) -> Mapping[str, Any]:
    """The number of entries in the label of the lowest panels."""
    lowest = level[0] == f"trained {ORDERS[-1]}"
    return {"xlabel": f"share, M = {rows['M'].iloc[0]}"} if lowest else {}


def keyless(results: StudyResults, level: tuple[str, str], _: pd.DataFrame) -> plot.Lines:
    """Accuracies without the keys; the vote of the slots needs sorted entries."""
    data = settings_of(results).lookups
    size = min(data.sizes)
    blind = {"chance": float(chance(data)), "most frequent value": float(key_blind(data, size))}
    votes = {"vote of the slots": vote(data, size).value}
    return {"tested sorted": blind | votes, "tested shuffled": blind}.get(level[1], {})


def keyless_by_size(
    results: StudyResults, level: tuple[str, str], part: pd.DataFrame
) -> plot.Lines:
    """The same at every number of entries, which is a category on the axis."""
    data, sizes = settings_of(results).lookups, sorted(set(part["M"]))
    guesses = [float(key_blind(data, size)) for size in sizes]
    votes = [vote(data, size).value for size in sizes if level[1] == "tested sorted"]
    return {
        "chance": float(chance(data)),
        "most frequent value": (range(len(sizes)), guesses),
        "vote of the slots": (range(len(votes)), votes) if votes else None,
    }


def in_training_order(results: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """Of measures in both orders, those in the order in training."""
    rows = add_conditions(results, rows)
    return rows[rows["trained"] == "trained " + rows["measure"]]


def changes(results: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """Changes from the order in training; 0 is drawn at the end of the axis."""
    rows = in_training_order(results, rows)
    return rows.assign(value=rows["value"].clip(lower=1e-9), M="M = " + rows["M"].astype(str))


def decades(_: str, rows: pd.DataFrame) -> Mapping[str, Any]:
    """A logarithmic axis with all values."""
    return {"xscale": "log", "xlim": (rows["value"].min() / 3, 3 * rows["value"].max())}


def untagged(results: StudyResults, *_: object) -> plot.Lines:
    """What is known before training about repositories with identical content."""
    data = settings_of(results).relations
    ceiling = float(untagged_ceiling(data))
    return {"chance": float(chance(data)), "ceiling without a tag": ceiling}
