"""Figures of exp1."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from journeylab import plotting as plot
from journeylab.plotting import StudyResults, in_names
from journeylab.studies.exp1_group_languages.settings import (
    LONGEST,
    SHORTEST,
    VARIANTS,
    Arm,
    TaskName,
)
from journeylab.studies.exp1_group_languages.tables import (
    FAMILIES,
    FORMS,
    HEADS,
    SOLVED,
    TITLES,
    anchor,
    numbers,
    solved,
    tabulate,
)


def by_case(
    results: StudyResults, rows: pd.DataFrame, forms: Mapping[Any, str] = FORMS
) -> pd.DataFrame:
    """The title of the task, the family and the form, as printed."""
    tasks = {name: arm.task for name, arm in results.arms_of(Arm).items()}
    family, form = (rows["variant"].map(VARIANTS).str[part] for part in (0, 1))
    return rows.assign(
        title=in_names(rows["arm"].map(tasks), TITLES),
        family=in_names(family, FAMILIES),
        form=in_names(form, forms),
    )


def least_ceiling(results: StudyResults, title: str, _: pd.DataFrame) -> plot.Lines:
    """The smallest ceiling of the training lengths, where it excludes a solution."""
    lowest = float(anchor(results, "ceiling", _task(title)).loc[:LONGEST].min())
    ceiling = lowest if lowest < SOLVED else None
    return {"Parikh ceiling": ceiling, "constant answer": None, f"solved, {SOLVED}": SOLVED}


def anchors(results: StudyResults, level: tuple[str, str], _: pd.DataFrame) -> plot.Lines:
    """The ceiling and the best constant answer at the training lengths."""
    metrics = {"Parikh ceiling": "ceiling", "constant answer": "chance"}
    known = {label: anchor(results, metric, _task(level[0])) for label, metric in metrics.items()}
    return {label: (x.loc[:LONGEST].index, x.loc[:LONGEST]) for label, x in known.items()}


def _task(title: str) -> TaskName:
    return next(task for task, shown in TITLES.items() if shown == title)


def draw_solved(results: StudyResults) -> Figure | None:
    """The seeds that solved each task, by variant, in fields shaded by their share."""
    counts = {v: [solved(results, task, v) for task in HEADS] for v in VARIANTS}
    if not any(seeds for row in counts.values() for _, seeds in row):
        return None
    figure, axes = plot.canvas(2.6)
    shares = [[s / n if n else np.nan for s, n in row] for row in counts.values()]
    names = [results.labels[variant] for variant in VARIANTS]
    sns.heatmap(
        pd.DataFrame(shares, names, list(HEADS.values())),
        annot=[[f"{s}/{n}" for s, n in row] for row in counts.values()],
        fmt="",
        cmap="Blues",
        vmin=0,
        vmax=1.15,
        cbar=False,
        linewidths=1,
        ax=axes,
    )
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
    axes.tick_params(axis="y", labelrotation=0)
    return figure


FIGURES: plot.Figures = {
    "worst": plot.multiples(
        "worst_accuracy",
        height=1.5,
        labels=("accuracy, worst length", ""),
        rows=by_case,
        lines=least_ceiling,
        shown=FORMS.values(),
        y="family",
        hue="form",
        col="title",
        col_wrap=3,
        xlim=(-0.04, 1.04),
    ),
    "solved": draw_solved,
    "accuracy": plot.multiples(
        "accuracy",
        {"n": range(SHORTEST, LONGEST + 1)},
        height=1.1,
        labels=("length n", "accuracy"),
        rows=partial(
            by_case,
            forms={"product": "product state (J = 0)", "aggregation": "aggregation (J = 1)"},
        ),
        form=plot.curves,
        lines=anchors,
        shown=FAMILIES.values(),
        x="n",
        hue="family",
        row="title",
        col="form",
        ylim=(-0.04, 1.06),
        xlim=(SHORTEST - 1, LONGEST + 1),
    ),
}
