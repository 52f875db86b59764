"""Figures, tables and numbers of exp12."""

from collections.abc import Mapping, Sequence
from typing import cast

import pandas as pd
from matplotlib.figure import Figure

from journeylab.datasets.triples import SPLITS, entities, facts_of
from journeylab.knowledge.settings import TIERS
from journeylab.knowledge.tables import ASKED, TITLES, tell_tiers
from journeylab.plotting import (
    RunName,
    StudyResults,
    Table,
    anchors,
    facets,
    legend_above,
    median,
    seeds,
)
from journeylab.streams import data_streams
from journeylab.studies.exp12_native_kg_transfer.answer import answer
from journeylab.studies.exp12_native_kg_transfer.data import generate
from journeylab.studies.exp12_native_kg_transfer.language import language_of
from journeylab.studies.exp12_native_kg_transfer.settings import SPECS, Data, Settings, Variant

_SYMBOLS = (
    "Every dot is one seed, markers are medians over seeds, lines their distribution-free 95 % "
    "intervals; ✗ counts seeds that failed."
)
CAPTIONS = {
    "size": (
        "Transfer against the size of the world, k times that of exp7: hits@1 among all entities "
        "in template 0, with one token per entity, of facts that were read as triples only (A) or "
        f"in template 1 only (B). Left of it, for scale, facts that were taught. {_SYMBOLS} "
        "Horizontal lines: the gate below which a run is undertrained; the relation marginal, "
        "median over worlds and sizes, which guesses the most frequent tail."
    ),
    "tokens": (
        "Transfer against the number m of tokens of a name, k = 3: a symbol of its own, two "
        "syllables, four characters. Lines and symbols as before."
    ),
    "bridging": (
        "Transfer against the share p of facts that are read in both formats, in a world of "
        "random attributes, k = 3: nothing follows from anything, and tier 3 can only be guessed. "
        "The facts that are asked at tiers 2 and 3 are the same at every p. Symbols as before."
    ),
    "unseen": (
        "Derived facts that no model saw are asked at tier 3; regularised, k = 3, one token per "
        "name; tiers 1 and 2 for scale. A hides any part of a triple, A (tail only) its tail; B "
        "predicts the next token of its sentences, B (MLM) what is hidden of them. Symbols as "
        "before; the vertical line is the relation marginal."
    ),
    "repository": (
        "Repository attention, k = 1: text attends to all KG facts, which are not learned, as "
        "triples in their slots or as sentences; beside A and B, which learn them. Symbols as "
        "before."
    ),
}
_MARGINAL = "relation marginal"
_SIZES = {"size-k1": "1", "size-k3": "3", "size-k10": "10"}
_TOKENS = {"size-k3": "1", "tokens-m2": "2", "tokens-m4": "4"}
_SHARES = {
    "bridging-p10": "0.1",
    "bridging-p30": "0.3",
    "bridging-p50": "0.5",
    "bridging-p70": "0.7",
}
_REPOSITORY = ("size-k1", "repository")
_TOLD = (
    ("T2", "size-k1", "A"),
    ("T2", "tokens-m4", "A"),
    ("T1", "repository", "A-repository"),
    ("T1", "repository", "B-repository"),
)
"""Tiers of runs whose hits@1 the report's prose tells."""


def draw(results: StudyResults) -> dict[str, Figure]:
    """Transfer by size, tokens and bridging, tier 3, and the repository."""
    figures = {}
    if _has(results, _SIZES):
        figures["size"] = _draw_against(results, _SIZES, "size of the world, k")
    if _has(results, _TOKENS):
        figures["tokens"] = _draw_against(results, _TOKENS, "tokens of a name, m")
    if _has(results, _SHARES):
        figures["bridging"] = _draw_against(results, _SHARES, "share in both formats, p")
    if _has(results, ("unseen",)):
        figures["unseen"] = _draw_models(results, ("unseen",))
    if _has(results, ("repository",)):
        figures["repository"] = _draw_models(results, _REPOSITORY)
    return figures


def tabulate(results: StudyResults) -> dict[str, Table]:
    """hits@1 of every run by tier, in text and in the format in which its KG facts were read."""
    gate, rows = _gate(results), []
    for run in results.present():
        head = {
            "Arm": results.arms.get(run[0], run[0]),
            "Model": results.labels.get(run[1], run[1]),
        }
        rows.append(head | tell_tiers(results, run, gate, _own_format(run)))
    heads = [name for name in (rows[0] if rows else {}) if name not in ("Arm", "Model")]
    return {
        "hits": Table(
            name="hits",
            caption="hits@1 among all entities, template 0: median (mean) over seeds.",
            frame=pd.DataFrame(rows),
            notes=(
                "Own format: triples for native models, template 1 for the others; none for a "
                f"repository. Trained: seeds with tier 1 at {gate} or above, of all seeds."
            ),
            numeric=tuple(heads),
        )
    }


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Sizes of the worlds, from a world of each kind and size, some medians, and the answer."""
    found: dict[str, float | int | str] = {}
    for name, data in _worlds().items():
        facts = generate(data, data_streams("exp12", data.world, 0))
        known = entities(facts)
        found |= {
            f"entities.{name}": len(known),
            f"people.{name}": list(known.values()).count("person"),
            f"values.{name}": list(known.values()).count("town"),
            f"facts.{name}": len(facts),
            f"symbols.{name}": len(language_of(data, 1, list(known)).symbols),
            f"shown.{name}": len(facts_of(facts, "base", "teaching", "transfer", "shown")),
        }
        splits = zip(TIERS, SPLITS, strict=True)
        found |= {f"{tier}.{name}": len(facts_of(facts, split)) for tier, split in splits}
    tier1 = results.pool("hits@1", **{**ASKED, "tier": "T1"})
    found["runs.finished"] = len(tier1)
    found["runs.undertrained"] = int((tier1["value"] < _gate(results)).sum())
    sizes = _settings(results).model
    found["cache.numbers"] = 2 * sizes.layers * sizes.d * 3 * int(found["shown.k1"])
    for tier, arm, variant in _TOLD:
        values = results.values("hits@1", (arm, variant), **ASKED, tier=tier)
        found[f"{tier}.{arm}.{variant}"] = median(values, 2)
    if results.verdicts is not None:
        found["answer"] = answer(results.verdicts)
    return found


def _draw_against(results: StudyResults, places: Mapping[str, str], x: str) -> Figure:
    """hits@1 at tiers 1 to 3 against what the arms differ in."""
    rows = results.tidy("hits@1", **ASKED, arm=list(places), variant=["A", "A-plus-causal", "B"])
    order = [place for arm, place in places.items() if arm in set(rows["arm"])]
    rows["place"] = pd.Categorical(rows["arm"].map(places), order)
    rows["tier"] = rows["tier"].map(TITLES)
    titles = list(TITLES.values())
    figure, panels = facets(
        rows, 2.0, x, "hits@1", col="tier", col_order=titles, ylim=(-0.04, 1.04)
    )
    shown = {
        name: look for name, look in results.looks.items() if name in set(rows["model"].astype(str))
    }
    for tier, title in TITLES.items():
        axes, part = panels[title]
        seeds(axes, part, shown, x="place", y="value")
        gate = _gate(results) if tier == "T1" else None
        anchors(axes, {_MARGINAL: _floor(results, tier, list(places)), "gate": gate})
    legend_above(figure)
    return figure


def _draw_models(results: StudyResults, arms: Sequence[str]) -> Figure:
    """hits@1 of every model of some arms, by tier."""
    rows = results.tidy("hits@1", **ASKED, arm=list(arms))
    rows["tier"] = rows["tier"].map(TITLES)
    titles = list(TITLES.values())
    height = 0.6 + 0.17 * rows["model"].nunique()
    figure, panels = facets(
        rows, height, "hits@1", col="tier", col_order=titles, xlim=(-0.04, 1.04)
    )
    for tier, title in TITLES.items():
        axes, part = panels[title]
        part = part.assign(model=part["model"].cat.remove_unused_categories())
        seeds(axes, part, results.looks)
        gate = _gate(results) if tier == "T1" else None
        anchors(axes, {_MARGINAL: _floor(results, tier, list(arms)), "gate": gate}, x=True)
    legend_above(figure)
    return figure


def _has(results: StudyResults, arms: Mapping[str, str] | Sequence[str]) -> bool:
    return any(arm in arms for arm, _ in results.present())


def _own_format(run: RunName) -> dict[str, str | int]:
    """How a run is asked for facts in the format in which it read them; a repository's is none."""
    if run[0] == "repository":
        return {"format": "none"}
    if SPECS[cast(Variant, run[1])].kg == "native":
        return {"format": "kg", "candidates": "all"}
    return ASKED | {"template": 1}


def _floor(results: StudyResults, tier: str, arms: list[str]) -> float:
    """Median over the worlds of some arms; every run of a seed carries the same floor."""
    rows = results.pool("floor_marginal", tier=tier, arm=arms)
    return float(rows.drop_duplicates(["arm", "seed"])["value"].median())


def _worlds() -> dict[str, Data]:
    family = {f"k{k}": Data(k=k) for k in (1, 3, 10)}
    return family | {"attributes": Data(world="attributes")}


def _gate(results: StudyResults) -> float:
    return _settings(results).evaluation.gate


def _settings(results: StudyResults) -> Settings:
    return cast(Settings, results.settings)
