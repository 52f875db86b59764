"""Figures, tables and numbers of the exp1 report."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from journeylab import plotting as plot
from journeylab.plotting import StudyResults, Table
from journeylab.plotting.captions import CURVES, seed_dots
from journeylab.studies.exp1_group_languages.metrics import (
    ARMS,
    FAMILY_LABELS,
    FORM_LABELS,
    METRICS,
)
from journeylab.studies.exp1_group_languages.settings import (
    FAMILIES,
    FAR,
    FORMS,
    LONGEST,
    SHORTEST,
    TASK_NAMES,
    VARIANTS,
    Arm,
    Family,
    Form,
    TaskName,
)
from journeylab.studies.exp1_group_languages.tasks import GENERATORS, TASKS, generate_group

SOLVED = 0.99

_SEEDS = seed_dots(lines="horizontal lines")
_TITLES = {task: ARMS[task] for task in TASK_NAMES}
_HEADS = {task: "B, #a = n/2" if task == "Bbal" else task for task in TASK_NAMES}
_COLUMNS = {"product state": "product state (J = 0)", "aggregation": "aggregation (J = 1)"}
_CHECKS: dict[str, tuple[str, ...]] = dict.fromkeys(
    (
        "exact_accuracy",
        "exact_drift",
        "aggregation_accuracy",
        "aggregation_drift",
        "aggregator_accuracy",
        "aggregator_margin",
        "aggregator_float32",
        "parikh_spread",
        "missing_exponentials",
        "ceiling_error",
    ),
    (),
) | {"parikh_split": ("case",)}
_SHOWN = (SHORTEST, 20, 30, 40, LONGEST, *FAR)

Case = tuple[TaskName, Family, Form]
"""Task, family and form."""


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Shares of solving seeds, accuracy far beyond the training lengths, and exact ceilings."""
    return {
        "solved": _table_of(
            "solved",
            f"Seeds with an accuracy of {SOLVED} or more at every training length / all seeds.",
            [(run, _share(results, run)) for run in _present(results)],
        ),
        **{f"far-{length}": _tabulate_far(results, length) for length in FAR},
        "ceilings": _tabulate_ceilings(results),
        "checks": plot.ranges(results, METRICS, _CHECKS),
        "search": plot.tabulate_trials(
            results,
            __file__,
            "accuracy",
            "Search of the learning rate and the initial scale of every judged run: validation "
            "accuracy over all prefixes, mean of the pilot seeds 1000 and 1001.",
            "They are the highest accuracy, or rate 0.01 and scale 1 if they are within 0.01 of "
            "it. The next point was tried where the best was at the edge of the grid. The toral "
            "product state on S3 has its rate from 20 pilot seeds, which all learn the parity at "
            "0.03.",
        ),
    }


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Sizes, anchors and certificates that the prose cites."""
    cited: dict[str, float | int | str] = {
        "shortest": SHORTEST,
        "longest": LONGEST,
        "far.1": FAR[0],
        "solved.threshold": SOLVED,
    }
    for name, generators in GENERATORS.items():
        cited[f"order.{name}"] = len(generate_group(generators))
    for task in TASK_NAMES:
        for metric in ("ceiling", "chance"):
            for n, value in _anchor(results, metric, task).items():
                if n in _SHOWN:
                    cited[f"{metric}.{task}.{n}"] = value
    ends = (("exact_margin", "min"), ("exact_drift", "max"), ("aggregator_margin", "min"))
    for metric, pick in ends:
        cited[f"{metric}.{pick}"] = float(results.select(metric)["value"].agg(pick))
    overflowing = results.select("aggregator_float32")["value"]
    cited["aggregator.overflows"] = int(overflowing.max())
    cited["exponentials.missing"] = int(results.select("missing_exponentials")["value"].max())
    for case, rows in results.select("parikh_split").groupby("case"):
        cited[f"parikh_split.{case}"] = int(rows["value"].max())
    return cited


def _draw_accuracy(results: StudyResults) -> Figure | None:
    rows = _tidy(results, "accuracy")
    rows = rows[rows["n"] <= LONGEST].assign(form=rows["form"].map(_COLUMNS))

    def lines(level: tuple[str, str], _: pd.DataFrame) -> plot.Lines:
        task = next(task for task in TASK_NAMES if _TITLES[task] == level[0])
        ceiling, chance = (_within(results, metric, task) for metric in ("ceiling", "chance"))
        return {
            "Parikh ceiling": (list(ceiling), list(ceiling.values())),
            "constant answer": (list(chance), list(chance.values())),
        }

    return plot.panels(
        results,
        rows.astype({"n": int}),
        1.1,
        "length n",
        "accuracy",
        styles=plot.styles(FAMILY_LABELS.values()),
        form=plot.curves,
        lines=lines,
        x="n",
        hue="family",
        row="title",
        col="form",
        col_order=_COLUMNS.values(),
        ylim=(-0.04, 1.06),
        xlim=(SHORTEST - 1, LONGEST + 1),
    )


def _draw_worst(results: StudyResults) -> Figure | None:
    rows = _tidy(results, "worst_accuracy")
    present = set(rows["family"])

    def lines(_: str, part: pd.DataFrame) -> plot.Lines:
        lowest = min(_within(results, "ceiling", part["task"].iloc[0]).values())
        ceiling = lowest if lowest < SOLVED else None
        return {"Parikh ceiling": ceiling, "constant answer": None, f"solved, {SOLVED}": SOLVED}

    return plot.panels(
        results,
        rows.assign(
            family=pd.Categorical(
                rows["family"], [name for name in FAMILY_LABELS.values() if name in present]
            )
        ),
        1.5,
        "accuracy, worst length",
        styles=plot.styles(FORM_LABELS.values()),
        lines=lines,
        y="family",
        hue="form",
        col="title",
        col_wrap=3,
        xlim=(-0.04, 1.04),
    )


def _draw_solved(results: StudyResults) -> Figure | None:
    if not _present(results):
        return None
    figure, [axes] = plot.canvas(2.6)
    cases = {f"{FAMILY_LABELS[a]}, {FORM_LABELS[b]}": (a, b) for a, b in _cases()}
    counts = {
        name: [_solved(results, (task, *case)) for task in TASK_NAMES]
        for name, case in cases.items()
    }
    shares = pd.DataFrame.from_dict(
        {name: [s / n if n else np.nan for s, n in row] for name, row in counts.items()},
        orient="index",
        columns=list(_HEADS.values()),
    )
    printed = [[f"{s}/{n}" for s, n in row] for row in counts.values()]
    sns.heatmap(
        shares,
        annot=printed,
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


def _table_of(name: str, caption: str, cells: Sequence[tuple[Case, str]], notes: str = "") -> Table:
    """One row per family and form, one column per task."""
    known = dict(cells)
    rows = [
        {"Family": FAMILY_LABELS[family], "Form": FORM_LABELS[form]}
        | {head: known.get((task, family, form), "–") for task, head in _HEADS.items()}
        for family, form in _cases()
        if any((task, family, form) in known for task in TASK_NAMES)
    ]
    return Table(
        name=name,
        caption=caption,
        frame=pd.DataFrame(rows, columns=["Family", "Form", *_HEADS.values()]),
        notes=f"–: not trained at this scale. {notes}".strip(),
        numeric=tuple(_HEADS.values()),
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


def _cases() -> Iterator[tuple[Family, Form]]:
    return ((family, form) for form in FORMS for family in FAMILIES)


def _arms(results: StudyResults, task: TaskName) -> list[str]:
    return [name for name, known in _tasks(results).items() if known == task]


def _tasks(results: StudyResults) -> dict[str, TaskName]:
    """The task of every trained arm."""
    return {name: arm.task for name, arm in results.arms_of(Arm).items()}


def _tidy(results: StudyResults, metric: str) -> pd.DataFrame:
    """The rows of a metric, with the columns task, title, family and form, as printed."""
    rows = results.tidy(metric)
    task = rows["arm"].map(_tasks(results))
    family, form = (rows["variant"].map(VARIANTS).str[part] for part in (0, 1))
    titles = [_TITLES[name] for name in TASK_NAMES if name in set(task)]
    return rows.assign(
        task=task,
        title=pd.Categorical(task.map(_TITLES), titles),
        family=family.map(FAMILY_LABELS),
        form=form.map(FORM_LABELS),
    )


def _present(results: StudyResults) -> list[Case]:
    """The cases that were trained, including those whose seeds failed."""
    runs = [(task, family, form) for task in TASK_NAMES for family, form in _cases()]
    return [run for run in runs if _solved(results, run)[1]]


def _rows(results: StudyResults, metric: str, run: Case) -> pd.DataFrame:
    return results.pool(metric, variant=f"{run[1]}-{run[2]}", arm=_arms(results, run[0]))


def _solved(results: StudyResults, run: Case) -> tuple[int, int]:
    """The number of solving seeds and of all seeds; a failed seed has not solved its task."""
    values = _rows(results, "worst_accuracy", run)["value"]
    return int((values >= SOLVED).sum()), len(values) + _failures(results, run)


def _share(results: StudyResults, run: Case) -> str:
    solved, seeds = _solved(results, run)
    return f"{solved}/{seeds}"


def _tabulate_far(results: StudyResults, length: int) -> Table:
    columns = {
        f"{head} {length}": (metric, {"n": length})
        for head, metric in (("Accuracy", "accuracy"), ("Overflow", "overflow"))
    }
    shown = _table_of(
        f"far-{length}",
        f"Median accuracy at length n = {length}, on the strings whose logits are finite.",
        [(run, _median_at(results, run, length)) for run in _present(results)],
        "overflow: share of strings, over all seeds, whose logits are not finite.",
    )
    return replace(shown, numbers=plot.medians(results, shown.name, "", columns).numbers)


def _median_at(results: StudyResults, run: Case, length: int) -> str:
    known, lost = (
        rows.loc[rows["n"] == length, "value"]
        for rows in (_rows(results, metric, run) for metric in ("accuracy", "overflow"))
    )
    words = [f"{known.median():.2f}"] if len(known) else [] if len(lost) else ["n/a"]
    if lost.any():
        overflow = f"{100 * lost.mean():.0f} % overflow"
        words.append(f"({overflow})" if words else overflow)
    if failed := _failures(results, run):
        words.append(f"({failed} failed)")
    return " ".join(words)


def _failures(results: StudyResults, run: Case) -> int:
    variant = f"{run[1]}-{run[2]}"
    return sum(results.failures(arm, variant) for arm in _arms(results, run[0]))


def _anchor(results: StudyResults, metric: str, task: TaskName) -> dict[int, float]:
    rows = results.select(metric, case=task).sort_values("n")
    return {int(n): float(x) for n, x in zip(rows["n"], rows["value"], strict=True)}


def _within(results: StudyResults, metric: str, task: TaskName) -> dict[int, float]:
    """An anchor at the training lengths."""
    return {n: value for n, value in _anchor(results, metric, task).items() if n <= LONGEST}


FIGURES: plot.Figures = {
    "worst": plot.Drawn(
        _draw_worst,
        f"Accuracy at the worst of the training lengths, by task. {_SEEDS} A seed at or beyond the "
        "dash-dotted line has solved its task. The dashed line is the smallest Parikh ceiling of "
        "the training lengths. The worst of many noisy accuracies lies slightly below it even if "
        "the expected accuracy equals the ceiling at every length.",
    ),
    "solved": plot.Drawn(
        _draw_solved,
        "Number of seeds that solved their task / number of seeds. Darker fields have a larger "
        "share. Empty fields were not trained at this scale.",
    ),
    "accuracy": plot.Drawn(
        _draw_accuracy,
        "Accuracy on new strings against their length, by task (rows) and form of the state "
        f"(columns). {CURVES} The dashed line is the exact Parikh ceiling, the best accuracy of a "
        "classifier that sees only the numbers of a's and b's. The dotted line is the best "
        "constant answer. In the tasks A and B, accuracies and ceilings are balanced over the "
        "classes.",
    ),
}
