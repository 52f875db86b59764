"""Figures of exp1."""

from functools import partial

from journeylab import plotting as plot
from journeylab.plotting.captions import CURVES, seed_dots
from journeylab.studies.exp1_group_languages import panels
from journeylab.studies.exp1_group_languages.metrics import FAMILY_LABELS, FORM_LABELS
from journeylab.studies.exp1_group_languages.settings import LONGEST, SHORTEST
from journeylab.studies.exp1_group_languages.tables import numbers, tabulate

FIGURES: plot.Figures = {
    "worst": plot.multiples(
        "Accuracy at the worst of the training lengths, by task; the Parikh ceiling is the best "
        "accuracy of a reader that only counts letters. "
        f"{seed_dots(lines='horizontal lines')} A seed at or beyond the "
        "dash-dotted line has solved its task. The dashed line is the smallest ceiling of "
        "the training lengths. The worst of many noisy accuracies lies slightly below it even if "
        "the expected accuracy equals the ceiling at every length.",
        "worst_accuracy",
        height=1.5,
        labels=("accuracy, worst length", ""),
        rows=panels.by_case,
        lines=panels.least_ceiling,
        shown=FORM_LABELS.values(),
        y="family",
        hue="form",
        col="title",
        col_wrap=3,
        xlim=(-0.04, 1.04),
    ),
    "solved": plot.Drawn(
        panels.draw_solved,
        "Number of seeds that solved their task / number of seeds. Darker fields have a larger "
        "share. Empty fields were not trained at this scale.",
    ),
    "accuracy": plot.multiples(
        "Accuracy on new strings against their length, by task (rows) and form of the state "
        f"(columns). {CURVES} The dashed line is the exact Parikh ceiling, the best accuracy of a "
        "classifier that sees only the numbers of a's and b's. The dotted line is the best "
        "constant answer. In the tasks A and B, accuracies and ceilings are balanced over the "
        "classes.",
        "accuracy",
        {"n": range(SHORTEST, LONGEST + 1)},
        height=1.1,
        labels=("length n", "accuracy"),
        rows=partial(
            panels.by_case,
            forms={"product": "product state (J = 0)", "aggregation": "aggregation (J = 1)"},
        ),
        form=plot.curves,
        lines=panels.anchors,
        shown=FAMILY_LABELS.values(),
        x="n",
        hue="family",
        row="title",
        col="form",
        ylim=(-0.04, 1.06),
        xlim=(SHORTEST - 1, LONGEST + 1),
    ),
}
