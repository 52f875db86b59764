"""Figures of exp1."""

from functools import partial

from journeylab import plotting as plot
from journeylab.studies.exp1_group_languages import panels
from journeylab.studies.exp1_group_languages.settings import LONGEST, SHORTEST
from journeylab.studies.exp1_group_languages.tables import FAMILIES, FORMS, numbers, tabulate

FIGURES: plot.Figures = {
    "worst": plot.multiples(
        "worst_accuracy",
        height=1.5,
        labels=("accuracy, worst length", ""),
        rows=panels.by_case,
        lines=panels.least_ceiling,
        shown=FORMS.values(),
        y="family",
        hue="form",
        col="title",
        col_wrap=3,
        xlim=(-0.04, 1.04),
    ),
    "solved": panels.draw_solved,
    "accuracy": plot.multiples(
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
        shown=FAMILIES.values(),
        x="n",
        hue="family",
        row="title",
        col="form",
        ylim=(-0.04, 1.06),
        xlim=(SHORTEST - 1, LONGEST + 1),
    ),
}
