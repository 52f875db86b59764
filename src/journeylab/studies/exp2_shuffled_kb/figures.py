"""Figures, tables and numbers of exp2."""

import math
from collections.abc import Sequence
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
from journeylab.studies.exp2_shuffled_kb.anchors import (
    best_slot,
    chance,
    key_blind,
    untagged_ceiling,
    vote,
)
from journeylab.studies.exp2_shuffled_kb.metrics import LABELS
from journeylab.studies.exp2_shuffled_kb.settings import ORDERS, VARIANTS, Arm, Order, Settings
from journeylab.typography import scientific

CAPTIONS = {
    "orders": (
        "Accuracy with the smallest repositories, by the order seen in training (rows) and in the "
        "test (columns), and beside it the share of answers that flip when the same entries are "
        "permuted, from the order of training. Every point is one seed, bars are medians over "
        "seeds, vertical lines their distribution-free 95 % intervals. Dashed lines are chance and "
        "the best accuracies without reading keys: of the most frequent value and, where entries "
        "are sorted, of a vote of the slots, each with the probability that the key stands there."
    ),
    "sizes": (
        "Accuracy against the number of entries M, by the order seen in training (rows) and in the "
        "test (columns). Points are seeds, lines their medians, vertical lines their "
        "distribution-free 95 % intervals; ✗ counts seeds that failed. Grey lines are the best "
        "accuracies without reading keys: of the most frequent value and, where entries are "
        "sorted, of a vote of the slots, each with the probability that the key stands there."
    ),
    "logits": (
        "The largest change of any logit when the entries of any held-out repository are permuted, "
        "from the order of training. Where the operator is set by content, or there is none, what "
        "is left is rounding in single precision. The dashed line is the tolerance of the exact "
        "claim."
    ),
    "relations": (
        "Second part: repositories in which a subject's entries have the same key. Every point is "
        "one seed. The dashed lines are the exact ceiling of any answer that cannot tell these "
        "entries apart, and chance."
    ),
    "learning": (
        "Accuracy on held-out repositories in the order of training against the training step. "
        "Thin lines are seeds, thick ones medians, bands their distribution-free 95 % intervals. "
        "✗ counts the seeds of an arm that failed; they have no line."
    ),
    "differences": (
        "Paired differences of accuracy, seed by seed, with the interval that the judge uses "
        "(line), its median (diamond), every seed (dots) and the claimed region (shaded)."
    ),
}

_LOOKUP, _RELATIONS = VARIANTS["lookup"], VARIANTS["relations"]
_DIFFERENCES = tuple(f"exp2.{number}" for number in (1, 2, 3, 4, 10, 12))
_TOLERANCE = 1e-4


def draw(results: StudyResults) -> dict[str, Figure]:
    """Orders against each other, sizes, logits, the second part, learning and differences."""
    figures = {
        "orders": _draw_orders(results),
        "sizes": _draw_sizes(results),
        "logits": _draw_logits(results),
        "relations": _draw_relations(results),
    }
    if results.curves is not None and len(results.curves):
        figures["learning"] = _draw_learning(results)
    if results.verdicts is not None:
        known = {verdict.id for verdict in results.verdicts.verdicts}
        if claims := [claim for claim in _DIFFERENCES if claim in known]:
            figure, [axes] = canvas(width=TEXT, height=0.6 + 0.42 * len(claims))
            forest(axes, results.verdicts, claims)
            axes.set_xlabel("difference of accuracy")
            figures["differences"] = figure
    return figures


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Accuracies, flips and changes of logits of every run, and the anchors."""
    rows = [_row(results, run) for run in _present(results)]
    heads = [head for head in rows[0] if head not in ("Arm", "Model")] if rows else []
    anchors = pd.DataFrame(_anchor_rows(_settings(results)))
    return {
        "runs": Table(
            name="runs",
            caption="Every run: medians over seeds, and in brackets the means.",
            frame=pd.DataFrame(rows),
            notes=(
                "Tested sorted, shuffled: accuracy. Flips: share of the answers that differ when "
                "the same entries are permuted, from the order of training. Max |Δ|: largest "
                "change of a logit over all seeds."
            ),
            numeric=tuple(heads),
        ),
        "anchors": Table(
            name="anchors",
            caption="Accuracies that need no training.",
            frame=anchors,
            notes=(
                "With sorted entries: best slot reads the slot where the key most often stands; in "
                "the vote every slot counts with the probability that the key stands there. The "
                "vote is a mean over draws, ± its standard error; all others are exact."
            ),
            numeric=tuple(head for head in anchors.columns if head != "Repository"),
        ),
    }


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """The anchors, and the medians that the prose cites."""
    settings = _settings(results)
    data, grouped = settings.lookups, settings.relations
    found: dict[str, float | int | str] = {
        "chance": float(chance(data)),
        "ceiling.untagged": float(untagged_ceiling(grouped)),
        "ceiling.untagged.exact": str(untagged_ceiling(grouped)),
        "budgets": _tell_budgets(results),
    }
    for size in data.sizes:
        found[f"key_blind.{size}"] = float(key_blind(data, size))
        found[f"best_slot.{size}"] = float(best_slot(data, size))
        found[f"vote.{size}"], found[f"vote.{size}.error"] = vote(data, size)
    for arm, variant in _present(results):
        for order in ORDERS:
            values = _values(results, "accuracy", (arm, variant), order)
            if len(values):
                found[f"accuracy.{arm}.{variant}.{order}"] = float(values.median())
    invariant = results.select("invariance_error", precision="float64")["value"]
    if len(invariant):
        found["invariance_error.max"] = float(invariant.max())
    witness = results.select("witness_change")
    for variant in ("rope", "rope-integer", "cumulative"):
        change = witness.loc[witness["variant"] == variant, "value"]
        if len(change):
            found[f"witness.{variant}"] = float(change.min())
    return found


def _draw_orders(results: StudyResults) -> Figure:
    settings = _settings(results)
    size = min(settings.lookups.sizes)
    variants = [v for v in _LOOKUP if any(_has(results, a, v) for a in _arms(results, size))]
    figure, axes = canvas(2, 3, width=TEXT, height=4.1, sharex=True)
    for row, trained in enumerate(ORDERS):
        arm = _arm(results, size, trained)
        for column, tested in enumerate(ORDERS):
            each = axes[3 * row + column]
            each.set(ylim=(-0.03, 1.05), title=f"trained {trained}, tested {tested}")
            _draw_points(each, results, arm, variants, "accuracy", tested)
            reference_line(each, float(chance(settings.lookups)), "chance")
            reference_line(each, float(key_blind(settings.lookups, size)), "most frequent value")
            if tested == "sorted":
                reference_line(each, vote(settings.lookups, size).value, "vote of the slots")
        flips = axes[3 * row + 2]
        flips.set(ylim=(-0.03, 1.05), title=f"trained {trained}: flips")
        _draw_points(flips, results, arm, variants, "flip_rate", trained)
        axes[3 * row].set_ylabel("accuracy")
        flips.set_ylabel("answers that flip")
    for each in axes[3:]:
        _label(each, variants)
    figure.suptitle(f"M = {size}", x=0.01, ha="left", fontsize=8)
    return figure


def _draw_points(
    axes: Axes,
    results: StudyResults,
    arm: str | None,
    variants: Sequence[str],
    metric: str,
    order: Order,
) -> None:
    for place, variant in enumerate(variants):
        if arm is None or not _has(results, arm, variant):
            axes.annotate("not run", (place, 0.5), rotation=90, ha="center", va="center", size=6)
            continue
        points_with_interval(
            axes,
            place,
            _values(results, metric, (arm, variant), order),
            _look(variant),
            failures=results.failures(arm, variant),
            width=0.6,
        )


def _draw_sizes(results: StudyResults) -> Figure:
    data = _settings(results).lookups
    sizes = sorted(data.sizes)
    figure, axes = canvas(2, 2, width=TEXT, height=4.4, sharex=True, sharey=True)
    for row, trained in enumerate(ORDERS):
        for column, tested in enumerate(ORDERS):
            each = axes[2 * row + column]
            each.set(title=f"trained {trained}, tested {tested}", ylim=(0.0, 1.05))
            blind = {"most frequent value": [float(key_blind(data, size)) for size in sizes]}
            if tested == "sorted":
                blind["vote of the slots"] = [vote(data, size).value for size in sizes]
            for (name, heights), line in zip(blind.items(), ("--", ":"), strict=False):
                each.plot(sizes, heights, color="#555555", ls=line, lw=0.9, zorder=2, label=name)
            for place, variant in enumerate(_LOOKUP):
                _draw_line(each, results, variant, trained, tested, place)
            each.set_xscale("log")
            each.set_xticks(sizes, [str(size) for size in sizes])
            each.minorticks_off()
            if row:
                each.set_xlabel("entries M")
            if not column:
                each.set_ylabel("accuracy")
    for variant in dict.fromkeys(variant for _, variant in _present(results, _LOOKUP)):
        look = _look(variant)
        style = {"color": look.color, "linestyle": look.line, "marker": look.marker}
        axes[0].plot([], [], markersize=3, label=LABELS[variant], **style)
    legend_above(figure, axes, columns=4)
    return figure


def _draw_line(
    axes: Axes, results: StudyResults, variant: str, trained: Order, tested: Order, place: int
) -> None:
    look, medians = _look(variant), {}
    for size in sorted(_settings(results).lookups.sizes):
        arm = _arm(results, size, trained)
        if arm is None or not _has(results, arm, variant):
            continue
        values = _values(results, "accuracy", (arm, variant), tested)
        across = size * 1.03 ** (place - 2)
        failures = results.failures(arm, variant)
        points_with_interval(axes, across, values, look, failures=failures, width=0.0)
        medians[across] = float(values.median())
    if medians:
        axes.plot(
            list(medians),
            list(medians.values()),
            color=look.color,
            linestyle=look.line,
            marker=look.marker,
            markersize=3,
            linewidth=1.2,
            zorder=4,
        )


def _draw_logits(results: StudyResults) -> Figure:
    runs = sorted(_present(results, _LOOKUP), key=lambda run: _LOOKUP.index(run[1]))
    figure, [axes] = canvas(width=TEXT, height=2.6)
    axes.set(yscale="log", ylabel="max |Δlogit|", xlim=(-0.8, max(len(runs), 1) - 0.2))
    for place, (arm, variant) in enumerate(runs):
        values = _values(results, "max_logit_change", (arm, variant), _trained(results, arm))
        failures = results.failures(arm, variant)
        shown = np.maximum(values, 1e-9)
        points_with_interval(axes, place, shown, _look(variant), failures=failures, width=0.7)
    reference_line(axes, _TOLERANCE, "tolerance")
    axes.set_xticks(
        range(len(runs)), [f"{LABELS[variant]}, {arm}" for arm, variant in runs], rotation=90
    )
    axes.tick_params(axis="x", labelsize=5.5)
    return figure


def _draw_relations(results: StudyResults) -> Figure:
    data = _settings(results).relations
    runs = _present(results, _RELATIONS)
    figure, [axes] = canvas(width=COLUMN, height=2.4)
    axes.set(ylim=(0.0, 1.05), ylabel="accuracy", xlim=(-0.6, max(len(runs), 1) - 0.4))
    for place, run in enumerate(runs):
        values = _values(results, "accuracy", run, "shuffled")
        points_with_interval(
            axes, place, values, _look(run[1]), failures=results.failures(*run), width=0.5
        )
    reference_line(axes, float(untagged_ceiling(data)), "ceiling without a tag")
    reference_line(axes, float(chance(data)), "chance")
    arms = {arm for arm, _ in runs}
    names = [
        LABELS[variant] if len(arms) == 1 else f"{LABELS[variant]}\n{arm}" for arm, variant in runs
    ]
    axes.set_xticks(range(len(runs)), names)
    return figure


def _draw_learning(results: StudyResults) -> Figure:
    curves = cast(pd.DataFrame, results.curves)
    runs = _present(results)
    arms = list(dict.fromkeys(arm for arm, _ in runs))
    columns = min(len(arms), 2)
    rows = -(-len(arms) // 2)
    figure, axes = canvas(rows, columns, width=TEXT, height=0.6 + 1.5 * rows, sharey=True)
    for each, arm in zip(axes, arms, strict=False):
        wanted = curves[
            (curves["arm"] == arm) & (curves["metric"] == f"accuracy_{_trained(results, arm)}")
        ]
        failed = sum(results.failures(*run) for run in runs if run[0] == arm)
        each.set(title=f"{arm}  ✗{failed}" if failed else arm, ylim=(0.0, 1.05))
        for variant in (*_LOOKUP, *_RELATIONS):
            points = wanted[wanted["variant"] == variant]
            if len(points):
                curves_with_band(each, points, _look(variant), label=LABELS[variant])
    for each in axes[len(arms) :]:
        each.set_axis_off()
    for each in axes[max(len(arms) - columns, 0) : len(arms)]:
        each.set_xlabel("step")
    for each in axes[::columns]:
        each.set_ylabel("accuracy")
    legend_above(figure, axes, columns=4)
    return figure


def _row(results: StudyResults, run: RunName) -> dict[str, str]:
    trained = _trained(results, run[0])
    change = _values(results, "max_logit_change", run, trained)
    return {
        "Arm": run[0],
        "Model": LABELS[run[1]],
        "Tested sorted": _summary(_values(results, "accuracy", run, "sorted")),
        "Tested shuffled": _summary(_values(results, "accuracy", run, "shuffled")),
        "Flips": _summary(_values(results, "flip_rate", run, trained)),
        "Max |Δ|": scientific(float(change.max())) if len(change) else "n/a",
        "Failed": str(results.failures(*run)),
    }


def _anchor_rows(settings: Settings) -> list[dict[str, str]]:
    data, grouped = settings.lookups, settings.relations
    rows = [
        {
            "Repository": f"{size} entries",
            "Chance": f"{float(chance(data)):.4f}",
            "Most frequent value": f"{float(key_blind(data, size)):.4f}",
            "Best slot": f"{float(best_slot(data, size)):.4f}",
            "Vote": "{:.4f} ± {:.4f}".format(*vote(data, size)),
            "No tag": "–",
        }
        for size in data.sizes
    ]
    entries = grouped.subjects * grouped.relations
    rows.append(
        {
            "Repository": f"{grouped.subjects} subjects × {grouped.relations} relations",
            "Chance": f"{float(chance(grouped)):.4f}",
            "Most frequent value": f"{float(key_blind(grouped, entries)):.4f}",
            "Best slot": "–",
            "Vote": "–",
            "No tag": f"{float(untagged_ceiling(grouped)):.4f}",
        }
    )
    return rows


def _settings(results: StudyResults) -> Settings:
    return cast(Settings, results.settings)


def _trained_arms(results: StudyResults) -> dict[str, Arm]:
    arms = _settings(results).arms
    return {name: arm for name, arm in arms.items() if isinstance(arm, Arm)}


def _all_arms(results: StudyResults) -> list[str]:
    """Every arm: the opt-in ones last, by size (the second part has none), sorted first."""
    arms = _trained_arms(results)

    def place(arm: str) -> tuple[bool, float, int]:
        chosen = arms[arm]
        return chosen.attention != "softmax", chosen.size or math.inf, ORDERS.index(chosen.order)

    return sorted(arms, key=place)


def _present(
    results: StudyResults, variants: Sequence[str] = (*_LOOKUP, *_RELATIONS)
) -> list[RunName]:
    """The runs of these variants that were measured or failed, arm by arm."""
    rows = results.pool("accuracy")
    measured = set(zip(rows["arm"], rows["variant"], strict=True))
    return [
        (arm, variant)
        for arm in _all_arms(results)
        for variant in variants
        if (arm, variant) in measured or results.failures(arm, variant)
    ]


def _has(results: StudyResults, arm: str, variant: str) -> bool:
    return (arm, variant) in _present(results)


def _arms(results: StudyResults, size: int) -> list[str]:
    """The primary arms of a size: those with softmax weights."""
    arms = _trained_arms(results)
    return [arm for arm in arms if arms[arm].size == size and arms[arm].attention == "softmax"]


def _arm(results: StudyResults, size: int, order: Order) -> str | None:
    return next((arm for arm in _arms(results, size) if _trained(results, arm) == order), None)


def _trained(results: StudyResults, arm: str) -> Order:
    return _trained_arms(results)[arm].order


def _tell_budgets(results: StudyResults) -> str:
    settings, arms = _settings(results), _trained_arms(results)
    told = {}
    for arm in dict.fromkeys(arm for arm, _ in _present(results)):
        chosen = arms[arm]
        case = "identical content" if chosen.size is None else f"M = {chosen.size}"
        told[case] = int(chosen.training.get("steps", settings.training.steps))
    return ", ".join(f"{steps} steps for {case}" for case, steps in told.items())


def _values(results: StudyResults, metric: str, run: RunName, order: Order) -> pd.Series:
    rows = results.select(metric, arm=run[0], variant=run[1], order=order)
    return rows.sort_values("seed")["value"]


def _summary(values: pd.Series) -> str:
    return f"{values.median():.3f} ({values.mean():.3f})" if len(values) else "n/a"


def _look(variant: str) -> Look:
    # A head without a tag is a position-free one, and one turned by relation is turned by content.
    known = looks([*_LOOKUP, "tag"])
    return known[{"untagged": "position-free", "operator": "content"}.get(variant, variant)]


def _label(axes: Axes, variants: Sequence[str]) -> None:
    axes.set_xticks(range(len(variants)), [LABELS[v] for v in variants], rotation=30, ha="right")
    axes.set_xlim(-0.6, max(len(variants), 1) + 2.4)  # room for the names of the lines
