"""Figures, tables and numbers of exp7."""

from collections.abc import Sequence
from functools import partial
from typing import cast

import pandas as pd
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from journeylab import plotting as plot
from journeylab.datasets.triples import SPLITS
from journeylab.knowledge.metrics import FAMILY_RELATIONS
from journeylab.knowledge.settings import LINEARISED_TEMPLATES, TIERS
from journeylab.knowledge.tables import (
    PRIMARY,
    TIER_TITLES,
    hits_table,
    world_size,
    worlds_per_seed,
)
from journeylab.plotting import Columns, RunName, StudyResults, Table
from journeylab.plotting.captions import AS_BEFORE, CURVES, SEEDS
from journeylab.studies.exp7_native_kg.answer import answer
from journeylab.studies.exp7_native_kg.metrics import METRICS
from journeylab.studies.exp7_native_kg.settings import DOCUMENTED, SPECS, Arm, Settings

_FLOORS = {
    "uniform": "any entity",
    "type": "any of the type",
    "marginal": "relation marginal",
    "generation": "relation and generation",
}
_SIZES = {
    "entities": "entities",
    "people": "person",
    "cities": "city",
    "countries": "country",
    "rows.text": "text rows",
    "characters": "text tokens",
    "symbols": "symbols",
    "slot.width": "name tokens",
    **{f"facts.{name}": f"{name} facts" for name in ("base", *SPLITS, *FAMILY_RELATIONS)},
}
"""Keys of the report's numbers → quantities of the world."""
_OTHERS = {
    "hits@5": "hits@5",
    "mrr": "MRR",
    "exact_match": "exact match",
    "log_rank": "log rank",
    "perplexity": "perplexity",
}
_REFERENCE = ("native", "A")
_COMPARED = ("native", "7a", "7b-held")
_LEARNING = ("A", "Aprime", "B", "Bprime", "C", "Cprime")

_CHECKS: dict[str, tuple[str, ...]] = dict.fromkeys(
    (
        "text_equivalence_error",
        "text_equivalence_control",
        "baked_key_error",
        "baked_key_control",
        "decoding_mismatch",
        "decoding_control",
    ),
    (),
) | {"count_deviation": ("quantity",)}


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Documented and actual sizes, hits@1 by tier, other metrics of transfer, and the search."""
    gate = _settings(results).evaluation.gate
    return ({"counts": _tabulate_counts(results)} if len(results.select("count")) else {}) | {
        "hits": hits_table(
            results,
            ("Model", "KG rows"),
            gate,
            partial(_own, results),
            "Own format: the form in which the model read the transfer facts, triples for native "
            "models and the first template of its KG rows for the others. Trained: seeds with at "
            f"least {gate} at tier 1, of all seeds; the others are undertrained.",
        ),
        "transfer": _by_tier(results, "transfer", "Tier 2", "T2"),
        "tiers": _by_tier(results, "tiers", "Tiers 1 and 3", "T1", "T3"),
        "checks": plot.ranges(results, METRICS, _CHECKS),
        "search": plot.tabulate_trials(
            results,
            __file__,
            "perplexity",
            "Search of rate and initial scale: perplexity of the taught facts per character, tier "
            "1, template 0.",
            "They are the most central of those within 1 % of the best. Scales of the embeddings "
            "were searched first, with fewer steps on one pilot world, for A, A′, B and C; the "
            "others have the scale of these. Then rates: means over two pilot worlds. Controls "
            "have the settings of A or B.",
        ),
    }


def _tabulate_counts(results: StudyResults) -> Table:
    """The documented sizes against those of a world with the documented generations."""
    counted = results.select("count").groupby("quantity")["value"].first()
    off = results.select("count_deviation").groupby("quantity")["value"].max()
    return Table(
        name="counts",
        caption="Sizes stated in the reviewer plan, and sizes of a world of its description.",
        frame=pd.DataFrame(
            {
                "Quantity": list(DOCUMENTED),
                "Reviewer plan": [_print_size(*size) for size in DOCUMENTED.items()],
                "Here": [_print_size(name, counted[name]) for name in DOCUMENTED],
                "Deviation": [f"{100 * off[name]:.0f} %" for name in DOCUMENTED],
            }
        ),
        notes="Triples: all facts, also those that no model reads. Text tokens: characters.",
        numeric=("Reviewer plan", "Here", "Deviation"),
    )


def _print_size(quantity: str, value: float) -> str:
    return f"{100 * value:.0f} %" if quantity.endswith("share") else f"{value:.0f}"


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Measured sizes of the worlds and rows, floors, undertrained runs, and the answer."""
    sizes: dict[str, float | int | str] = {"worlds": worlds_per_seed(results)}
    sizes |= {key: world_size(results, quantity) for key, quantity in _SIZES.items()}
    total, base = world_size(results, "facts"), sizes["facts.base"]
    measured = isinstance(total, int) and isinstance(base, int)
    sizes["facts.derived"] = int(total) - int(base) if measured else "n/a"
    for name, arm in (("triples", "native"), ("7a", "7a"), ("7b", "7b-held")):
        sizes[f"rows.{name}"] = world_size(results, "KG rows", [arm])
    gate = _settings(results).evaluation.gate
    tier1 = results.pool("hits@1", **{**PRIMARY, "tier": "T1"})
    sizes["runs.finished"] = len(tier1)
    sizes["runs.undertrained"] = int((tier1["value"] < gate).sum())
    for tier in TIERS:
        hits = results.pool("hits@1", **{**PRIMARY, "tier": tier}, arm=_COMPARED)["value"]
        sizes[f"median.{tier}"] = float(hits.median())
        for name in _FLOORS:
            sizes[f"floor.{name}.{tier}"] = _floor(results, name, tier)
    return sizes | {"answer": answer(results.verdicts)}


def _draw_tiers(results: StudyResults) -> Figure | None:
    rows = results.tidy("hits@1", **PRIMARY)
    floors = {label: name for name, label in _FLOORS.items()}

    def lines(title: str, _: pd.DataFrame) -> plot.Lines:
        tier = next(tier for tier, shown in TIER_TITLES.items() if shown == title)
        gate = _settings(results).evaluation.gate if tier == "T1" else None
        return {label: _floor(results, name, tier) for label, name in floors.items()} | {
            "gate": gate
        }

    return plot.panels(
        results,
        rows.assign(tier=rows["tier"].map(TIER_TITLES)),
        0.7 + 0.135 * rows["run"].nunique(),
        "hits@1",
        styles=_forms(rows),
        lines=lines,
        y="run",
        hue="data",
        col="tier",
        col_order=list(TIER_TITLES.values()),
        xlim=(-0.04, 1.04),
    )


def _draw_paired(results: StudyResults) -> Figure | None:
    if _REFERENCE not in results.present():
        return None
    tables = []
    for tier, metric, name, sign in (
        ("T2", "log_rank", "log rank, model − A", 1),
        ("T3", "log_rank", "log rank, model − A", 1),
        ("T3", "hits@1", "hits@1, A − model", -1),
    ):
        rows = results.paired(metric, _REFERENCE, **PRIMARY, tier=tier)
        rows["value"] *= sign
        tables.append(rows.assign(shown=f"{TIER_TITLES[tier]}\n{name}"))
    rows = pd.concat(tables, ignore_index=True)
    height = 0.7 + 0.135 * rows["run"].nunique()
    figure, panels = plot.facets(rows, height, col="shown", sharex=False)
    for axes, part in panels.values():
        reach = 1.1 * float(part["value"].abs().max()) or 1.0
        axes.set(xlim=(-reach, reach))
        plot.seeds(axes, part, _forms(rows), y="run", hue="data")
        axes.axvline(0, color="#202020", linewidth=0.6, zorder=1)
    return plot.legend_above(figure)


def _draw_metrics(results: StudyResults) -> Figure | None:
    tables = []
    for metric, name in _OTHERS.items():
        levels = {key: level for key, level in PRIMARY.items() if key in METRICS[metric].factors}
        tables.append(results.tidy(metric, **levels).assign(shown=name))
    rows = pd.concat(tables, ignore_index=True)
    if rows.empty:
        return None
    rows["tier"] = rows["tier"].map(TIER_TITLES)
    figure, panels = plot.facets(
        rows,
        0.3 + 0.115 * rows["run"].nunique(),
        row="tier",
        row_order=list(TIER_TITLES.values()),
        col="shown",
        col_order=list(_OTHERS.values()),
        sharex="col",
    )
    for (_, name), (axes, part) in panels.items():
        everywhere = rows.loc[rows["shown"] == name, "value"]
        if name == "perplexity":
            axes.set(xscale="log", xlim=(0.9, 1.2 * everywhere.max()))
            _set_ticks(axes.xaxis, (1, 3, 10, 30, 100, 300, 1000))
        else:
            axes.set(xlim=(-0.05, 1.05 * max(1.0, everywhere.max())))
        plot.seeds(axes, part, _forms(rows), y="run", hue="data")
    return plot.legend_above(figure)


def _draw_formats(results: StudyResults) -> Figure | None:
    runs = [run for run in results.present() if run[0] in ("native", "7b-held")]
    tables = [
        results.tidy("hits@1", arm=run[0], variant=run[1], tier="T2", **levels).assign(prompts=name)
        for run in runs
        for name, levels in (
            ("the form that was read", _own(results, run)),
            ("template 0, which was not read", PRIMARY),
        )
    ]
    if not tables:
        return None
    rows = pd.concat(tables, ignore_index=True).astype({"run": str})
    lines = {
        label: _floor(results, name, "T2") if name == "generation" else None
        for name, label in _FLOORS.items()
    }
    return plot.panels(
        results,
        rows,
        0.8 + 0.21 * len(runs),
        "hits@1, tier 2",
        styles=plot.styles(rows["prompts"].unique()),
        lines=lines,
        y="run",
        hue="prompts",
        xlim=(-0.03, 1.03),
    )


def _draw_perplexity(results: StudyResults) -> Figure | None:
    tables = []
    for tier, title in TIER_TITLES.items():
        rows = results.learning(f"perplexity_{tier}", variant=_LEARNING).assign(tier=title)
        native = rows[rows["arm"] == "native"]
        for arm in ("7a", "7b-held"):
            shown = pd.concat([rows[rows["arm"] == arm], native])
            tables.append(shown.assign(kg=results.arms.get(arm, arm)))
    figure = plot.panels(
        results,
        pd.concat(tables, ignore_index=True),
        1.4,
        "step",
        "perplexity",
        form=plot.curves,
        limits={"yscale": "log"},
        row="tier",
        col="kg",
        sharey="row",
    )
    for axes in figure.axes if figure else []:
        _set_ticks(axes.yaxis, (1, 1.5, 2, 3, 4, 5, 7, 10, 20, 50, 100))
    return figure


def _set_ticks(axis: Axis, ticks: Sequence[float]) -> None:
    """Set the ticks within the limits of the axis, as plain numbers."""
    low, high = axis.get_view_interval()
    shown = [tick for tick in ticks if low <= tick <= high]
    axis.set_ticks(shown, labels=[f"{tick:g}" for tick in shown])
    axis.set_ticks([], minor=True)


def _settings(results: StudyResults) -> Settings:
    return cast(Settings, results.settings)


def _own(results: StudyResults, run: RunName) -> dict[str, str | int]:
    """The factor levels of the form in which a model read the transfer facts."""
    if SPECS[run[1]].kg == "native":
        return {"format": "kg", "candidates": "all"}
    arm = _settings(results).arms[run[0]]
    assert isinstance(arm, Arm)
    return PRIMARY | {"template": LINEARISED_TEMPLATES[arm.linearisation][0]}


def _by_tier(results: StudyResults, name: str, caption: str, *tiers: str) -> Table:
    columns: Columns = {}
    for tier in tiers:
        of: dict[str, str | int] = {"tier": tier, "format": "text", "template": 0}
        ranked: dict[str, str | int] = of | {"candidates": "all"}
        columns |= {
            f"hits@5, {tier}": ("hits@5", ranked),
            f"MRR, {tier}": ("mrr", ranked),
            f"Log rank, {tier}": ("log_rank", ranked),
            f"Perplexity, {tier}": ("perplexity", of),
            f"Exact, {tier}": ("exact_match", of),
        }
    if "T2" in tiers:
        columns["Typed, T2"] = ("hits@1", of | {"candidates": "type"})
        columns |= {f"t{i}, T2": ("hits@1", ranked | {"template": i}) for i in (1, 2)}
    return plot.medians(
        results,
        name,
        f"{caption}, in template 0: medians over seeds.",
        columns,
        notes="Log rank: mean natural logarithm of the rank. Exact: the greedy completion is the "
        "name and the full stop. Typed: hits@1 among entities of the tail's type. t1, t2: hits@1 "
        "in templates 1 and 2.",
    )


def _floor(results: StudyResults, name: str, tier: str) -> float:
    """The median over seeds; the floor of a seed is the same in runs with the same worlds."""
    rows = results.pool(f"floor_{name}", tier=tier, arm=_COMPARED)
    return float(rows.drop_duplicates("seed")["value"].median())


def _forms(rows: pd.DataFrame) -> dict[str, plot.Style]:
    """The styles of the forms of KG rows."""
    return plot.styles(rows["data"].cat.categories)


FIGURES: plot.Figures = {
    "tiers": plot.Drawn(
        _draw_tiers,
        "hits@1 among all entities for English prompts in template 0, by tier, model and form of "
        f"the KG rows. {SEEDS} Vertical lines are floors: a random entity, a random entity of the "
        "tail's type, the most frequent tail among the relation's other facts in training, and a "
        "random tail that the relation has for other heads of the same generation (medians over "
        "seeds); in tier 1 also the gate, below which a run is undertrained. Controls have one "
        "world a seed, the other models four: A (θ = 0), A (causal KG), A (predict all), B (MLM), "
        "and B with KG rows in the same template as the prompts. With all templates, B has read "
        "the prompts of tier 2: an upper mark.",
    ),
    "paired": plot.Drawn(
        _draw_paired,
        "Each model against A, paired by seed, in template 0: right of the line A is better. "
        "Controls have the first of A's four worlds. Log rank is the mean natural logarithm of the "
        "rank of the true tail. It is finer than hits@1, which changes in steps of a fact. "
        f"{AS_BEFORE} A seed that failed in either model counts as failed.",
    ),
    "metrics": plot.Drawn(
        _draw_metrics,
        "The other metrics in template 0, at every tier (rows). MRR is the mean reciprocal rank; "
        "exact match, the full-entity accuracy, is the share of tails that greedy decoding states "
        "without an error. Lower is better for log rank and perplexity, higher for the others. "
        f"{AS_BEFORE}",
    ),
    "formats": plot.Drawn(
        _draw_formats,
        "Whether a model knows the transfer facts, and whether it states them in text: hits@1 at "
        "tier 2 in the form in which the model read these facts (triples for native models, "
        "template 1 for “other template”), and in a template in which it did not read them "
        f"(template 0). {SEEDS}",
    ),
    "perplexity": plot.Drawn(
        _draw_perplexity,
        "Perplexity per character of the true tail in template 0 against the training step. "
        f"{CURVES} The native models are the same in both columns. The linearised models read "
        "their KG facts in all templates (left) or in one template, which is not that of the "
        "prompts (right).",
    ),
}
