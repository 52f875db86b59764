"""Figures, tables and numbers of exp1."""

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from journeylab.plotting import (
    TEXT,
    StudyResults,
    Table,
    canvas,
    curves_with_band,
    legend_above,
    looks,
    points_with_interval,
)
from journeylab.studies.exp1_group_languages.settings import (
    FAMILIES,
    FAR,
    FORMS,
    LONGEST,
    SHORTEST,
    TASK_NAMES,
    Arm,
    Settings,
    TaskName,
)
from journeylab.studies.exp1_group_languages.tasks import GENERATORS, TASKS, generate_group

SOLVED = 0.99

CAPTIONS = {
    "accuracy": (
        "Accuracy on new strings against their length, by task (rows) and form (columns). Thin "
        "lines are seeds, thick ones medians over seeds, bands their distribution-free 95 % "
        "intervals, of the seeds that did not fail. The black dashed line is the exact Parikh "
        "ceiling, the best that anyone can do who knows only how many a's and b's there are; the "
        "grey dotted line is the best constant answer. Accuracy is balanced over the classes in "
        "A and B, and so are their ceilings."
    ),
    "worst": (
        "Accuracy at the worst of the lengths trained on. Every point is one seed, bars are "
        "medians, vertical lines distribution-free 95 % intervals. A seed on or above the dashed "
        "line has solved its task. The dotted line is the Parikh ceiling at the length where it is "
        "lowest; the worst of many noisy accuracies lies a little below it even where every one of "
        "them is at its ceiling."
    ),
    "solved": (
        "Seeds that solved their task, of all seeds; the darker a field, the larger the share. An "
        "empty field was not trained at this scale."
    ),
}

_TITLES = {task: TASKS[task].title for task in TASK_NAMES}
_COLUMNS = {"product": "product state (J = 0)", "aggregation": "aggregation (J = 1)"}
_SHOWN = (SHORTEST, 20, 30, 40, LONGEST, *FAR)

Case = tuple[TaskName, str, str]
"""Task, family and form."""


def draw(results: StudyResults) -> dict[str, Figure]:
    """Accuracy against length with the ceiling, the worst length by seed, and who solved what."""
    return {
        "accuracy": _draw_accuracy(results),
        "worst": _draw_worst(results),
        "solved": _draw_solved(results),
    }


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Seeds that solved, accuracy far beyond the lengths trained on, and the exact ceilings."""
    return {
        "solved": _table_of(
            "solved",
            f"Seeds with an accuracy of {SOLVED} or more at every length, of all seeds.",
            [(run, _share(results, run)) for run in _present(results)],
        ),
        **{f"far-{length}": _tabulate_far(results, length) for length in FAR},
        "ceilings": _tabulate_ceilings(results),
    }


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Sizes and anchors that the prose cites, and the shares of seeds that solved."""
    found: dict[str, float | int | str] = {
        "shortest": SHORTEST,
        "longest": LONGEST,
        "far.1": FAR[0],
        "far.2": FAR[1],
        "solved.threshold": SOLVED,
        "runs": len(_present(results)),
    }
    for name, generators in GENERATORS.items():
        found[f"order.{name}"] = len(generate_group(generators))
    for task in TASK_NAMES:
        for metric in ("ceiling", "chance"):
            for n, value in _anchor(results, metric, task).items():
                if n in _SHOWN:
                    found[f"{metric}.{task}.{n}"] = value
    for task, family, form in _present(results):
        run = (task, family, form)
        key = f"{task}.{family}.{form}"
        found[f"solved.{key}"] = _share(results, run)
        values = _values(results, "gap", run)
        found[f"gap.{key}"] = float(values.median()) if len(values) else "n/a"
    for metric, pick in (("exact_margin", "min"), ("exact_drift", "max"), ("parikh_spread", "max")):
        found[f"{metric}.{pick}"] = float(results.select(metric)["value"].agg(pick))
    found["aggregator_margin.min"] = float(results.select("aggregator_margin")["value"].min())
    overflowing = results.select("aggregator_float32")["value"]
    found["aggregator.overflows"] = int(overflowing.max())
    found["exponentials.missing"] = int(results.select("missing_exponentials")["value"].max())
    for case, rows in results.select("parikh_split").groupby("case"):
        found[f"parikh_split.{case}"] = int(rows["value"].max())
    return found


def _draw_accuracy(results: StudyResults) -> Figure:
    figure, axes = canvas(
        len(TASK_NAMES), len(FORMS), width=TEXT * 0.95, height=8.6, sharex=True, sharey="row"
    )
    look = looks(FAMILIES)
    for place, each in enumerate(axes):
        task, form = TASK_NAMES[place // len(FORMS)], FORMS[place % len(FORMS)]
        each.set(ylim=(-0.04, 1.06), xlim=(SHORTEST - 1, LONGEST + 1))
        each.set_title(f"{_TITLES[task]} · {_COLUMNS[form]}")
        for family in FAMILIES:
            rows = _rows(results, "accuracy", (task, family, form))
            rows = rows[pd.to_numeric(rows["n"]) <= LONGEST]
            if len(rows):
                curves = rows.rename(columns={"n": "step"}).astype({"step": int})
                curves_with_band(each, curves, look[family], label=family)
        _draw_anchors(each, results, task)
        if place % len(FORMS) == 0:
            each.set_ylabel("accuracy")
        if place >= len(axes) - len(FORMS):
            each.set_xlabel("length n")
    legend_above(figure, axes)
    return figure


def _draw_anchors(axes: Axes, results: StudyResults, task: TaskName) -> None:
    for metric, name, style in (
        ("ceiling", "Parikh ceiling", {"color": "black", "lw": 1.1, "ls": (0, (4, 2))}),
        ("chance", "constant answer", {"color": "#777777", "lw": 0.9, "ls": (0, (1, 1.5))}),
    ):
        anchor = {n: x for n, x in _anchor(results, metric, task).items() if n <= LONGEST}
        if anchor:
            axes.plot(list(anchor), list(anchor.values()), zorder=5, label=name, **style)  # type: ignore[arg-type]


def _draw_worst(results: StudyResults) -> Figure:
    figure, axes = canvas(2, 3, width=TEXT, height=4.6, sharey=True)
    look = looks(FAMILIES)
    for each, task in zip(axes, TASK_NAMES, strict=True):
        each.set(title=_TITLES[task], ylim=(-0.04, 1.08))
        each.axhline(SOLVED, color="#555555", linewidth=0.8, linestyle=(0, (4, 2)), zorder=2)
        lowest = min(
            (x for n, x in _anchor(results, "ceiling", task).items() if n <= LONGEST), default=None
        )
        if lowest is not None and lowest < SOLVED:
            each.axhline(lowest, color="black", linewidth=0.9, linestyle=":", zorder=2)
            _name_line(each, lowest, f"Parikh ceiling {lowest:.2f}")
        for place, (family, form) in enumerate(_cases()):
            run = (task, family, form)
            values = _values(results, "worst_accuracy", run)
            failures = _failures(results, run)
            if len(values) or failures:
                points_with_interval(
                    each, place, values, look[family], width=0.7, failures=failures
                )
        each.axvline(len(FAMILIES) - 0.5, color="#404040", linewidth=0.6)
        each.set_xlim(-0.7, len(FAMILIES) * len(FORMS) - 0.3)
        each.set_xticks(
            range(len(FAMILIES) * len(FORMS)), [family for family, _ in _cases()], rotation=90
        )
    for each in axes[:3]:
        each.tick_params(labelbottom=False)
    for each in axes[3:]:
        for i, form in enumerate(FORMS):
            each.annotate(
                form,
                ((i + 0.5) / len(FORMS), -0.42),
                xycoords="axes fraction",
                ha="center",
                va="top",
                fontsize=6.5,
            )
    for each in axes[::3]:
        each.set_ylabel("accuracy, worst length")
    return figure


def _name_line(axes: Axes, value: float, text: str) -> None:
    axes.annotate(
        text,
        (0.995, value),
        xycoords=("axes fraction", "data"),
        xytext=(0, 1.5),
        textcoords="offset points",
        ha="right",
        va="bottom",
        fontsize=6,
        color="#333333",
    )


def _draw_solved(results: StudyResults) -> Figure:
    figure, [axes] = canvas(width=TEXT * 0.72, height=2.9)
    cases = list(_cases())
    shares = np.full((len(cases), len(TASK_NAMES)), np.nan)
    for row, (family, form) in enumerate(cases):
        for column, task in enumerate(TASK_NAMES):
            solved, seeds = _solved(results, (task, family, form))
            if not seeds:
                continue
            shares[row, column] = solved / seeds
            axes.annotate(
                f"{solved}/{seeds}",
                (column, row),
                ha="center",
                va="center",
                fontsize=7,
                color="white" if solved > 0.55 * seeds else "black",
            )
    axes.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.15, aspect="auto", interpolation="none")
    axes.axhline(len(FAMILIES) - 0.5, color="#404040", linewidth=1.0)
    axes.grid(visible=False)
    axes.set_xticks(range(len(TASK_NAMES)), TASK_NAMES)
    axes.set_yticks(range(len(cases)), [f"{family} · {form}" for family, form in cases])
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
    for side in axes.spines.values():
        side.set_visible(False)
    return figure


def _table_of(name: str, caption: str, cells: Sequence[tuple[Case, str]], notes: str = "") -> Table:
    """One row per family and form, one column per task."""
    known = dict(cells)
    rows = [
        {"Family": family, "Form": form}
        | {task: known.get((task, family, form), "–") for task in TASK_NAMES}
        for family, form in _cases()
        if any((task, family, form) in known for task in TASK_NAMES)
    ]
    return Table(
        name=name,
        caption=caption,
        frame=pd.DataFrame(rows, columns=["Family", "Form", *TASK_NAMES]),
        notes=f"–: not trained at this scale. {notes}".strip(),
        numeric=TASK_NAMES,
    )


def _tabulate_ceilings(results: StudyResults) -> Table:
    rows = [
        {"Task": _TITLES[task], "Accuracy": "balanced" if TASKS[task].balanced else "plain"}
        | {str(n): f"{_anchor(results, 'ceiling', task).get(n, np.nan):.3f}" for n in _SHOWN}
        for task in TASK_NAMES
    ]
    heads = [str(n) for n in _SHOWN]
    return Table(
        name="ceilings",
        caption="The exact Parikh ceiling at length n.",
        frame=pd.DataFrame(rows, columns=["Task", "Accuracy", *heads]),
        numeric=tuple(heads),
    )


def _cases() -> Iterator[tuple[str, str]]:
    return ((family, form) for form in FORMS for family in FAMILIES)


def _arms(results: StudyResults, task: TaskName) -> list[str]:
    settings = cast(Settings, results.settings)
    return [
        name for name, arm in settings.arms.items() if isinstance(arm, Arm) and arm.task == task
    ]


def _present(results: StudyResults) -> list[Case]:
    """What was trained, whether or not it finished."""
    runs = [(task, family, form) for task in TASK_NAMES for family, form in _cases()]
    return [run for run in runs if _solved(results, run)[1]]


def _rows(results: StudyResults, metric: str, run: Case) -> pd.DataFrame:
    rows = results.pool(metric, variant=f"{run[1]}-{run[2]}")
    return rows[rows["arm"].isin(_arms(results, run[0]))]


def _values(results: StudyResults, metric: str, run: Case) -> pd.Series:
    return _rows(results, metric, run).sort_values("seed")["value"]


def _solved(results: StudyResults, run: Case) -> tuple[int, int]:
    """Seeds that solved, and all seeds; a failed one has solved nothing."""
    values = _values(results, "worst_accuracy", run)
    return int((values >= SOLVED).sum()), len(values) + _failures(results, run)


def _share(results: StudyResults, run: Case) -> str:
    solved, seeds = _solved(results, run)
    return f"{solved}/{seeds}"


def _tabulate_far(results: StudyResults, length: int) -> Table:
    return _table_of(
        f"far-{length}",
        f"Median accuracy at n = {length}, of the strings whose logits are finite.",
        [(run, _median_at(results, run, length)) for run in _present(results)],
        "overflow: share of the strings of all seeds whose logits are not finite.",
    )


def _median_at(results: StudyResults, run: Case, length: int) -> str:
    known, lost = (
        rows.loc[rows["n"] == length, "value"]
        for rows in (_rows(results, metric, run) for metric in ("accuracy", "overflow"))
    )
    told = [f"{known.median():.2f}"] if len(known) else [] if len(lost) else ["n/a"]
    if lost.any():
        told.append(f"{100 * lost.mean():.0f} % overflow")
    if failed := _failures(results, run):
        told.append(f"({failed} failed)")
    return " ".join(told)


def _failures(results: StudyResults, run: Case) -> int:
    variant = f"{run[1]}-{run[2]}"
    return sum(results.failures(arm, variant) for arm in _arms(results, run[0]))


def _anchor(results: StudyResults, metric: str, task: TaskName) -> dict[int, float]:
    rows = results.select(metric, case=task).sort_values("n")
    return {int(n): float(x) for n, x in zip(rows["n"], rows["value"], strict=True)}
