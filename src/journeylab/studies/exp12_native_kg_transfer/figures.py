"""Figures of exp12."""

from collections.abc import Mapping
from functools import partial

import pandas as pd

from journeylab import plotting as plot
from journeylab.knowledge.tables import PRIMARY, TIER_TITLES, gate_of
from journeylab.plotting import StudyResults
from journeylab.studies.exp12_native_kg_transfer.tables import numbers, tabulate

_SIZE = "size of the world, k"


def _bounds(arms: list[str], results: StudyResults, title: str, _: pd.DataFrame) -> plot.Lines:
    """The floor of a tier, which is the same in all runs of an arm's seed; the gate at tier 1."""
    tier = next(tier for tier, shown in TIER_TITLES.items() if shown == title)
    rows = results.pool("floor_marginal", tier=tier, arm=arms)
    floor = rows.drop_duplicates(["arm", "seed"])["value"].median()
    return {"relation marginal": floor, "gate": gate_of(results) if tier == "T1" else None}


def _against(factor: str, levels: Mapping[str, str]) -> plot.Draw:
    """hits@1 at tiers 1 to 3 against a factor, which has these levels in the arms."""
    return plot.multiples(
        "hits@1",
        {**PRIMARY, "arm": list(levels), "variant": ("A", "A-plus-causal", "B")},
        height=2.0,
        labels=(factor, "hits@1"),
        names={"tier": TIER_TITLES, "arm": levels},
        lines=partial(_bounds, list(levels)),
        limits=lambda _, rows: {"xlim": (-0.5, rows["arm"].nunique() - 0.5)},
        x="arm",
        y="value",
        col="tier",
        ylim=(-0.04, 1.04),
    )


FIGURES: plot.Figures = {
    "size": _against(_SIZE, {"size-k1": "1", "size-k3": "3", "size-k10": "10"}),
    "unscaled": _against(_SIZE, {"unscaled-k1": "1", "unscaled-k10": "10"}),
    "split": _against(_SIZE, {"split-k1": "1", "split-k3": "3", "split-k10": "10"}),
    "tokens": _against("tokens of a name, m", {"size-k3": "1", "split-k3": "4"}),
    "bridging": _against(
        "share in both formats, p",
        {"bridging-p10": "0.1", "bridging-p30": "0.3", "bridging-p70": "0.7"},
    ),
    "unseen": plot.multiples(
        "hits@1",
        {**PRIMARY, "arm": "unseen"},
        height=(0.6, 0.17),
        labels=("hits@1", ""),
        names={"tier": TIER_TITLES},
        lines=partial(_bounds, ["unseen"]),
        col="tier",
        xlim=(-0.04, 1.04),
    ),
}
