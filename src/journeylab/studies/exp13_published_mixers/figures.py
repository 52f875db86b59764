"""Figures, tables and numbers of the exp13 report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from journeylab import plotting as plot
from journeylab.plotting import RunName, StudyResults, Table
from journeylab.plotting.captions import AS_BEFORE, SEEDS
from journeylab.studies.exp13_published_mixers.metrics import ARMS, FAMILIES, LABELS, METRICS
from journeylab.studies.exp13_published_mixers.settings import FACTORS, WORD_TASKS, Arm, Data
from journeylab.studies.exp13_published_mixers.shortcuts import floor
from journeylab.wording.typography import fixed

SOLVED = 0.99
_TIE = 0.02
"""Nats by which another setting has to be better than the usual one."""

_TASKS = tuple(arm for arm in ARMS if arm != "certificates")
_TIMES = {times: f"{times}n" if times > 1 else "n" for times in FACTORS}
_COST = "kFLOP"
_BUDGETS = (
    "Runs in bold have a searched rate and scale; others have the usual ones, so that a low "
    "value can come from its rate."
)
_FAMILIES = f"Lines separate, from above: {'; '.join(FAMILIES)}."
_STATE, _MEMORY = "A5", "associative"
_LINE, _UNTRAINED = "#202020", "#e9e9e9"
_CHECKS: dict[str, tuple[str, ...]] = {
    "order_change": ("case",),
    "reflections": ("case",),
    "projection_error": ("case",),
    "ceiling_error": (),
    "mismatch": (),
}
_FITS = 10
"""Characters that fit into a field; longer texts are printed smaller."""
_IN_PROSE = (
    ("S3", "delta-product-signed"),
    ("A5", "delta-product-signed"),
    ("parity", "mamba3"),
    ("associative", "rope"),
    ("associative", "orthogonal-transport"),
)
"""Runs whose solving seeds the prose counts."""
_LONGER = 8000
"""Steps of runs that did not solve their task with the usual number on every pilot seed."""
_CHOSEN = plot.read_trials(__file__).query("chosen == '*'")
_SEARCHED = set(zip(_CHOSEN["arm"], _CHOSEN["variant"], strict=True))


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Accuracies by length with cost, ceilings, and the search."""
    tables = {
        f"accuracy-{times}": Table(
            name=f"accuracy-{times}",
            caption=f"Accuracy in the second half of rows of {_TIMES[times]} tokens, median over "
            "the seeds that finished, and thousand operations per token of a forward pass in one "
            "layer.",
            frame=_accuracies(results, times),
            notes="–: not trained. CPU times stand above the first table.",
            numeric=tuple(_heads(results)),
            numbers=plot.medians(
                results, f"accuracy-{times}", "", {f"At {times}": ("accuracy", {"times": times})}
            ).numbers,
        )
        for times in FACTORS
        if results.present()
    }
    checks = plot.ranges(results, METRICS, _CHECKS)
    searched = plot.tabulate_trials(
        results,
        __file__,
        "loss",
        "Search of learning rates and initial scales: loss on validation rows after the last step, "
        "mean of the pilot seeds 1000 and 1001.",
        "Of rates and then of scales at the best rate, the smallest loss; a difference up to "
        f"{_TIE} keeps rate 0.01 and scale 1, which other runs have without a search. Trials of "
        "another depth or with other steps than the run choose nothing. Without other scales, a "
        "mechanism has no such weights, or no other scale could be better.",
    )
    others = (_tabulate_ceilings(results), checks, searched)
    return tables | {table.name: table for table in others}


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Sizes, anchors and numbers of solving seeds that the prose cites."""
    cited: dict[str, float | int | str] = {
        "solved.threshold": SOLVED,
        "searched": len(_SEARCHED),
        "longer": _LONGER,
        "recall.steps": _steps(results, (_MEMORY, "rope")),
        "runs": len(results.present()),
        "tie": _TIE,
    }
    for group in ("S3", "A5", "S5"):
        rows = results.select("reflections", case=group)["value"]
        cited[f"reflections.{group}"] = math.nan if rows.empty else int(rows.max())
    for task in WORD_TASKS:
        for metric in ("ceiling", "chance"):
            value = results.select(metric, case=task, times=1)["value"]
            cited[f"{metric}.{task}"] = float(value.max())
    for arm, variant in _IN_PROSE:
        solved, of = _solved(results, (arm, variant), 1)
        cited[f"solved.{arm}.{variant}"] = f"{solved} of {of}" if of else "–"
    for change in ("toral-product", "orthogonal-product"):
        rows = results.select("order_change", case=change)["value"]
        cited[f"order.{change}"] = float(rows.max() if change == "toral-product" else rows.min())
    return cited


def _draw_solved(results: StudyResults) -> Figure | None:
    arms, variants = _arms(results), _variants(results)
    if not variants:
        return None
    shares = np.full((len(variants), len(arms) + 1), np.nan)
    heads = [*(ARMS.get(arm, arm) for arm in arms), _COST]
    figure, [axes] = plot.canvas(0.155 * len(variants) + 0.45)
    for row, variant in enumerate(variants):
        for column, arm in enumerate(arms):
            near, of = _solved(results, (arm, variant), 1)
            if not of:
                continue
            far, _ = _solved(results, (arm, variant), FACTORS[-1])
            failed = results.failures(arm, variant)
            text = f"{near}/{of}" + (f" ({far})" if near or not failed else "")
            text += f" ✗{failed}" if failed else ""
            shares[row, column] = near / of
            text += "*" if _steps(results, (arm, variant)) == _LONGER else ""
            _write(axes, column + 0.5, row + 0.5, text, near / of, (arm, variant))
        _write(axes, len(arms) + 0.5, row + 0.5, _kiloflops(results, variant), 0.0)
    _shade(axes, pd.DataFrame(shares, [LABELS.get(v, v) for v in variants], heads))
    _separate(axes, variants)
    axes.add_patch(Rectangle((len(arms), 0), 1, len(variants), color="white", zorder=0.5))
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
    axes.tick_params(axis="x", labelsize=6)
    axes.tick_params(axis="y", labelrotation=0)
    return figure


def _draw_both(results: StudyResults) -> Figure | None:
    """The mechanisms that were trained on A5 and on recall."""
    present = set(results.present())
    variants = [v for v in _variants(results) if {(_STATE, v), (_MEMORY, v)} <= present]
    if not variants:
        return None
    rows = results.tidy("accuracy", times=1, arm=[_STATE, _MEMORY], variant=variants)
    medians = rows.groupby(["model", "arm"], observed=True)["value"].median().unstack("arm")
    best = medians.assign(least=medians.min(axis=1), most=medians.max(axis=1))
    order = best.sort_values(["least", "most"], ascending=False, kind="stable").index
    names = {arm: ARMS.get(arm, arm) for arm in (_STATE, _MEMORY)}
    return plot.panels(
        results,
        rows.assign(
            model=pd.Categorical(rows["model"], list(order)),
            data=rows["data"].cat.remove_unused_categories(),
        ),
        0.2 * len(variants) + 0.9,
        "accuracy",
        styles=plot.styles(names.values()),
        lines={
            f"{names[_MEMORY]}: most frequent value": _floor(results, _MEMORY),
            f"{names[_STATE]}: constant answer": _floor(results, _STATE),
        },
        hue="data",
        xlim=(-0.04, 1.04),
    )


def _draw_accuracy(words: bool, results: StudyResults) -> Figure | None:
    """Accuracy of all mechanisms on word problems, or on the other tasks."""
    arms = [arm for arm in _arms(results) if (arm in WORD_TASKS) is words]
    rows = results.tidy("accuracy", times=1, arm=arms)
    rows = rows.assign(model=rows["model"].cat.remove_unused_categories())
    [alike] = plot.styles(["every mechanism"]).values()  # each has a row of its own

    def lines(title: str, _: pd.DataFrame) -> plot.Lines:
        task = next(arm for arm in arms if ARMS.get(arm, arm) == title)
        return {
            "Parikh ceiling": _ceiling(results, task),
            "floor": _floor(results, task),
            f"solved, {SOLVED}": SOLVED,
        }

    return plot.panels(
        results,
        rows,
        0.115 * len(_variants(results)) + 0.35,
        "accuracy",
        styles=dict.fromkeys(rows["model"].cat.categories, alike),
        lines=lines,
        col="data",
        col_wrap=3,
        col_order=[ARMS.get(arm, arm) for arm in arms],
        xlim=(-0.04, 1.04),
    )


def _draw_length(results: StudyResults) -> Figure | None:
    arms, variants = _arms(results), _variants(results)
    if not variants:
        return None
    columns = [(arm, times) for arm in arms for times in FACTORS]
    shares: list[list[float | None]] = [
        [_median(results, (a, v), t) for a, t in columns] for v in variants
    ]
    shares += [[of(results, a, t) for a, t in columns] for of in (_floor, _ceiling)]
    names = [*(LABELS.get(variant, variant) for variant in variants), "floor", "Parikh ceiling"]
    figure, [axes] = plot.canvas(0.155 * len(names) + 0.55)
    frame = pd.DataFrame(shares, names, columns, dtype=float)
    _shade(axes, frame)
    _separate(axes, variants)
    axes.axhline(len(variants), color=_LINE, linewidth=1.2)
    for row, column in zip(*np.nonzero(frame.notna().to_numpy()), strict=True):
        value, run = float(frame.iloc[row, column]), None
        if row < len(variants):
            run = (columns[column][0], variants[row])
        _write(axes, column + 0.5, row + 0.5, f"{100 * value:.0f}", value, run)
    axes.set_xticks(np.arange(len(columns)) + 0.5, [_TIMES[times] for _, times in columns])
    axes.set(xlabel="", ylabel="")
    axes.tick_params(length=0, labelrotation=0)
    width = len(FACTORS)
    for i, arm in enumerate(arms):
        middle = (i + 0.5) * width
        axes.text(middle, -0.25, ARMS.get(arm, arm), ha="center", va="bottom", fontsize=6.5)
        axes.axvline(i * width, color=_LINE, linewidth=0.8)
        for row, variant in enumerate(variants):
            if count := results.failures(arm, variant):
                # in a corner of the last field if seeds that finished have a value there
                none = frame.isna().iat[row, i * width]
                y, align, size = (row + 0.5, "center", 4.5) if none else (row, "top", 3.6)
                edge = (i + 1) * width - 0.05
                axes.text(edge, y, f"✗{count}", ha="right", va=align, fontsize=size)
    return figure


def _shade(axes: Axes, shares: pd.DataFrame) -> None:
    """A heat map of shares; fields without a value are grey."""
    axes.set_facecolor(_UNTRAINED)
    sns.heatmap(shares, cmap="Blues", vmin=0, vmax=1.15, cbar=False, linewidths=0.6, ax=axes)
    axes.grid(visible=False)


def _separate(axes: Axes, variants: Sequence[str]) -> None:
    """Lines between the kinds of mechanisms."""
    kind = {name: family for family, names in FAMILIES.items() for name in names}
    for row, (before, after) in enumerate(pairwise(variants), start=1):
        if kind.get(before) != kind.get(after):
            axes.axhline(row, color=_LINE, linewidth=0.8)


def _median(results: StudyResults, run: RunName, times: int) -> float:
    """The median accuracy; NaN for a run that was not trained, or without finished seeds."""
    if run not in results.present():
        return float("nan")
    values = results.values("accuracy", run, times=times)
    return float(values.median()) if len(values) else float("nan")


def _write(
    axes: Axes, x: float, y: float, text: str, share: float, run: RunName | None = None
) -> None:
    """A field's text, white on dark fields, and bold for a searched run."""
    colour = "white" if share > 0.6 else _LINE
    weight = "bold" if run in _SEARCHED else "normal"
    size = 5.2 * min(1.0, _FITS / max(len(text), 1))
    axes.text(x, y, text, ha="center", va="center", fontsize=size, color=colour, weight=weight)


def _accuracies(results: StudyResults, times: int) -> pd.DataFrame:
    rows = []
    for variant in _variants(results):
        cells = {
            ARMS.get(arm, arm): plot.median(
                results.values("accuracy", (arm, variant), times=times), 2
            )
            if (arm, variant) in results.present()
            else "–"
            for arm in _arms(results)
        }
        cost = {_COST: _kiloflops(results, variant, times)}
        rows.append({"Mechanism": LABELS.get(variant, variant)} | cells | cost)
    return pd.DataFrame(rows)


def _tabulate_ceilings(results: StudyResults) -> Table:
    rows = [
        {
            "Group": ARMS[task],
            **{
                f"{name}, {_TIMES[times]}": fixed(_anchor(results, metric, task, times), 4)
                for name, metric in (("Ceiling", "ceiling"), ("Constant", "chance"))
                for times in FACTORS
            },
        }
        for task in WORD_TASKS
    ]
    return plot.table(
        "ceilings",
        "The exact Parikh ceiling and the best constant answer, means over the second half of rows "
        "of n, 2n and 4n = 128 letters.",
        rows,
    )


def _arms(results: StudyResults) -> list[str]:
    """The arms that were trained, tasks in the order of print first."""
    present = list(dict.fromkeys(arm for arm, _ in results.present()))
    trained = [arm for arm in present if isinstance(results.settings.arms.get(arm), Arm)]
    return [*(a for a in _TASKS if a in trained), *(a for a in trained if a not in _TASKS)]


def _variants(results: StudyResults) -> list[str]:
    present = {variant for _, variant in results.present()}
    return [*(v for v in LABELS if v in present), *sorted(v for v in present if v not in LABELS)]


def _heads(results: StudyResults) -> list[str]:
    return [*(ARMS.get(arm, arm) for arm in _arms(results)), _COST]


def _solved(results: StudyResults, run: RunName, times: int) -> tuple[int, int]:
    """The number of solving seeds and of all seeds; a failed seed has not solved its task."""
    if run not in results.present():
        return 0, 0
    values = results.values("accuracy", run, times=times)
    return int((values >= SOLVED).sum()), len(values) + results.failures(*run)


def _kiloflops(results: StudyResults, variant: str, times: int = 1) -> str:
    rows = results.pool("kiloflops", case=variant, times=times)["value"]
    return fixed(float(rows.iloc[0]), 0) if len(rows) else "–"


def _steps(results: StudyResults, run: RunName) -> int:
    return int(results.settings.resolve(*run).settings["training"]["steps"])


def _data(results: StudyResults, arm: str) -> Data:
    """The task and the lengths of an arm."""
    variant = next(iter(results.settings.arms[arm].variants))
    return Data.model_validate(results.settings.resolve(arm, variant).data)


def _ceiling(results: StudyResults, arm: str, times: int = 1) -> float | None:
    task = _data(results, arm).task
    return _anchor(results, "ceiling", task, times) if task in WORD_TASKS else None


def _floor(results: StudyResults, arm: str, times: int = 1) -> float | None:
    """The best constant answer of a word problem, else the shortcut of the task."""
    data = _data(results, arm)
    if data.task in WORD_TASKS:
        return _anchor(results, "chance", data.task, times)
    return floor(data.task, times * data.length)


def _anchor(results: StudyResults, metric: str, task: str, times: int = 1) -> float | None:
    rows = results.pool(metric, case=task, times=times)["value"]
    return float(rows.iloc[0]) if len(rows) else None


FIGURES: plot.Figures = {
    "solved": plot.Drawn(
        _draw_solved,
        f"Number of seeds that solved a task, of all seeds: accuracy {SOLVED} or more in the "
        "second half of rows as long as the longest training rows (n). In brackets: the number "
        "that reach this at 4n. Runs that an open claim reads have up to 36 seeds, others 12; ✗ "
        "counts failed seeds, which have not solved their task. Colour is the share of seeds. "
        "White fields were trained and no seed reached the threshold, though accuracies can be "
        "far above chance (see the next figures); grey fields were not trained. Word problems, "
        "parity and arithmetic have one layer, flip-flop and recall have two. The last column is "
        "the cost of a mechanism: thousand floating-point operations of a forward pass per "
        "token, one layer, rows of 32 tokens. Blocks have equal numbers of parameters, not equal "
        f"cost. {_BUDGETS} * marks four times the steps. {_FAMILIES}",
    ),
    "both": plot.Drawn(
        _draw_both,
        "State and memory: accuracy at length n on the word problem of A5, with one layer, and "
        "on recall of sixteen pairs, with two, of all mechanisms that were trained on both. "
        f"{SEEDS} The dotted line is the best constant answer on A5, the dashed one the most "
        "frequent value of a row of recall. The two networks of a mechanism were trained "
        "separately, each with its own settings, so that the figure compares mechanisms as "
        "trained here, not what they can represent.",
    ),
    "words": plot.Drawn(
        partial(_draw_accuracy, True),
        f"Accuracy on word problems at length n, by group. {AS_BEFORE} The dashed line is the "
        "exact Parikh ceiling, the best accuracy of any answer that depends on the numbers of "
        "the two letters only; the dotted line is the best constant answer. Both are means over "
        f"the same positions as the accuracy; the last line is {SOLVED}.",
    ),
    "others": plot.Drawn(
        partial(_draw_accuracy, False),
        f"Accuracy at length n on the tasks that are no word problem. {AS_BEFORE} Dotted: the "
        "best constant answer on parity and arithmetic; on flip-flop the bit that was written "
        "most often so far, on recall the most frequent value of the row. Neither uses which "
        f"write was the last, or which key has which value. The last line is {SOLVED}.",
    ),
    "length": plot.Drawn(
        _draw_length,
        "Accuracy in percent, median over the seeds that finished, in the second half of rows of "
        "n, 2n and 4n tokens; training rows have at most n. On recall, rows of n have 16 pairs "
        "and longer ones 32. The last two rows are the floors and the ceilings of the figures "
        "before. Grey fields were not trained; ✗ counts failed seeds, which have no accuracy. "
        f"{_BUDGETS} {_FAMILIES}",
    ),
}
