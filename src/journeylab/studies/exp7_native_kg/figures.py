"""Figures, tables and numbers of exp7."""

from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from journeylab.plotting import (
    COLUMN,
    TEXT,
    Look,
    RunName,
    StudyResults,
    Table,
    canvas,
    curves_with_band,
    forest,
    legend_above,
    looks,
    points_with_interval,
    reference_line,
)
from journeylab.streams import data_streams
from journeylab.studies.exp7_native_kg.data import entities, facts_of, generate
from journeylab.studies.exp7_native_kg.language import SYMBOLS, sentence
from journeylab.studies.exp7_native_kg.metrics import LABELS
from journeylab.studies.exp7_native_kg.settings import (
    LINEARISED_TEMPLATES,
    PLANNED,
    SPECS,
    TEMPLATES,
    TIERS,
    Arm,
    Settings,
)
from journeylab.typography import short

CAPTIONS = {
    "tiers": (
        "hits@1 among all entities, English prompts in template 0, by tier and model. Every point "
        "is one seed, bars are medians over seeds, vertical lines their distribution-free 95 % "
        "intervals. Dashed lines are floors: any entity, any entity of the tail's type, and the "
        "most frequent tail of the relation's other facts in training (medians over the worlds). "
        "The dotted line in tier 1 is the gate below which a run is undertrained. Controls are "
        "right of the bar."
    ),
    "formats": (
        "Is a transfer fact known, and is it said? hits@1 on tier 2 in the format in which the "
        "model read those facts (hollow: triples for A and A′, template 1 for the linearised "
        "models of 7b) and in the English template in which it did not (filled: template 0)."
    ),
    "perplexity": (
        "Perplexity per character of the true tail in template 0 against the training step. Thin "
        "lines are seeds, thick ones medians, bands their distribution-free 95 % intervals. The "
        "native models are the same in both columns; the linearised ones read their KG facts in "
        "all templates (7a) or in one that is not asked for (7b)."
    ),
    "differences": (
        "Paired differences of hits@1, seed by seed, with the interval that the judge uses (line), "
        "its median (diamond), every seed (dots) and the claimed region (shaded)."
    ),
}

_TITLES = {
    "T1": "Tier 1 · taught in text",
    "T2": "Tier 2 · transfer",
    "T3": "Tier 3 · never seen",
}
_LINEARISED = ("B", "Bprime", "C", "Cprime")
_MODELS = (
    ("native", ("A", "Aprime")),
    ("7a", _LINEARISED),
    ("7b-held", _LINEARISED),
)
_CONTROLS = (
    ("native", ("A-no-slots", "A-sequential", "A-causal", "A-predict-all")),
    ("7a", ("B-mlm",)),
    ("7b-same", ("B",)),
)
_SHORT = {
    "A-no-slots": "A θ=0",
    "A-sequential": "A seq.",
    "A-causal": "A causal",
    "A-predict-all": "A all",
    "B-mlm": "B mlm",
}
_LABEL_GAP = 0.1
_DIFFERENCES = tuple(f"exp7.{number}" for number in (2, 3, 4, 5, 7, 8, 9, 10, 12))
_ASKED: dict[str, str | int] = {"format": "text", "template": 0, "candidates": "all"}


def draw(results: StudyResults) -> dict[str, Figure]:
    """hits@1 by tier, transfer by format, perplexity over training, and paired differences."""
    figures = {"tiers": _draw_tiers(results), "formats": _draw_formats(results)}
    if results.curves is not None:
        figures["perplexity"] = _draw_perplexity(results)
    if results.verdicts is not None:
        known = {verdict.id for verdict in results.verdicts.verdicts}
        if claims := [claim for claim in _DIFFERENCES if claim in known]:
            figure, [axes] = canvas(width=TEXT, height=0.6 + 0.42 * len(claims))
            forest(axes, results.verdicts, claims)
            axes.set_xlabel("difference of hits@1")
            figures["differences"] = figure
    return figures


def tabulate(results: StudyResults) -> dict[str, Table]:
    """hits@1 by tier and model, and the secondary metrics of the transfer facts."""
    gate = _settings(results).evaluation.gate
    hits, secondary = [], []
    for run in _present(results, _all_runs(results)):
        head = {"Arm": run[0], "Model": LABELS[run[1]]}
        tiers = {tier: _values(results, "hits@1", run, {**_ASKED, "tier": tier}) for tier in TIERS}
        trained = int((tiers["T1"] >= gate).sum())
        hits.append(
            head
            | {_TITLES[tier].split(" ·")[0]: _summary(values) for tier, values in tiers.items()}
            | {"T2, own format": _summary(_own_format(results, run))}
            | {"Trained": f"{trained}/{len(tiers['T1']) + results.failures(*run)}"}
        )
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
    counted = results.select("count").groupby("quantity", sort=False)["value"].first()
    off = results.select("count_deviation").groupby("quantity", sort=False)["value"].max()
    return Table(
        name="counts",
        caption="The plan's own counts, and those of a world as it describes it.",
        frame=pd.DataFrame(
            {
                "Quantity": counted.index,
                "Plan": [short(PLANNED[quantity]) for quantity in counted.index],
                "Here": [short(value) for value in counted],
                "Off by": [f"{value:.0%}" for value in off],
            }
        ),
        notes="Triples are all facts; models read those not held back. A token is a character.",
        numeric=("Plan", "Here", "Off by"),
    )


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """The sizes that the protocol states, from the world itself, and how many runs are trained."""
    settings = _settings(results)
    [world] = settings.datasets.values()
    facts = generate(world, data_streams("exp7", "world", 0))
    known = facts_of(facts, "base", "teaching")
    seen = facts_of(facts, "base", "teaching", "transfer")
    text = [sentence(*fact, template) for fact in known for template in TEMPLATES]
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
    tier1 = results.pool("hits@1", **{**_ASKED, "tier": "T1"})
    sizes["runs.finished"] = len(tier1)
    sizes["runs.undertrained"] = int((tier1["value"] < gate).sum())
    for run, values in tier1.groupby(["arm", "variant"])["value"]:
        sizes[f"undertrained.{'.'.join(cast(RunName, run))}"] = int((values < gate).sum())
    for tier in TIERS:
        for name in ("uniform", "type", "marginal"):
            sizes[f"floor.{name}.{tier}"] = _floor(results, name, tier)
    return sizes


def _draw_tiers(results: StudyResults) -> Figure:
    models = _present(results, _flat(_MODELS))
    controls = _present(results, _flat(_CONTROLS))
    places = _places(models, controls)
    figure, axes = canvas(3, 1, width=COLUMN * 1.3, height=5.6, sharex=True)
    for each, tier in zip(axes, TIERS, strict=True):
        each.set(title=_TITLES[tier], ylim=(-0.1, 1.06), ylabel="hits@1")
        _draw_floors(each, results, tier)
        if tier == "T1":
            gate = _settings(results).evaluation.gate
            each.axhline(gate, color="#555555", linewidth=0.8, linestyle=":", zorder=2)
        for run, place in places.items():
            values = _values(results, "hits@1", run, {**_ASKED, "tier": tier})
            points_with_interval(
                each, place, values, _look(run[1]), failures=results.failures(*run), width=0.7
            )
        if controls:
            each.axvline(places[controls[0]] - 0.9, color="#404040", linewidth=0.6)
    _label_runs(axes[-1], places)
    return figure


def _draw_floors(axes: Axes, results: StudyResults, tier: str) -> None:
    """Dashed lines with their names at the right edge, moved apart where they would touch."""
    names = {"uniform": "any entity", "type": "any of the type", "marginal": "marginal"}
    floors = sorted((_floor(results, name, tier), label) for name, label in names.items())
    lowest = -1.0
    for value, label in floors:
        axes.axhline(value, color="#555555", linewidth=0.8, linestyle=(0, (4, 2)), zorder=2)
        lowest = max(value, lowest + _LABEL_GAP)
        axes.annotate(
            f"{label} {value:.2f}",
            (1.0, lowest),
            xycoords=("axes fraction", "data"),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=6,
            color="#555555",
        )


def _draw_formats(results: StudyResults) -> Figure:
    runs = _present(results, _flat((_MODELS[0], _MODELS[2])))
    figure, [axes] = canvas(width=COLUMN * 1.1, height=2.4)
    axes.set(ylim=(-0.06, 1.08), ylabel="hits@1, tier 2", xlim=(-0.6, max(len(runs), 1) - 0.4))
    for place, run in enumerate(runs):
        look, failures = _look(run[1]), results.failures(*run)
        own = _own_format(results, run)
        across = place - 0.2 + 0.05 * (np.arange(len(own)) % 5 - 2)
        axes.scatter(
            across,
            own,
            s=13,
            marker=look.marker,
            facecolor="none",
            edgecolor=look.color,
            linewidth=0.7,
            label="as it was read",
        )
        if len(own):
            axes.plot([place - 0.36, place - 0.04], [np.median(own)] * 2, color=look.color, lw=1.2)
        values = _values(results, "hits@1", run, {**_ASKED, "tier": "T2"})
        points_with_interval(
            axes, place + 0.2, values, look, failures=failures, width=0.32, label="template 0"
        )
    reference_line(axes, _floor(results, "marginal", "T2"), "relation marginal")
    labels = [_name(run) if run[0] == "native" else f"{_name(run)}\n7b" for run in runs]
    axes.set_xticks(range(len(runs)), labels)
    legend_above(figure, [axes])
    return figure


def _draw_perplexity(results: StudyResults) -> Figure:
    curves = cast(pd.DataFrame, results.curves)
    columns = [arm for arm in ("7a", "7b-held") if arm in set(curves["arm"])] or ["native"]
    figure, axes = canvas(3, len(columns), width=TEXT * 0.9, height=6.2, sharex=True, sharey="row")
    for i, tier in enumerate(TIERS):
        wanted = curves[curves["metric"] == f"perplexity_{tier}"]
        for j, arm in enumerate(columns):
            each = axes[i * len(columns) + j]
            each.set(yscale="log", title=f"{_TITLES[tier]}, {arm}")
            for run in dict.fromkeys([*_flat((_MODELS[0],)), *((arm, v) for v in _LINEARISED)]):
                rows = wanted[(wanted["arm"] == run[0]) & (wanted["variant"] == run[1])]
                if len(rows):
                    label = LABELS[run[1]]
                    curves_with_band(each, rows, _look(run[1]), label=label)
            if i == len(TIERS) - 1:
                each.set_xlabel("step")
            if j == 0:
                each.set_ylabel("perplexity")
            ticks = [t for t in (1, 1.5, 2, 3, 5, 10, 20, 50, 100) if _inside(each, t)]
            each.set_yticks(ticks, [f"{t:g}" for t in ticks])
            each.minorticks_off()
    legend_above(figure, axes)
    return figure


def _inside(axes: Axes, value: float) -> bool:
    low, high = axes.get_ylim()
    return low <= value <= high


def _settings(results: StudyResults) -> Settings:
    return cast(Settings, results.settings)


def _flat(groups: Iterable[tuple[str, tuple[str, ...]]]) -> list[RunName]:
    return [(arm, variant) for arm, variants in groups for variant in variants]


def _all_runs(results: StudyResults) -> list[RunName]:
    return list(dict.fromkeys([*_flat(_MODELS), *_flat(_CONTROLS), *results.settings.trained()]))


def _present(results: StudyResults, runs: Sequence[RunName]) -> list[RunName]:
    rows = results.pool("hits@1")
    measured = set(zip(rows["arm"], rows["variant"], strict=True))
    return [run for run in runs if run in measured or results.failures(*run)]


def _values(
    results: StudyResults, metric: str, run: RunName, where: dict[str, str | int]
) -> pd.Series:
    rows = results.select(metric, arm=run[0], variant=run[1], **where)
    return rows.sort_values("seed")["value"]


def _own_format(results: StudyResults, run: RunName) -> pd.Series:
    """hits@1 on tier 2 in the format in which the model read the transfer facts."""
    where: dict[str, str | int] = {"tier": "T2", "candidates": "all"}
    if SPECS[run[1]].kg == "native":
        return _values(results, "hits@1", run, where | {"format": "kg"})
    template = _template(results, run)
    return _values(results, "hits@1", run, where | {"format": "text", "template": template})


def _template(results: StudyResults, run: RunName) -> int:
    """The first template in which a linearised model reads its KG facts."""
    arm = _settings(results).arms[run[0]]
    assert isinstance(arm, Arm)
    return LINEARISED_TEMPLATES[arm.linearisation][0]


def _secondary(results: StudyResults, run: RunName) -> dict[str, str]:
    shared: dict[str, str | int] = {"tier": "T2", "format": "text"}

    def median(metric: str, candidates: str = "", template: int = 0) -> str:
        ranked: dict[str, str | int] = {"candidates": candidates} if candidates else {}
        values = _values(results, metric, run, shared | {"template": template} | ranked)
        return f"{values.median():.2f}" if len(values) else "n/a"

    return {
        "hits@5": median("hits@5", "all"),
        "MRR": median("mrr", "all"),
        "Log rank": median("log_rank", "all"),
        "Perplexity": median("perplexity"),
        "Exact": median("exact_match"),
        "Typed": median("hits@1", "type"),
        "t1": median("hits@1", "all", template=1),
        "t2": median("hits@1", "all", template=2),
    }


def _summary(values: pd.Series) -> str:
    return f"{values.median():.2f} ({values.mean():.2f})" if len(values) else "n/a"


def _floor(results: StudyResults, name: str, tier: str) -> float:
    """Median over the worlds; every run of a seed carries the same floor."""
    rows = results.pool(f"floor_{name}", tier=tier)
    return float(rows.drop_duplicates("seed")["value"].median())


def _look(variant: str) -> Look:
    models = looks(["A", "Aprime", *_LINEARISED])
    return models[variant if variant in models else variant[0]]


def _places(models: Sequence[RunName], controls: Sequence[RunName]) -> dict[RunName, float]:
    places: dict[RunName, float] = {}
    place = 0.0
    for i, run in enumerate([*models, *controls]):
        before = [*models, *controls][i - 1] if i else run
        place += (1.0 if before[0] == run[0] else 1.5) if i else 0.0
        if controls and run == controls[0] and i:
            place += 0.4
        places[run] = place
    return places


def _label_runs(axes: Axes, places: dict[RunName, float]) -> None:
    labels = [
        _name(run) if run[0] == "native" else f"{_name(run)} {run[0].removesuffix('-held')}"
        for run in places
    ]
    axes.set_xticks(list(places.values()), labels, rotation=90)
    axes.set_xlim(-0.8, max(places.values(), default=0.0) + 0.8)


def _name(run: RunName) -> str:
    return _SHORT.get(run[1], LABELS[run[1]])
