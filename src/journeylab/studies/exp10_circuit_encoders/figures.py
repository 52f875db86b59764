"""Figures and tables of exp10, and the number of its prose that is no reduction of measurements."""

from journeylab import plotting as plot
from journeylab.config import Labels
from journeylab.plotting import StudyResults, Table
from journeylab.studies.exp10_circuit_encoders.circuits import (
    degrees,
    enumerate_circuits,
    operation_types,
    values,
    write,
)
from journeylab.studies.exp10_circuit_encoders.document import audit
from journeylab.wording.typography import fixed

_HEADS = ("heads-mean", "heads-attention", "heads-token")
_LAST = ("degree", "digits")
_ANCHORS = {"wiring-blind ceiling": "blind_ceiling", "most frequent answer": "commonest"}
_ENCODINGS: dict[str, tuple[str, dict[str, str], int]] = {
    "Encodings": ("distinct", {}, 0),
    "Polynomials per encoding": ("functions_per_encoding", {}, 0),
    "Rank": ("feature_rank", {}, 0),
    "Best degree": ("ceiling", {"task": "degree"}, 3),
    "Best value": ("ceiling", {"task": "value"}, 3),
}
"""Head of a column → metric, levels, and decimals."""


def tabulate(results: StudyResults) -> dict[str, Table]:
    """Encodings, impossible cells, and confused circuits."""
    return {
        "encodings": _encodings(results),
        "cells": _cells(results.names.words["conventions"]),
        "confused": _confused(),
    }


def numbers(results: StudyResults) -> dict[str, float | int | str]:
    """What more training would add."""
    return {"twice.most": plot.gain_of_longest(results)}


def _encodings(results: StudyResults) -> Table:
    rows = [
        {"Encoder": title}
        | {
            head: plot.median(results.pool(metric, encoder=encoder, **where)["value"], places)
            for head, (metric, where, places) in _ENCODINGS.items()
        }
        for encoder, title in results.names.words["encoders"].items()
    ]
    return plot.table(rows)


def _cells(conventions: Labels) -> Table:
    """Every printed entry that is impossible under some convention."""
    rows = [
        {
            "Convention": conventions[cell.convention],
            "Entry": f"{cell.matrix}[{cell.row}, {cell.column}]",
            "Printed": _hundredths(cell.printed),
            "Possible": " or ".join(map(_hundredths, dict.fromkeys((cell.least, cell.most)))),
        }
        for cell in audit()
        if cell.error()
    ]
    return plot.table(rows, words=2)


def _confused() -> Table:
    """For each sequence of types, a circuit of the smallest and a circuit of the largest degree."""
    circuits = enumerate_circuits()
    group, degree, value = operation_types(circuits), degrees(circuits), values(circuits)
    rows = []
    for types in range(group.max() + 1):
        members = (group == types).nonzero()[0]
        for n in members[degree[members].argmin()], members[degree[members].argmax()]:
            named = {"Circuit": write(circuits[n]), "Degree": str(degree[n])}
            rows.append(named | {"Value": str(value[n])})
    return plot.table(rows)


def _hundredths(number: int) -> str:
    return fixed(number / 100, 2)


def _by_encoder(arms: tuple[str, ...]) -> plot.Draw:
    return plot.multiples(
        "accuracy",
        {"arm": arms},
        height=(0.75, 0.13),
        labels=("accuracy", ""),
        lines=_ANCHORS,
        col="data",
        xlim=(0.0, 1.05),
    )


FIGURES: plot.Figures = {
    "accuracy": _by_encoder(_LAST),
    "heads": _by_encoder(_HEADS),
    "learning": plot.multiples(
        "accuracy",
        {"arm": _LAST},
        curve=True,
        height=2.4,
        labels=("step", "accuracy"),
        lines=_ANCHORS,
        col="data",
        sharex=False,
        ylim=(0.0, 1.05),
    ),
}
