"""Figures of exp2."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from journeylab import plotting as plot
from journeylab.plotting import Level, Lines, StudyResults
from journeylab.studies.exp2_shuffled_kb.anchors import chance, key_blind, untagged_ceiling, vote
from journeylab.studies.exp2_shuffled_kb.settings import ORDERS, VARIANTS, Arm
from journeylab.studies.exp2_shuffled_kb.tables import numbers, settings_of, tabulate

_TESTED = {order: f"tested {order}" for order in ORDERS}
_TRAINED = [f"trained {order}" for order in ORDERS]


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
    return rows.assign(M=sizes, trained=pd.Categorical(trained, _TRAINED))


def smallest(results: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """The smallest repositories; of answers that flip, those from the order in training."""
    rows = add_conditions(results, rows)
    rows = rows[rows["M"] == min(settings_of(results).lookups.sizes)]
    accuracy = rows["measure"] != "answers that flip"
    return rows[accuracy | (rows["trained"] == "trained " + rows["order"])]


def size_below(level: tuple[str, str], rows: pd.DataFrame) -> Mapping[str, Any]:
    """The number of entries in the label of the lowest panels."""
    return {"xlabel": f"share, M = {rows['M'].iloc[0]}"} if level[0] == _TRAINED[-1] else {}


def keyless(results: StudyResults, level: tuple[str, str], _: pd.DataFrame) -> Lines:
    """Accuracies without the keys; the vote of the slots needs sorted entries."""
    data = settings_of(results).lookups
    size = min(data.sizes)
    blind = {"chance": float(chance(data)), "most frequent value": float(key_blind(data, size))}
    votes = {"vote of the slots": vote(data, size).value}
    return {"tested sorted": blind | votes, "tested shuffled": blind}.get(level[1], {})


def keyless_by_size(results: StudyResults, level: tuple[str, str], part: pd.DataFrame) -> Lines:
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
    """Changes from the order in training, by the printed number of entries."""
    rows = in_training_order(results, rows)
    return rows.assign(M="M = " + rows["M"].astype(str))


def decades(_: str, rows: pd.DataFrame) -> Mapping[str, Any]:
    """A logarithmic axis with all values."""
    return {"xscale": "log", "xlim": (rows["value"].min() / 3, 3 * rows["value"].max())}


def untagged(results: StudyResults, *_: object) -> Lines:
    """What is known before training about repositories with identical content."""
    data = settings_of(results).relations
    ceiling = float(untagged_ceiling(data))
    return {"chance": float(chance(data)), "ceiling without a tag": ceiling}


FIGURES: plot.Figures = {
    "sizes": plot.multiples(
        "accuracy",
        lookups,
        height=1.45,
        labels=("entries M", "accuracy"),
        names={"order": _TESTED},
        rows=add_conditions,
        lines=keyless_by_size,
        x="M",
        row="trained",
        col="order",
        ylim=(0.0, 1.05),
    ),
    "orders": plot.multiples(
        {title: ("accuracy", {"order": order}) for order, title in _TESTED.items()}
        | {"answers that flip": "flip_rate"},
        lookups,
        height=1.45,
        rows=smallest,
        limits=size_below,
        lines=keyless,
        row="trained",
        col="measure",
        col_order=[*_TESTED.values(), "answers that flip"],
        xlim=(-0.03, 1.05),
    ),
    "logits": plot.multiples(
        {order: ("max_logit_change", {"order": order}) for order in ORDERS},
        lookups,
        height=1.75,
        labels=("max |Δlogit|", ""),
        clip=(1e-9, None),  # 0 is drawn at the end of the axis
        rows=changes,
        limits=decades,
        lines={"tolerance": 1e-4},
        hue="trained",
        col="M",
    ),
    "relations": plot.multiples(
        "accuracy",
        {"variant": VARIANTS["relations"], "order": "shuffled"},
        height=(0.55, 0.22),
        labels=("accuracy", ""),
        lines=untagged,
        col="data",
        xlim=(0.0, 1.05),
    ),
    "learning": plot.multiples(
        {order: f"accuracy_{order}" for order in ORDERS},
        curve=True,
        height=1.4,
        labels=("step", "accuracy"),
        rows=in_training_order,
        col="data",
        col_wrap=4,
        sharex=False,
        ylim=(0.0, 1.05),
    ),
}
