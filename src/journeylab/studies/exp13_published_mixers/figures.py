"""Figures of exp13."""

from journeylab import plotting as plot
from journeylab.studies.exp13_published_mixers import panels
from journeylab.studies.exp13_published_mixers.settings import WORD_TASKS
from journeylab.studies.exp13_published_mixers.tables import LABELS, numbers, tabulate, tasks

[_ALIKE] = plot.styles(["every mechanism"]).values()  # each has a row of its own


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
        lines=panels.bounds,
        shown=dict.fromkeys(LABELS.values(), _ALIKE),
        col="data",
        col_wrap=3,
        xlim=(-0.04, 1.04),
    )


FIGURES: plot.Figures = {
    "solved": panels.draw_solved,
    "both": plot.multiples(
        "accuracy",
        lambda results: {"times": 1, **panels.on_both(results)},
        rows=panels.worse_task_first,
        height=(0.9, 0.25),
        labels=("accuracy", ""),
        lines=panels.floors_of_both,
        hue="data",
        xlim=(-0.04, 1.04),
    ),
    "words": _by_task(words=True),
    "others": _by_task(words=False),
    "length": panels.draw_length,
}
