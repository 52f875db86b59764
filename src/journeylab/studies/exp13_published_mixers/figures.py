"""Figures, tables and numbers of the exp13 report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from journeylab.plotting import (
    RunName,
    StudyResults,
    Table,
    anchors,
    canvas,
    facets,
    legend_above,
    median,
    seeds,
    styles,
)
from journeylab.plotting.captions import AS_BEFORE, SEEDS
from journeylab.studies.exp13_published_mixers import search
from journeylab.studies.exp13_published_mixers.metrics import ARMS, LABELS
from journeylab.studies.exp13_published_mixers.settings import (
    FACTORS,
    WORD_TASKS,
    Arm,
)
from journeylab.typography import fixed

SOLVED = 0.99

_TASKS = tuple(arm for arm in ARMS if arm != "certificates")
_TIMES = {times: f"{times}n" if times > 1 else "n" for times in FACTORS}
_COST = "kFLOP"
_BUDGETS = "Runs have different numbers of steps, and only some were searched: see the protocol."

CAPTIONS = {
    "solved": (
        "Share of the seeds that solved a task: accuracy "
        f"{SOLVED} or more in the second half of rows as long as the longest training rows (n). "
        "In brackets: the number of seeds that solve it at 4n. Word problems, parity and "
        "arithmetic have one layer, flip-flop and recall have two. The last column is the cost of "
        "a mechanism: thousand floating-point operations of a forward pass per token, one layer, "
        "rows of 32 tokens. Empty fields were not trained. ✗ counts failed seeds, which have "
        f"not solved their task. {_BUDGETS}"
    ),
    "words": (
        f"Accuracy on word problems at length n, by group. {SEEDS} The dashed line is the exact "
        "Parikh ceiling, the best accuracy of any answer that depends on the numbers of the two "
        "letters only; the dotted line is the best constant answer. Both are means over the same "
        f"positions as the accuracy. {_BUDGETS}"
    ),
    "length": (
        "Median accuracy over seeds in percent, in the second half of rows of n, 2n and 4n tokens; "
        "training rows have at most n. Empty fields were not trained; ✗ counts failed seeds, which "
        f"have no accuracy. {_BUDGETS}"
    ),
    "others": f"Accuracy at length n on the tasks that are no word problem. {AS_BEFORE}",
}


def draw(results: StudyResults) -> dict[str, Figure]:
    """Solved shares with cost, accuracies by task, and accuracies by length."""
    figures: dict[str, Figure] = {}
    if not results.present():
        return figures
    figures["solved"] = _draw_solved(results)
    words = [arm for arm in _arms(results) if arm in WORD_TASKS]
    others = [arm for arm in _arms(results) if arm not in WORD_TASKS]
    if words:
        figures["words"] = _draw_accuracy(results, words)
    if others:
        figures["others"] = _draw_accuracy(results, others)
    figures["length"] = _draw_length(results)
    return figures


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Accuracies by length with cost, ceilings, and the search."""
    tables = {
        f"accuracy-{times}": Table(
            name=f"accuracy-{times}",
            caption=f"Median accuracy in the second half of rows of {_TIMES[times]} tokens, and "
            "thousand operations per token of a forward pass in one layer.",
            frame=_accuracies(results, times),
            notes="–: not trained at this scale. CPU times stand above the first table.",
            numeric=tuple(_heads(results)),
        )
        for times in FACTORS
        if results.present()
    }
    others = (_tabulate_ceilings(results), _tabulate_rates(), _tabulate_scales())
    return tables | {table.name: table for table in others}


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Sizes and anchors that the prose cites, and the number of seeds that solve each task."""
    cited: dict[str, float | int | str] = {
        "solved.threshold": SOLVED,
        "searched": len({trial[:2] for trial in search.TRIALS if search.chooses(trial)}),
        "longer": search.LONGER,
        "recall.steps": search.RECALL,
        "runs": len(results.present()),
        "tie": search.TIE,
    }
    for group in ("S3", "A5", "S5"):
        rows = results.select("reflections", case=group)["value"]
        cited[f"reflections.{group}"] = math.nan if rows.empty else int(rows.max())
    for task in WORD_TASKS:
        for metric in ("ceiling", "chance"):
            value = results.select(metric, case=task, times=1)["value"]
            cited[f"{metric}.{task}"] = float(value.max())
    for run in results.present():
        for times in FACTORS:
            solved, of = _solved(results, run, times)
            cited[f"solved.{run[0]}.{run[1]}.{times}"] = f"{solved}/{of}"
    for change in ("toral-product", "orthogonal-product"):
        rows = results.select("order_change", case=change)["value"]
        cited[f"order.{change}"] = float(rows.max() if change == "toral-product" else rows.min())
    return cited


def _draw_solved(results: StudyResults) -> Figure:
    arms, variants = _arms(results), _variants(results)
    shares: list[list[float]] = []
    printed: list[list[str]] = []
    for variant in variants:
        cells: list[float] = []
        texts: list[str] = []
        for arm in arms:
            near, of = _solved(results, (arm, variant), 1)
            far, _ = _solved(results, (arm, variant), FACTORS[-1])
            cells.append(near / of if of else np.nan)
            failed = results.failures(arm, variant)
            mark = f" ✗{failed}" if failed else ""
            texts.append(f"{near}/{of} ({far}){mark}" if of else "")
        shares.append([*cells, np.nan])
        printed.append([*texts, _kiloflops(results, variant)])
    heads = [*(ARMS.get(arm, arm) for arm in arms), _COST]
    frame = pd.DataFrame(shares, index=[LABELS.get(v, v) for v in variants], columns=heads)
    figure, [axes] = canvas(0.155 * len(variants) + 0.45)
    sns.heatmap(
        frame,
        cmap="Blues",
        vmin=0,
        vmax=1.15,
        cbar=False,
        linewidths=0.8,
        ax=axes,
    )
    for row, texts in enumerate(printed):
        for column, text in enumerate(texts):
            _write(axes, column + 0.5, row + 0.5, text, float(shares[row][column]))
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
    axes.tick_params(axis="x", labelsize=6)
    axes.tick_params(axis="y", labelrotation=0)
    axes.grid(visible=False)
    return figure


def _draw_accuracy(results: StudyResults, arms: Sequence[str]) -> Figure:
    rows = results.tidy("accuracy", times=1, arm=list(arms))
    shown = [ARMS.get(arm, arm) for arm in arms]
    figure, panels = facets(
        rows,
        0.115 * len(_variants(results)) + 0.35,
        "accuracy",
        col="data",
        col_wrap=3,
        col_order=shown,
        xlim=(-0.04, 1.04),
    )
    [alike] = styles(["every mechanism"]).values()  # each has a row of its own
    for title, (axes, part) in panels.items():
        part = part.assign(model=part["model"].cat.remove_unused_categories())
        seeds(axes, part, dict.fromkeys(rows["model"].cat.categories, alike), hue="model")
        task = next(arm for arm in arms if ARMS.get(arm, arm) == title)
        lines = {
            "Parikh ceiling": _anchor(results, "ceiling", task),
            "constant answer": _anchor(results, "chance", task),
            f"solved, {SOLVED}": SOLVED,
        }
        anchors(axes, lines, x=True)
    legend_above(figure)
    return figure


def _draw_length(results: StudyResults) -> Figure:
    arms, variants = _arms(results), _variants(results)
    columns = [(arm, times) for arm in arms for times in FACTORS]
    shares = np.array([[_median(results, (a, v), t) for a, t in columns] for v in variants])
    figure, [axes] = canvas(0.155 * len(variants) + 0.55)
    names = [LABELS.get(variant, variant) for variant in variants]
    frame = pd.DataFrame(shares, index=names)
    sns.heatmap(frame, cmap="Blues", vmin=0, vmax=1.15, cbar=False, linewidths=0.4, ax=axes)
    for row, column in zip(*np.nonzero(~np.isnan(shares)), strict=True):
        value = float(shares[row, column])
        _write(axes, column + 0.5, row + 0.5, f"{100 * value:.0f}", value)
    axes.set_xticks(np.arange(len(columns)) + 0.5, [_TIMES[times] for _, times in columns])
    axes.set(xlabel="", ylabel="")
    axes.tick_params(length=0, labelrotation=0)
    width = len(FACTORS)
    for i, arm in enumerate(arms):
        middle = (i + 0.5) * width
        axes.text(middle, -0.25, ARMS.get(arm, arm), ha="center", va="bottom", fontsize=6.5)
        axes.axvline(i * width, color="#202020", linewidth=0.8)
        for row, variant in enumerate(variants):
            if count := results.failures(arm, variant):
                edge = (i + 1) * width - 0.05
                axes.text(edge, row + 0.5, f"✗{count}", ha="right", va="center", fontsize=4.5)
    axes.grid(visible=False)
    return figure


def _median(results: StudyResults, run: RunName, times: int) -> float:
    """The median accuracy; NaN for a run that was not trained, or without finished seeds."""
    if run not in results.present():
        return float("nan")
    values = results.values("accuracy", run, times=times)
    return float(values.median()) if len(values) else float("nan")


def _write(axes: Axes, x: float, y: float, text: str, share: float) -> None:
    """A cell's text, white on dark cells."""
    colour = "white" if share > 0.6 else "#202020"
    axes.text(x, y, text, ha="center", va="center", fontsize=5.2, color=colour)


def _accuracies(results: StudyResults, times: int) -> pd.DataFrame:
    rows = []
    for variant in _variants(results):
        cells = {
            ARMS.get(arm, arm): median(results.values("accuracy", (arm, variant), times=times), 2)
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
    frame = pd.DataFrame(rows)
    return Table(
        name="ceilings",
        caption="The exact Parikh ceiling and the best constant answer, means over the second half "
        "of rows of n, 2n and 4n = 128 letters.",
        frame=frame,
        numeric=tuple(frame.columns[1:]),
    )


def _tabulate_rates() -> Table:
    rows: dict[tuple[str, str, int, int], dict[str, str]] = {}
    for trial in search.TRIALS:
        row = rows.setdefault(trial[:4], _name_trial(trial))
        if trial.scale == search.SCALE:
            row[f"{trial.rate:g}"] = fixed(trial.loss, 3)
        if search.chooses(trial):
            row["Chosen"] = f"{search.chosen(trial.arm, trial.variant)[0]:g}"
    return _tabulate_trials(
        "search-rates",
        rows.values(),
        [*(f"{rate:g}" for rate in search.RATES), "Chosen"],
        "Search of learning rates: loss on validation rows after the last step, mean of the pilot "
        f"seeds {' and '.join(map(str, search.SEEDS))}.",
        f"Other runs were not searched: rate {search.RATE}, scale ×{search.SCALE:g}. –: not "
        f"tried. A difference up to {search.TIE} keeps the usual rate. Trials of another depth or "
        "with other steps than the run choose nothing.",
    )


def _tabulate_scales() -> Table:
    rows: dict[tuple[str, str, int, int, float], dict[str, str]] = {}
    scaled = {(*each[:4], each.rate) for each in search.TRIALS if each.scale != search.SCALE}
    for trial in search.TRIALS:
        if (key := (*trial[:4], trial.rate)) in scaled:
            row = rows.setdefault(key, _name_trial(trial) | {"Rate": f"{trial.rate:g}"})
            row[f"×{trial.scale:g}"] = fixed(trial.loss, 3)
            rate, scale = search.chosen(trial.arm, trial.variant)
            if search.chooses(trial) and trial.rate == rate:
                row["Chosen"] = f"×{scale:g}"
    return _tabulate_trials(
        "search-scales",
        rows.values(),
        ["Rate", *(f"×{scale:g}" for scale in search.SCALES), "Chosen"],
        "Search of initial scales at the rates in the table: the same losses.",
        "Searched runs without a row have the usual scale: their mechanism has no such weights, or "
        "no other scale could be better.",
    )


def _name_trial(trial: search.SearchTrial) -> dict[str, str]:
    return {
        "Task": ARMS.get(trial.arm, trial.arm),
        "Mechanism": LABELS.get(trial.variant, trial.variant),
        "Layers": str(trial.layers),
        "Steps": str(trial.steps),
    }


def _tabulate_trials(
    name: str, rows: Iterable[dict[str, str]], heads: list[str], caption: str, notes: str
) -> Table:
    heads = ["Layers", "Steps", *heads]
    frame = pd.DataFrame(rows, columns=["Task", "Mechanism", *heads]).astype(object).fillna("–")
    return Table(name=name, caption=caption, frame=frame, notes=notes, numeric=tuple(heads))


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


def _anchor(results: StudyResults, metric: str, task: str, times: int = 1) -> float | None:
    rows = results.pool(metric, case=task, times=times)["value"]
    return float(rows.iloc[0]) if len(rows) else None
