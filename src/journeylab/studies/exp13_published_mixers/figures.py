"""Figures of exp13."""

from itertools import pairwise
from math import nan

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from journeylab import plotting as plot
from journeylab.claims.schema import SEQUENTIAL
from journeylab.plotting import RunName, StudyResults
from journeylab.studies.exp13_published_mixers.settings import FACTORS, WORD_TASKS, Data
from journeylab.studies.exp13_published_mixers.shortcuts import floor
from journeylab.studies.exp13_published_mixers.tables import (
    COST,
    LABELS,
    LONGER,
    NAMES,
    SEARCHED,
    SOLVED,
    TIMES,
    count_solved,
    mechanisms,
    numbers,
    print_cost,
    tabulate,
    tasks,
)

STATE, MEMORY = "A5", "associative"
_LINE, _UNTRAINED = "#202020", "#e9e9e9"
[_ALIKE] = plot.styles(["every mechanism"]).values()  # each has a row of its own
_FITS = 8
"""Characters that fit into a field; longer texts are printed smaller."""


def draw_solved(results: StudyResults) -> Figure | None:
    """Solving seeds by mechanism and task, and the cost of a mechanism."""
    arms, variants = tasks(results), mechanisms(results)
    if not variants:
        return None
    shares = np.full((len(variants), len(arms) + 1), nan)
    figure, axes = plot.canvas(0.155 * len(variants) + 0.45)
    for row, variant in enumerate(variants):
        for column, arm in enumerate(arms):
            run = arm, variant
            (near, of), (far, _) = (count_solved(results, run, times) for times in (1, FACTORS[-1]))
            if not of:
                continue
            failed = results.failures(*run)
            text = str(near) if of == SEQUENTIAL[0] else f"{near}/{of}"
            text += (f" ({far})" if far else "") + (f" ✗{failed}" if failed else "")
            steps = results.settings.resolve(*run).settings["training"]["steps"]
            text += "*" if steps == LONGER else ""
            shares[row, column] = near / of
            _write(axes, column, row, text, near / of, run)
        _write(axes, len(arms), row, print_cost(results, variant), 0.0)
    heads = [*arms.values(), COST]
    _shade(axes, pd.DataFrame(shares, [LABELS[variant] for variant in variants], heads), variants)
    axes.add_patch(Rectangle((len(arms), 0), 1, len(variants), color="white", zorder=0.5))
    axes.tick_params(labeltop=True, labelbottom=False)
    axes.tick_params(axis="x", labelsize=plot.SMALLEST)
    axes.tick_params(axis="y", labelrotation=0)
    return figure


def draw_length(results: StudyResults) -> Figure | None:
    """Median accuracies by mechanism, task and length, floors and ceilings."""
    arms, variants = tasks(results), mechanisms(results)
    if not variants:
        return None
    ends = FACTORS[0], FACTORS[-1]
    columns, width = [(arm, times) for arm in arms for times in ends], len(ends)
    shares: list[list[float | None]] = [
        [float(results.values("accuracy", (a, v), times=t).median()) for a, t in columns]
        for v in variants
    ]
    shares += [[of(results, a, t) for a, t in columns] for of in (_floor, _ceiling)]
    names = [*(LABELS[variant] for variant in variants), "floor", "Parikh ceiling"]
    figure, axes = plot.canvas(0.155 * len(names) + 0.55)
    frame = pd.DataFrame(shares, names, columns, dtype=float)
    _shade(axes, frame, variants)
    axes.axhline(len(variants), color=_LINE, linewidth=1.2)
    for row, column in zip(*np.nonzero(frame.notna().to_numpy()), strict=True):
        value = float(frame.iloc[row, column])
        run = (columns[column][0], variants[row]) if row < len(variants) else None
        _write(axes, column, row, f"{100 * value:.0f}", value, run)
    axes.set_xticks(np.arange(len(columns)) + 0.5, [TIMES[times] for _, times in columns])
    axes.set(xlabel="", ylabel="")
    axes.tick_params(labelrotation=0)
    for i, (arm, name) in enumerate(arms.items()):
        middle = (i + 0.5) * width
        axes.text(middle, -0.25, name, ha="center", va="bottom", fontsize=plot.SMALLEST)
        axes.axvline(i * width, color=_LINE, linewidth=0.8)
        for row, variant in enumerate(variants):
            if results.failures(arm, variant) and frame.isna().iat[row, i * width]:
                _write(axes, middle - 0.5, row, "failed", 0.0)
    return figure


def _shade(axes: Axes, shares: pd.DataFrame, variants: list[str]) -> None:
    """A heat map of shares, grey without a value, with lines between kinds of mechanisms."""
    axes.set_facecolor(_UNTRAINED)
    sns.heatmap(shares, cmap="Blues", vmin=0, vmax=1.15, cbar=False, linewidths=0.6, ax=axes)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    kind = NAMES.words["families"]
    for row, (before, after) in enumerate(pairwise(variants), start=1):
        if kind.get(before) != kind.get(after):
            axes.axhline(row, color=_LINE, linewidth=0.8)


def _write(
    axes: Axes, column: float, row: int, text: str, share: float, run: RunName | None = None
) -> None:
    """A field's text, white on dark fields, and bold for a searched run."""
    axes.text(
        column + 0.5,
        row + 0.5,
        text,
        ha="center",
        va="center",
        fontsize=plot.SMALLEST * min(1.0, _FITS / max(len(text), 1)),
        color="white" if share > 0.6 else _LINE,
        weight="bold" if run in SEARCHED else "normal",
    )


def on_both(results: StudyResults) -> dict[str, list[str]]:
    """The mechanisms that were trained on both tasks."""
    present = set(results.present)
    both = [name for name in mechanisms(results) if {(STATE, name), (MEMORY, name)} <= present]
    return {"arm": [STATE, MEMORY], "variant": both}


def worse_task_first(_: StudyResults, rows: pd.DataFrame) -> pd.DataFrame:
    """Mechanisms in the order of the median on their worse task."""
    medians = rows.groupby(["model", "arm"], observed=True)["value"].median().unstack("arm")
    best = medians.assign(least=medians.min(axis=1), most=medians.max(axis=1))
    order = best.sort_values(["least", "most"], ascending=False, kind="stable").index
    return rows.assign(model=pd.Categorical(rows["model"], list(order)))


def floors_of_both(results: StudyResults, *_: object) -> plot.Lines:
    """The floors of the two tasks."""
    return {
        f"{results.arms[MEMORY]}: most frequent value": _floor(results, MEMORY),
        f"{results.arms[STATE]}: constant answer": _floor(results, STATE),
    }


def bounds(results: StudyResults, _: str, part: pd.DataFrame) -> plot.Lines:
    """Ceiling, floor and threshold of a task."""
    task = part["arm"].iloc[0]
    return {
        "Parikh ceiling": _ceiling(results, task),
        "floor": _floor(results, task),
        f"solved, {SOLVED}": SOLVED,
    }


def _data(results: StudyResults, arm: str) -> Data:
    """The task and the lengths of an arm."""
    variant = next(iter(results.settings.arms[arm].variants))
    return Data.model_validate(results.settings.resolve(arm, variant).data)


def _ceiling(results: StudyResults, arm: str, times: int = 1) -> float | None:
    task = _data(results, arm).task
    return results.anchor("ceiling", case=task, times=times) if task in WORD_TASKS else None


def _floor(results: StudyResults, arm: str, times: int = 1) -> float | None:
    """The best constant answer of a word problem, else the shortcut of the task."""
    data = _data(results, arm)
    if data.task in WORD_TASKS:
        return results.anchor("chance", case=data.task, times=times)
    return floor(data.task, times * data.length)


def _by_task(*, words: bool) -> plot.Draw:
    """Accuracy of all mechanisms on word problems, or on the other tasks."""
    return plot.multiples(
        "accuracy",
        lambda results: {
            "times": 1,
            "arm": [arm for arm in tasks(results) if (arm in WORD_TASKS) is words],
        },
        height=(0.35, 0.115),
        labels=("accuracy", ""),
        lines=bounds,
        shown=dict.fromkeys(LABELS.values(), _ALIKE),
        col="data",
        col_wrap=3,
        xlim=(-0.04, 1.04),
    )


FIGURES: plot.Figures = {
    "solved": draw_solved,
    "both": plot.multiples(
        "accuracy",
        lambda results: {"times": 1, **on_both(results)},
        rows=worse_task_first,
        height=(0.9, 0.25),
        labels=("accuracy", ""),
        lines=floors_of_both,
        hue="data",
        xlim=(-0.04, 1.04),
    ),
    "words": _by_task(words=True),
    "others": _by_task(words=False),
    "length": draw_length,
}
