"""Figures, tables and printed numbers of exp10."""

from collections.abc import Collection
from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from journeylab import plotting as plot
from journeylab.plotting import StudyResults, Table
from journeylab.plotting.captions import CURVES, SEEDS
from journeylab.studies.exp10_circuit_encoders.circuits import (
    degrees,
    enumerate_circuits,
    operation_types,
    values,
    write,
)
from journeylab.studies.exp10_circuit_encoders.document import audit
from journeylab.studies.exp10_circuit_encoders.metrics import (
    ARMS,
    CONVENTIONS,
    ENCODERS,
    LABELS,
    METRICS,
)
from journeylab.wording.typography import fixed, scientific

_CHOSEN = plot.read_trials(__file__).query("chosen == '*'")
_RUNS = _CHOSEN.astype({"value": float}).groupby(["arm", "variant"])["value"]
_GAIN = fixed(float((_RUNS.last() - _RUNS.first()).max()), 3)
"""What twice the steps add to the accuracy of a judged encoder, at most."""

_TRAINED = tuple(arm for arm in ARMS if arm != "audit")
_HEADS = tuple(arm for arm in ARMS if arm.startswith("heads-"))
_LAST = tuple(arm for arm in _TRAINED if arm not in _HEADS)
_CHECKS: dict[str, tuple[str, ...]] = {
    "printed_off": ("matrix", "convention"),
    "printed_off_moved": ("matrix",),
    "token_error_moved": ("example",),
    "one_hot_control": (),
    "misread_control": (),
    "memory_ratio": ("part",),
    "weight_gap": ("part",),
    "equivalence_error": (),
    "equivalence_control": (),
    "padding_error": (),
    "padding_control": (),
}
_ENCODINGS = ("Encodings", "Polynomials per encoding", "Rank", "Best degree", "Best value")


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Accuracies with their anchors, the search, encodings, impossible cells, confused circuits."""
    return {
        "accuracies": plot.medians(
            results,
            "accuracies",
            "Median accuracies over the seeds, on the test split unless stated.",
            {
                "Accuracy": ("accuracy", {}),
                "Training": ("train_accuracy", {}),
                "Ceiling": ("blind_ceiling", {}),
                "Learned rule": ("blind_rule", {}),
                "Most frequent": ("commonest", {}),
            },
            notes="Training: on the training split. Ceiling: of any answer that depends on the "
            "types of the operations only, exact for this test split; learned rule: of the best "
            "such answer on the training split; most frequent: of the most frequent answer there. "
            "They are medians over the seeds of the row, whose number differs.",
        ),
        "checks": plot.ranges(results, METRICS, _CHECKS),
        "search": plot.tabulate_trials(
            results,
            __file__,
            "accuracy",
            "Search of learning rate and initial spread (scale) of the judged encoders.",
            "They have the highest test accuracy of pilot seed 1000, or are 0.003 and 0.3 if these "
            "are within 0.005 of it. Rates first, from 0.003 and 0.01 on at the spread 0.3, then "
            "spreads at the best rate, from 0.1, 0.3 and 1 on, each in the better direction until "
            "nothing is gained; then twice the steps at the chosen setting.",
        ),
        "encodings": Table(
            name="encodings",
            caption="Possible encodings, by enumeration of all circuits.",
            frame=_encodings(results),
            notes="Polynomials per encoding: the largest number with one encoding; rank: of "
            "one-hot encodings with a column of ones; best: accuracy over all circuits of the best "
            "answer that depends on the encoding only, for the degree and for the value at (2, 3) "
            "modulo 5.",
            numeric=_ENCODINGS,
        ),
        "cells": _cells(),
        "confused": _confused(),
    }


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """Median accuracies and anchors, counts, and the largest errors; “n/a” if not run."""
    values = plot.cited(
        results, "accuracy.{arm}.{variant}", "accuracy", arm=_TRAINED, variant=LABELS
    )
    for arm in _TRAINED:
        for metric in ("blind_ceiling", "blind_rule", "commonest"):
            values[f"{metric}.{arm}"] = fixed(results.anchor(metric, arm=arm), 3)
    lifts = results.select("blind_lift")
    for (family, task), [lift] in lifts.groupby(["family", "task"], observed=True)["value"]:
        values[f"lift.{family}.{task}"] = fixed(float(lift), 3)
    values["twice.most"] = _GAIN
    for metric in ("circuits", "functions"):
        values[metric] = int(results.select(metric)["value"].iloc[0])
    for encoder in ENCODERS:
        for metric in ("distinct", "functions_per_encoding", "feature_rank"):
            [value] = results.select(metric, encoder=encoder)["value"]
            values[f"{metric}.{encoder}"] = int(value)
    for metric in ("equivalence_error", "padding_error"):
        values[f"{metric}.max"] = scientific(float(results.select(metric)["value"].max()))
    for metric in ("equivalence_control", "padding_control"):
        values[f"{metric}.min"] = scientific(float(results.select(metric)["value"].min()))
    off = results.select("printed_off")
    for (matrix, convention), cells in off.groupby(["matrix", "convention"])["value"]:
        values[f"off.{matrix}.{convention}"] = int((cells > 0).sum())
    for part in ("input", "weights"):
        [ratio] = results.select("memory_ratio", part=part)["value"]
        values[f"memory.{part}"] = fixed(float(ratio), 3)
    return values


def _draw_accuracy(arms: Collection[str], results: StudyResults) -> Figure | None:
    rows = results.tidy("accuracy", arm=results.trained(arms))
    rows["model"] = rows["model"].cat.remove_unused_categories()
    return plot.panels(
        results,
        rows,
        0.75 + 0.13 * rows["model"].nunique(),
        "accuracy",
        lines=partial(_lines, results),
        col="data",
        xlim=(0.0, 1.05),
    )


def _lines(results: StudyResults, _: str, part: pd.DataFrame) -> plot.Lines:
    known = {"wiring-blind ceiling": "blind_ceiling", "most frequent answer": "commonest"}
    arm = part["arm"].iloc[0]
    return {name: results.anchor(metric, arm=arm) for name, metric in known.items()}


def _encodings(results: StudyResults) -> pd.DataFrame:
    rows = []
    for encoder, title in ENCODERS.items():
        counts = [
            str(int(results.select(metric, encoder=encoder)["value"].iloc[0]))
            for metric in ("distinct", "functions_per_encoding", "feature_rank")
        ]
        best = (
            results.select("ceiling", encoder=encoder, task=task)["value"].iloc[0]
            for task in ("degree", "value")
        )
        rows.append([title, *counts, *(fixed(float(value), 3) for value in best)])
    return pd.DataFrame(rows, columns=["Encoder", *_ENCODINGS])


def _cells() -> Table:
    """Every printed entry that is impossible under some convention."""
    rows = []
    for cell in audit():
        if cell.error():
            possible = " or ".join(_hundredths(n) for n in dict.fromkeys((cell.least, cell.most)))
            entry = f"{cell.matrix}[{cell.row}, {cell.column}]"
            rows.append([CONVENTIONS[cell.convention], entry, _hundredths(cell.printed), possible])
    numeric = ("Printed", "Possible")
    frame = pd.DataFrame(rows, columns=["Convention", "Entry", *numeric])
    return Table(
        name="cells",
        caption="Printed entries of the worked example that are impossible.",
        frame=frame,
        notes="For every convention of printing, all other entries are possible. Indices start at "
        "0. Every entry of X is possible, because each row of X contains a free row of the node "
        "table.",
        numeric=numeric,
    )


def _confused() -> Table:
    """For each sequence of types, a circuit of the smallest and a circuit of the largest degree."""
    circuits = enumerate_circuits()
    group, degree, value = operation_types(circuits), degrees(circuits), values(circuits)
    rows = []
    for types in range(group.max() + 1):
        members = (group == types).nonzero()[0]
        for n in members[degree[members].argmin()], members[degree[members].argmax()]:
            rows.append([write(circuits[n]), str(degree[n]), str(value[n])])
    numeric = ("Degree", "Value")
    return Table(
        name="confused",
        caption="Pairs of circuits with the same encoding in the document.",
        frame=pd.DataFrame(rows, columns=["Circuit", *numeric]),
        notes="A pair for each of the eight encodings: equal types, values and node indices. "
        "Value: of the circuit at (2, 3), modulo 5.",
        numeric=numeric,
    )


def _hundredths(number: int) -> str:
    return fixed(number / 100, 2)


FIGURES: plot.Figures = {
    "accuracy": plot.Drawn(
        partial(_draw_accuracy, _LAST),
        f"Accuracy on the test split, of encoders to which twice the steps would add up to {_GAIN} "
        f"(one pilot seed). {SEEDS} Vertical lines are medians over seeds: of the exact ceiling of "
        "any answer that depends on the types of the operations but not on their inputs, and of "
        "the most frequent answer in training.",
    ),
    "heads": plot.Drawn(
        partial(_draw_accuracy, _HEADS),
        "Accuracy on the test split for degrees, with other heads: the mean over nodes, attention "
        "pooling, or a special token. Symbols and lines as before.",
    ),
    "learning": plot.Drawn(
        lambda results: plot.panels(
            results,
            results.learning("accuracy", arm=results.trained(_LAST)),
            2.4,
            "step",
            "accuracy",
            form=plot.curves,
            lines=partial(_lines, results),
            col="data",
            sharex=False,
            ylim=(0.0, 1.05),
        ),
        f"Accuracy on the test split against the training step. {CURVES} The horizontal lines are "
        "those of the first figure.",
    ),
}
