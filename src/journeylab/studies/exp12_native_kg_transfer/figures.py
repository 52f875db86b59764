"""Figures and tables of exp12, and numbers of its prose that no query of measurements gives."""

from typing import Any, cast

import pandas as pd

from journeylab import plotting as plot
from journeylab.knowledge.settings import TIERS
from journeylab.knowledge.tables import (
    PRIMARY,
    TIER_TITLES,
    gate_of,
    undertrained,
    worlds_per_seed,
)
from journeylab.plotting import StudyResults, Table
from journeylab.studies.exp12_native_kg_transfer.settings import SPECS, Variant
from journeylab.wording.typography import fixed

_KG: dict[str, str | int] = {"format": "kg", "candidates": "all"}


def tabulate(results: StudyResults) -> dict[str, Table]:
    """hits@1 of every run by tier, in text and in the form of its KG rows.

    A run is trained at seeds whose hits@1 at tier 1 is at least the gate.
    """
    rows = []
    for arm, variant in results.present:
        run = arm, variant
        tiers = {tier: results.values("hits@1", run, **PRIMARY, tier=tier) for tier in TIERS}
        shown = {f"Tier {tier[1:]}": values for tier, values in tiers.items()}
        shown["T2, own format"] = results.values("hits@1", run, **_own_format(variant), tier="T2")
        trained = int((tiers["T1"] >= gate_of(results)).sum())
        rows.append(
            {"Arm": results.arms.get(arm, arm), "Model": results.labels.get(variant, variant)}
            | {head: _median_and_mean(values) for head, values in shown.items()}
            | {"Trained": f"{trained}/{len(tiers['T1']) + results.failures(*run)}"}
        )
    columns = {tier: ("hits@1", PRIMARY | {"tier": tier}) for tier in TIERS}
    columns["T2 kg"] = ("hits@1", _KG | {"tier": "T2"})
    cited = plot.medians(results, columns).numbers
    return {"hits": plot.table(rows, words=2, numbers=cited)}


def _median_and_mean(values: "pd.Series[float]") -> str:
    return f"{plot.median(values, 2)} ({fixed(float(values.mean()), 2)})" if len(values) else "n/a"


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """The gate, worlds of a seed, and undertrained runs."""
    return {"gate": gate_of(results), "worlds": worlds_per_seed(results), **undertrained(results)}


def _own_format(variant: str) -> dict[str, str | int]:
    """The factor levels of the form in which a model read its KG facts."""
    return _KG if SPECS[cast(Variant, variant)].kg == "native" else PRIMARY | {"template": 1}


def mean_over_templates(_: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """The mean over templates of each run, seed and tier."""
    by = [name for name in rows if name not in ("template", "value")]
    means = rows.groupby(by, observed=True, dropna=False, sort=False)["value"]
    return means.mean().reset_index()


def _bounds(results: StudyResults, title: Any, _: pd.DataFrame) -> plot.Lines:
    """The gate at tier 1."""
    return {"gate": gate_of(results) if title == TIER_TITLES["T1"] else None}


def _by_condition(*arms: str) -> plot.Draw:
    """hits@1 at tiers 1 to 3, in the templates that no compared model has read."""
    return plot.multiples(
        "hits@1",
        {"format": "text", "template": (0, 2), "candidates": "all", "arm": arms},
        rows=mean_over_templates,
        height=(0.6, 0.3),
        labels=("hits@1", ""),
        names={"tier": TIER_TITLES},
        lines=_bounds,
        y="data",
        hue="model",
        col="tier",
        xlim=(-0.04, 1.04),
    )


FIGURES: plot.Figures = {
    "conditions": _by_condition("size-k1", "size-k3", "unscaled-k1", "unscaled-k3", "split"),
    "bridging": _by_condition("bridging-p10", "bridging-p30"),
}
