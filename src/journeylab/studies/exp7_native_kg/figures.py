"""Figures, tables and numbers of exp7."""

from collections.abc import Sequence
from typing import cast

import pandas as pd
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from journeylab.datasets.triples import entities, facts_of
from journeylab.knowledge.settings import LINEARISED_TEMPLATES, TEMPLATES, TIERS
from journeylab.knowledge.tables import ASKED, TITLES, tell_tiers
from journeylab.plotting import (
    RunName,
    StudyResults,
    Table,
    anchors,
    canvas,
    curves,
    facets,
    legend_above,
    looks,
    median,
    seeds,
)
from journeylab.streams import data_streams
from journeylab.studies.exp7_native_kg.data import generate
from journeylab.studies.exp7_native_kg.language import ENGLISH, SYMBOLS
from journeylab.studies.exp7_native_kg.metrics import METRICS
from journeylab.studies.exp7_native_kg.settings import PLANNED, SPECS, Arm, Settings

CAPTIONS = {
    "tiers": (
        "hits@1 among all entities, English prompts in template 0, by tier, model and arm. Every "
        "dot is one seed, markers are medians over seeds, lines their distribution-free 95 % "
        "intervals; ✗ counts seeds that failed. Vertical lines are floors – any entity, any entity "
        "of the tail's type, the most frequent tail of the relation's other facts in training "
        "(medians over the worlds) – and, in tier 1, the gate below which a run is undertrained. A "
        "with θ = 0, causal, or predicting all, B (MLM) and B in the template that is asked for "
        "are controls."
    ),
    "paired": (
        "Each model against A, seed by seed and so world by world, in template 0: right of the "
        "line A is the better one. Log rank is the mean natural logarithm of the rank of the true "
        "tail, finer than hits@1, which moves in steps of one fact. Symbols as before; a seed that "
        "failed in either model counts as failed."
    ),
    "metrics": (
        "The other metrics in template 0, at every tier (rows). Log rank and perplexity are the "
        "better the lower, the others the higher. Symbols as before."
    ),
    "formats": (
        "Is a transfer fact known, and is it said? hits@1 on tier 2 in the format in which the "
        "model read those facts (triples for native models, template 1 for the linearised ones of "
        "7b-held) and in the English template in which it did not (template 0). Symbols as before."
    ),
    "perplexity": (
        "Perplexity per character of the true tail in template 0 against the training step. Thin "
        "lines are seeds, thick ones medians, bands their distribution-free 95 % intervals; ✗ "
        "counts failed seeds, which have no line. The native models are the same in both columns; "
        "the linearised ones read their KG facts in all templates (7a) or in one that is not asked "
        "for (7b-held)."
    ),
}

_FLOORS = {"uniform": "any entity", "type": "any of the type", "marginal": "relation marginal"}
_OTHERS = {
    "hits@5": "hits@5",
    "mrr": "MRR",
    "exact_match": "exact match",
    "log_rank": "log rank",
    "perplexity": "perplexity",
}
_REFERENCE = ("native", "A")
_LEARNING = ("A", "Aprime", "B", "Bprime", "C", "Cprime")


def draw(results: StudyResults) -> dict[str, Figure]:
    """hits@1 by tier, against A, the other metrics, transfer by format, and learning."""
    figures = {"tiers": _draw_tiers(results)}
    if _REFERENCE in results.present():
        figures["paired"] = _draw_paired(results)
    figures |= {"metrics": _draw_metrics(results), "formats": _draw_formats(results)}
    if results.curves is not None:
        figures["perplexity"] = _draw_perplexity(results)
    return figures


def tabulate(results: StudyResults) -> dict[str, Table]:
    """hits@1 by tier and model, and the secondary metrics of the transfer facts."""
    gate = _settings(results).evaluation.gate
    hits, secondary = [], []
    for run in results.present():
        head = {"Arm": run[0], "Model": results.labels.get(run[1], run[1])}
        hits.append(head | tell_tiers(results, run, gate, _own(results, run)))
        secondary.append(head | _secondary(results, run))
    heads = [column for column in hits[0] if column not in ("Arm", "Model")] if hits else []
    others = [column for column in secondary[0] if column not in ("Arm", "Model")] if hits else []
    return ({"counts": _tabulate_counts(results)} if len(results.select("count")) else {}) | {
        "hits": Table(
            name="hits",
            caption="hits@1 among all entities, template 0: median (mean) over seeds.",
            frame=pd.DataFrame(hits),
            notes=(
                "Own format: triples for native models, else a template in which the model read "
                f"the transfer facts. Trained: seeds with tier 1 at {gate} or above, of all seeds; "
                "the others count as undertrained."
            ),
            numeric=tuple(heads),
        ),
        "transfer": Table(
            name="transfer",
            caption="Tier 2 in template 0, secondary metrics: medians over seeds.",
            frame=pd.DataFrame(secondary),
            notes=(
                "Log rank: mean natural logarithm of the rank. Exact: the name and full stop are, "
                "character by character, the greedy completion. Typed: hits@1 among entities of "
                "the tail's type. t1, t2: hits@1 in templates 1 and 2."
            ),
            numeric=tuple(others),
        ),
    }


def _tabulate_counts(results: StudyResults) -> Table:
    """The plan's own counts against a world as it describes it."""
    counted = results.select("count").groupby("quantity")["value"].first()
    off = results.select("count_deviation").groupby("quantity")["value"].max()
    return Table(
        name="counts",
        caption="The plan's own counts, and those of a world as it describes it.",
        frame=pd.DataFrame(
            {
                "Quantity": list(PLANNED),
                "Plan": [_tell_count(name, value) for name, value in PLANNED.items()],
                "Here": [_tell_count(name, counted[name]) for name in PLANNED],
                "Off by": [f"{100 * off[name]:.0f} %" for name in PLANNED],
            }
        ),
        notes="Triples are all facts; models read those not held back. A token is a character.",
        numeric=("Plan", "Here", "Off by"),
    )


def _tell_count(quantity: str, value: float) -> str:
    return f"{100 * value:.0f} %" if quantity.endswith("share") else f"{value:.0f}"


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """The sizes that the protocol states, from the world itself, and how many runs are trained."""
    settings = _settings(results)
    [world] = settings.datasets.values()
    facts = generate(world, data_streams("exp7", "world", 0))
    known = facts_of(facts, "base", "teaching")
    seen = facts_of(facts, "base", "teaching", "transfer")
    text = [ENGLISH.sentence(*fact, template) for fact in known for template in TEMPLATES]
    kinds = list(entities(facts).values())
    sizes: dict[str, float | int | str] = {
        "entities": len(kinds),
        "people": kinds.count("person"),
        "cities": kinds.count("city"),
        "countries": kinds.count("country"),
        "facts.base": len(facts_of(facts, "base")),
        "facts.derived": int((facts["kind"] == "derived").sum()),
        "facts.teaching": len(facts_of(facts, "teaching")),
        "facts.transfer": len(facts_of(facts, "transfer")),
        "facts.generalisation": len(facts_of(facts, "generalisation")),
        "rows.text": len(text),
        "rows.triples": len(seen),
        "rows.7a": len(seen) * len(LINEARISED_TEMPLATES["all"]),
        "rows.7b": len(seen) * len(LINEARISED_TEMPLATES["held"]),
        "characters": sum(map(len, text)),
        "longest": max(map(len, text)),
        "symbols": len(SYMBOLS),
        "slot.width": max(map(len, entities(facts))),
    }
    sizes |= {f"facts.{name}": int(n) for name, n in facts["relation"].value_counts().items()}
    gate = settings.evaluation.gate
    tier1 = results.pool("hits@1", **{**ASKED, "tier": "T1"})
    sizes["runs.finished"] = len(tier1)
    sizes["runs.undertrained"] = int((tier1["value"] < gate).sum())
    for run, values in tier1.groupby(["arm", "variant"])["value"]:
        sizes[f"undertrained.{'.'.join(cast(RunName, run))}"] = int((values < gate).sum())
    for tier in TIERS:
        for name in ("uniform", "type", "marginal"):
            sizes[f"floor.{name}.{tier}"] = _floor(results, name, tier)
    return sizes


def _draw_tiers(results: StudyResults) -> Figure:
    rows = results.tidy("hits@1", **ASKED)
    rows["tier"] = rows["tier"].map(TITLES)
    runs = rows["run"].cat.categories
    titles = list(TITLES.values())
    figure, panels = facets(
        rows, 0.7 + 0.135 * len(runs), "hits@1", col="tier", col_order=titles, xlim=(-0.04, 1.04)
    )
    floors = {label: name for name, label in _FLOORS.items()}
    for tier, title in TITLES.items():
        axes, part = panels[title]
        seeds(axes, part, looks(rows["data"].cat.categories), y="run", hue="data")
        lines = {label: _floor(results, name, tier) for label, name in floors.items()}
        gate = _settings(results).evaluation.gate if tier == "T1" else None
        anchors(axes, {**lines, "gate": gate}, x=True)
    legend_above(figure)
    return figure


def _draw_paired(results: StudyResults) -> Figure:
    tables = []
    for tier, metric, name, sign in (
        ("T2", "log_rank", "log rank, model − A", 1),
        ("T3", "log_rank", "log rank, model − A", 1),
        ("T3", "hits@1", "hits@1, A − model", -1),
    ):
        rows = results.paired(metric, _REFERENCE, **ASKED, tier=tier)
        rows["value"] *= sign
        tables.append(rows.assign(shown=f"{TITLES[tier]}\n{name}"))
    rows = pd.concat(tables, ignore_index=True)
    height = 0.7 + 0.135 * rows["run"].nunique()
    figure, panels = facets(rows, height, col="shown", sharex=False)
    for axes, part in panels.values():
        reach = 1.1 * float(part["value"].abs().max()) or 1.0
        axes.set(xlim=(-reach, reach))
        seeds(axes, part, looks(rows["data"].cat.categories), y="run", hue="data")
        axes.axvline(0, color="#202020", linewidth=0.6, zorder=1)
    legend_above(figure)
    return figure


def _draw_metrics(results: StudyResults) -> Figure:
    tables = []
    for metric, name in _OTHERS.items():
        asked = {key: level for key, level in ASKED.items() if key in METRICS[metric].factors}
        tables.append(results.tidy(metric, **asked).assign(shown=name))
    rows = pd.concat(tables, ignore_index=True)
    rows["tier"] = rows["tier"].map(TITLES)
    figure, panels = facets(
        rows,
        0.3 + 0.115 * rows["run"].nunique(),
        row="tier",
        row_order=list(TITLES.values()),
        col="shown",
        col_order=list(_OTHERS.values()),
        sharex="col",
    )
    for (_, name), (axes, part) in panels.items():
        everywhere = rows.loc[rows["shown"] == name, "value"]
        if name == "perplexity":
            axes.set(xscale="log", xlim=(0.9, 1.2 * everywhere.max()))
            _tell_ticks(axes.xaxis, (1, 3, 10, 30, 100, 300, 1000))
        else:
            axes.set(xlim=(-0.05, 1.05 * max(1.0, everywhere.max())))
        seeds(axes, part, looks(rows["data"].cat.categories), y="run", hue="data")
    legend_above(figure)
    return figure


def _draw_formats(results: StudyResults) -> Figure:
    runs = [run for run in results.present() if run[0] in ("native", "7b-held")]
    tables = []
    for arm, variant in runs:
        for name, asked in (
            ("as it was read", _own(results, (arm, variant))),
            ("template 0, which it did not read", ASKED),
        ):
            rows = results.tidy("hits@1", arm=arm, variant=variant, tier="T2", **asked)
            tables.append(rows.assign(asked=name))
    rows = pd.concat(tables, ignore_index=True).astype({"run": str})
    figure, [axes] = canvas(0.8 + 0.21 * len(runs), x="hits@1, tier 2")
    axes.set(xlim=(-0.03, 1.03))
    seeds(axes, rows, looks(rows["asked"].unique()), y="run", hue="asked")
    lines = {
        label: _floor(results, name, "T2") if name == "marginal" else None
        for name, label in _FLOORS.items()
    }
    anchors(axes, lines, x=True)
    legend_above(figure)
    return figure


def _draw_perplexity(results: StudyResults) -> Figure:
    tables = []
    for tier, title in TITLES.items():
        rows = results.learning(f"perplexity_{tier}", variant=_LEARNING).assign(tier=title)
        native = rows[rows["arm"] == "native"]
        for arm in ("7a", "7b-held"):
            shown = pd.concat([rows[rows["arm"] == arm], native])
            tables.append(shown.assign(kg=arm))
    figure, panels = facets(
        pd.concat(tables, ignore_index=True),
        1.4,
        "step",
        "perplexity",
        row="tier",
        col="kg",
        sharey="row",
    )
    for axes, rows in panels.values():
        axes.set(yscale="log")
        curves(axes, rows, results.looks)
        _tell_ticks(axes.yaxis, (1, 1.5, 2, 3, 4, 5, 7, 10, 20, 50, 100))
    legend_above(figure)
    return figure


def _tell_ticks(axis: Axis, ticks: Sequence[float]) -> None:
    """Those of the ticks that are in view, as plain numbers."""
    low, high = axis.get_view_interval()
    shown = [tick for tick in ticks if low <= tick <= high]
    axis.set_ticks(shown, labels=[f"{tick:g}" for tick in shown])
    axis.set_ticks([], minor=True)


def _settings(results: StudyResults) -> Settings:
    return cast(Settings, results.settings)


def _own(results: StudyResults, run: RunName) -> dict[str, str | int]:
    """The format, and the first template, in which a model read the transfer facts."""
    if SPECS[run[1]].kg == "native":
        return {"format": "kg", "candidates": "all"}
    arm = _settings(results).arms[run[0]]
    assert isinstance(arm, Arm)
    return ASKED | {"template": LINEARISED_TEMPLATES[arm.linearisation][0]}


def _secondary(results: StudyResults, run: RunName) -> dict[str, str]:
    def told(metric: str, candidates: str = "", template: int = 0) -> str:
        ranked: dict[str, str | int] = {"candidates": candidates} if candidates else {}
        asked = {"tier": "T2", "format": "text", "template": template, **ranked}
        return median(results.values(metric, run, **asked), 2)

    return {
        "hits@5": told("hits@5", "all"),
        "MRR": told("mrr", "all"),
        "Log rank": told("log_rank", "all"),
        "Perplexity": told("perplexity"),
        "Exact": told("exact_match"),
        "Typed": told("hits@1", "type"),
        "t1": told("hits@1", "all", template=1),
        "t2": told("hits@1", "all", template=2),
    }


def _floor(results: StudyResults, name: str, tier: str) -> float:
    """Median over the worlds; every run of a seed carries the same floor."""
    rows = results.pool(f"floor_{name}", tier=tier)
    return float(rows.drop_duplicates("seed")["value"].median())
