"""Figures of exp13."""

from journeylab import plotting as plot
from journeylab.plotting.captions import AS_BEFORE, SEEDS
from journeylab.studies.exp13_published_mixers import panels
from journeylab.studies.exp13_published_mixers.metrics import FAMILIES, LABELS
from journeylab.studies.exp13_published_mixers.settings import WORD_TASKS
from journeylab.studies.exp13_published_mixers.tables import SOLVED, numbers, tabulate, tasks

_BUDGETS = (
    "Runs in bold have a searched rate and scale; others have the usual ones, so that a low "
    "value can come from its rate."
)
_FAMILIES = f"Lines separate, from above: {'; '.join(FAMILIES)}."
[_ALIKE] = plot.styles(["every mechanism"]).values()  # each has a row of its own


def _by_task(caption: str, *, words: bool) -> plot.Drawn:
    """Accuracy of all mechanisms on word problems, or on the other tasks."""
    return plot.multiples(
        caption,
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
    "solved": plot.Drawn(
        panels.draw_solved,
        "Number of seeds that solved a task, of all seeds, and in brackets also at four times the "
        f"length: accuracy {SOLVED} or more in the second half of rows as long as the longest "
        "training rows, n, and 4n; grey was not trained, ✗ counts failed seeds, * marks four times "
        "the steps. Runs that an open claim reads have up to 36 seeds, others 12; failed seeds "
        "have not solved their task. Colour is the share of seeds. White fields were trained and "
        "no seed reached the threshold, though accuracies can be far above chance (see the next "
        "figures). Word problems, "
        "parity and arithmetic have one layer, flip-flop and recall have two. The last column is "
        "the cost of a mechanism: thousand floating-point operations of a forward pass per "
        "token, one layer, rows of 32 tokens. Blocks have equal numbers of parameters, not equal "
        f"cost. {_BUDGETS} {_FAMILIES}",
    ),
    "both": plot.multiples(
        "State and memory: accuracy at length n on the word problem of A5, with one layer, and "
        "on recall of sixteen pairs, with two, of all mechanisms that were trained on both. "
        f"{SEEDS} The dotted line is the best constant answer on A5, the dashed one the most "
        "frequent value of a row of recall. The two networks of a mechanism were trained "
        "separately, each with its own settings, so that the figure compares mechanisms as "
        "trained here, not what they can represent.",
        "accuracy",
        lambda results: {"times": 1, **panels.on_both(results)},
        rows=panels.worse_task_first,
        height=(0.9, 0.2),
        labels=("accuracy", ""),
        lines=panels.floors_of_both,
        hue="data",
        xlim=(-0.04, 1.04),
    ),
    "words": _by_task(
        f"Accuracy on word problems at length n, by group. {AS_BEFORE} The dashed line is the "
        "exact Parikh ceiling, the best accuracy of any answer that depends on the numbers of "
        "the two letters only; the dotted line is the best constant answer. Both are means over "
        f"the same positions as the accuracy; the last line is {SOLVED}.",
        words=True,
    ),
    "others": _by_task(
        f"Accuracy at length n on the tasks that are no word problem. {AS_BEFORE} Dotted: the "
        "best constant answer on parity and arithmetic; on flip-flop the bit that was written "
        "most often so far, on recall the most frequent value of the row. Neither uses which "
        f"write was the last, or which key has which value. The last line is {SOLVED}.",
        words=False,
    ),
    "length": plot.Drawn(
        panels.draw_length,
        "Accuracy in percent, median over the seeds that finished, in the second half of rows of "
        "n, 2n and 4n tokens; training rows have at most n. On recall, rows of n have 16 pairs "
        "and longer ones 32. The last two rows are the floors and the ceilings of the figures "
        "before. Grey fields were not trained; ✗ counts failed seeds, which have no accuracy. "
        f"{_BUDGETS} {_FAMILIES}",
    ),
}
