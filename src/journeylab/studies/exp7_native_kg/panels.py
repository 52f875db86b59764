"""Rows, reference lines and limits of the figures of exp7."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from journeylab import plotting as plot
from journeylab.knowledge.tables import PRIMARY, TIER_TITLES, gate_of
from journeylab.plotting import StudyResults
from journeylab.studies.exp7_native_kg.tables import own_form

FLOORS = {
    "uniform": "any entity",
    "type": "any of the type",
    "marginal": "relation marginal",
    "generation": "relation and generation",
}
_REFERENCE = ("native", "A")
_COMPARED = ("native", "7a", "7b-held")


def _floor(results: StudyResults, name: str, tier: str) -> float:
    """The median over seeds; the floor of a seed is the same in runs with the same worlds."""
    rows = results.pool(f"floor_{name}", tier=tier, arm=_COMPARED)
    return float(rows.drop_duplicates("seed")["value"].median())


def floors(results: StudyResults, title: str, _: pd.DataFrame) -> plot.Lines:
    """All floors of a tier; at tier 1 the gate too."""
    tier = next(tier for tier, shown in TIER_TITLES.items() if shown == title)
    gate = gate_of(results) if tier == "T1" else None
    return {label: _floor(results, name, tier) for name, label in FLOORS.items()} | {"gate": gate}


def pair(results: StudyResults, _: pd.DataFrame) -> pd.DataFrame:
    """Differences to A; greater is better for A."""
    tables = []
    for tier, metric, name, sign in (
        ("T2", "log_rank", "log rank, model − A", 1),
        ("T3", "log_rank", "log rank, model − A", 1),
        ("T3", "hits@1", "hits@1, A − model", -1),
    ):
        rows = results.paired(metric, _REFERENCE, **PRIMARY, tier=tier)
        rows["value"] *= sign
        tables.append(rows.assign(shown=f"{TIER_TITLES[tier]}\n{name}"))
    return pd.concat(tables, ignore_index=True)


def around_zero(shown: str, rows: pd.DataFrame) -> Mapping[str, Any]:
    """Limits with “equal to A” in the middle."""
    reach = 1.1 * float(rows.loc[rows["shown"] == shown, "value"].abs().max()) or 1.0
    return {"xlim": (-reach, reach)}


def reach(level: tuple[str, str], rows: pd.DataFrame) -> Mapping[str, Any]:
    """The same limits for a metric at all tiers."""
    largest = float(rows.loc[rows["measure"] == level[1], "value"].max())
    if level[1] == "perplexity":
        return {"xscale": "log", "xlim": (0.9, 1.2 * largest)}
    return {"xlim": (-0.05, 1.05 * max(1.0, largest))}


def generation_floor(results: StudyResults, *_: object) -> plot.Lines:
    """The floor of tier 2 that needs no inference, in the style that it has among all floors."""
    known = _floor(results, "generation", "T2")
    return dict.fromkeys(FLOORS.values()) | {FLOORS["generation"]: known}


def add_own_form(results: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """Beside the primary prompts, those in the form in which a model read the facts."""
    tables = [rows.assign(prompts="template 0, which was not read")]
    for arm, variant in rows[["arm", "variant"]].drop_duplicates().itertuples(index=False):
        own = own_form(results, (arm, variant))
        of_run = results.tidy("hits@1", arm=arm, variant=variant, tier="T2", **own)
        tables.append(of_run.assign(prompts="the form that was read"))
    return pd.concat(tables, ignore_index=True).astype({"run": str})


def beside_native(results: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """The curves of linearised models, each form of their rows beside the native models."""
    native = rows[rows["arm"] == "native"]
    tables = [
        pd.concat([rows[rows["arm"] == arm], native]).assign(kg=results.arms.get(arm, arm))
        for arm in ("7a", "7b-held")
    ]
    return pd.concat(tables, ignore_index=True)
