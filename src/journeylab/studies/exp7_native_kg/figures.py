"""Figures and tables of exp7, and numbers of its prose that no query of measurements gives."""

import pandas as pd

from journeylab import plotting as plot
from journeylab.knowledge.tables import PRIMARY, TIER_TITLES, undertrained, worlds_per_seed
from journeylab.plotting import StudyResults, Table
from journeylab.studies.exp7_native_kg.settings import DOCUMENTED

READINGS = ("characters", "words", "larger")
_UNREAD: dict[str, str | int] = {"format": "unread", "candidates": "all"}
_TIERS: dict[str, dict[str, str | int]] = {
    TIER_TITLES["T1"]: {"tier": "T1", **PRIMARY},
    TIER_TITLES["T2"]: {"tier": "T2", **_UNREAD},
    TIER_TITLES["T3"]: {"tier": "T3", **_UNREAD},
}


def tabulate(results: StudyResults) -> dict[str, Table]:
    """The documented sizes against those of a world with the documented generations."""
    counts = results.select("count")
    if counts.empty:
        return {}
    counted = counts.groupby("quantity")["value"].first()
    off = results.select("count_deviation").groupby("quantity")["value"].max()
    rows = [
        {"Quantity": name, "Reviewer plan": _print_size(name, size)}
        | {"Here": _print_size(name, counted[name]), "Deviation": f"{100 * off[name]:.0f} %"}
        for name, size in DOCUMENTED.items()
    ]
    return {"counts": plot.table(rows)}


def _print_size(quantity: str, value: float) -> str:
    return f"{100 * value:.0f} %" if quantity.endswith("share") else f"{value:.0f}"


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Worlds, the derived facts of the documented one, and undertrained runs."""
    total, base = (
        results.anchor("world_size", arm="characters", quantity=quantity)
        for quantity in ("facts", "base facts")
    )
    return {
        "worlds": worlds_per_seed(results),
        "facts.derived": round(total - base) if total and base else "n/a",
        **undertrained(results),
    }


def against_b(results: StudyResults, _: pd.DataFrame) -> pd.DataFrame:
    """Differences of hits@1 to B of the same reading, at tiers 2 and 3."""
    tables = [
        results.paired("hits@1", (arm, "B"), arm=arm, **levels).assign(shown=title)
        for title, levels in _TIERS.items()
        for arm in READINGS
        if levels["tier"] != "T1"
    ]
    return pd.concat(tables, ignore_index=True).astype({"run": str})


FIGURES: plot.Figures = {
    "answer": plot.multiples(
        "hits@1",
        _UNREAD,
        rows=against_b,
        height=(0.55, 0.17),
        labels=("hits@1, model − B", ""),
        lines={"equal to B": 0.0},
        y="run",
        hue="data",
        col="shown",
    ),
    "tiers": plot.multiples(
        {title: ("hits@1", levels) for title, levels in _TIERS.items()},
        {"arm": READINGS},
        height=1.25,
        labels=("hits@1", ""),
        lines={"guess": "floor_generation", "most frequent tail": "floor_marginal"},
        limits={"xlim": (-0.04, 1.04)},
        row="data",
        col="measure",
        sharey="row",
    ),
    "templates": plot.multiples(
        "hits@1",
        {"format": "text", "candidates": "all", "tier": "T2"},
        height=(0.55, 0.15),
        labels=("hits@1, tier 2", ""),
        names={"template": {0: "template 0", 1: "template 1", 2: "template 2"}},
        limits={"xlim": (-0.04, 1.04)},
        y="run",
        hue="data",
        col="template",
    ),
    "perplexity": plot.multiples(
        {title: f"perplexity_{tier}" for tier, title in TIER_TITLES.items()},
        {"arm": READINGS},
        curve=True,
        height=1.3,
        labels=("step", "perplexity"),
        limits={"yscale": "log"},
        row="measure",
        col="data",
        sharex="col",
        sharey="row",
    ),
}
