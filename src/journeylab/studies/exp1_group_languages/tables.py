"""Tables of exp1, and the numbers of its prose that are no reductions of measurements."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from journeylab import plotting as plot
from journeylab.plotting import Columns, StudyResults, Table
from journeylab.studies.exp1_group_languages.settings import (
    FAR,
    LONGEST,
    SHORTEST,
    TASK_NAMES,
    VARIANTS,
    Arm,
    TaskName,
)
from journeylab.studies.exp1_group_languages.tasks import GENERATORS, TASKS, generate_group
from journeylab.wording.names import read_names

SOLVED = 0.99
"""The accuracy at the worst length from which on a task is solved."""
NAMES = read_names(Path(__file__).parent)
FAMILIES, FORMS = NAMES.words["families"], NAMES.words["forms"]
TITLES = {task: NAMES.arms[task] for task in TASK_NAMES}
"""The printed names of tasks, and their short ones."""
HEADS = {task: "B, #a = n/2" if task == "Bbal" else task for task in TASK_NAMES}


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Shares of solving seeds, accuracy far beyond the training lengths, and exact ceilings."""
    return {
        "solved": _by_case(results, lambda *run: "{}/{}".format(*solved(results, *run))),
        **{f"far-{length}": _tabulate_far(results, length) for length in FAR},
        "ceilings": _tabulate_ceilings(results),
    }


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Lengths, the threshold, and the numbers of elements of the groups."""
    del results
    orders = {f"order.{name}": len(generate_group(pair)) for name, pair in GENERATORS.items()}
    lengths = {"shortest": SHORTEST, "longest": LONGEST, "far.1": FAR[0]}
    return {**lengths, "solved.threshold": SOLVED, **orders}


def _by_case(
    results: StudyResults,
    cell: Callable[[TaskName, str], str],
    numbers: Mapping[str, float] | None = None,
) -> Table:
    """One row per family and form, one column per task."""
    rows = []
    for variant, (family, form) in VARIANTS.items():
        trained = [task for task in TASK_NAMES if solved(results, task, variant)[1]]
        cells = {HEADS[t]: cell(t, variant) if t in trained else "–" for t in TASK_NAMES}
        names = {"Family": FAMILIES[family], "Form": FORMS[form]}
        rows += [names | cells] if trained else []
    return plot.table(rows, words=2, numbers=numbers)


def _tabulate_ceilings(results: StudyResults) -> Table:
    lengths, rows = (SHORTEST, 20, 30, 40, LONGEST, *FAR), []
    for task in TASK_NAMES:
        if len(known := anchor(results, "ceiling", task)):
            kind = "balanced" if TASKS[task].balanced else "plain"
            shown = {str(n): f"{known[n]:.3f}" for n in lengths}
            rows.append({"Task": TITLES[task], "Accuracy": kind} | shown)
    return plot.table(rows, words=2)


def _tabulate_far(results: StudyResults, length: int) -> Table:
    heads = {f"Accuracy {length}": "accuracy", f"Overflow {length}": "overflow"}
    columns: Columns = {head: (metric, {"n": length}) for head, metric in heads.items()}
    return _by_case(
        results,
        lambda task, variant: _median_at(results, task, variant, length),
        plot.medians(results, columns).numbers,
    )


def _median_at(results: StudyResults, task: TaskName, variant: str, length: int) -> str:
    arms = _arms(results, task)
    known, lost = (
        results.pool(metric, variant=variant, arm=arms, n=length)["value"]
        for metric in ("accuracy", "overflow")
    )
    words = [f"{known.median():.2f}"] if len(known) else [] if len(lost) else ["n/a"]
    if lost.any():
        overflow = f"{100 * lost.mean():.0f} % overflow"
        words.append(f"({overflow})" if words else overflow)
    if failed := results.failures(arms, variant):
        words.append(f"({failed} failed)")
    return " ".join(words)


def solved(results: StudyResults, task: TaskName, variant: str) -> tuple[int, int]:
    """The number of solving seeds and of all seeds; a failed seed has not solved its task."""
    arms = _arms(results, task)
    values = results.pool("worst_accuracy", variant=variant, arm=arms)["value"]
    return int((values >= SOLVED).sum()), len(values) + results.failures(arms, variant)


def _arms(results: StudyResults, task: TaskName) -> list[str]:
    return [name for name, arm in results.arms_of(Arm).items() if arm.task == task]


def anchor(results: StudyResults, metric: str, task: TaskName) -> "pd.Series[float]":
    """A metric of the task itself, by length."""
    known = results.select(metric, case=task).reindex(columns=["n", "value"])
    return known.set_index("n")["value"].sort_index()
