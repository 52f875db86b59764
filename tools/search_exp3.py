"""Search of learning rates and initial scales for the judged probes of exp3, on pilot seeds.

``python tools/search_exp3.py`` (about 10 CPU-minutes) prints the rows that
``journeylab/studies/exp3_order_information/trials.csv`` keeps: the mean held-out accuracy of every
judged probe at every point of one grid, and after twice the steps at the best point of the length.

Only the judged lengths are trained, because the probes of different lengths share no parameter.
"""

import sys
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby, product
from typing import NamedTuple

import pandas as pd
import searching

from journeylab import training
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp3_order_information import models
from journeylab.studies.exp3_order_information.data import generate
from journeylab.studies.exp3_order_information.settings import Data, Job, Model, Training

SEEDS = (1000, 1001)
TIE = 0.01
"""A difference of mean accuracy that is too small to leave the settings of the study.

At N = 8 the standard error of an accuracy is 0.015 (64 strings of 8 positions, two seeds). It
was set when the search was known: at 0.005, {0, 1} with two colours and d = 4 would have rate 0.1,
which is the edge of the grid. Rate 0.1 was added because 0.03 was best for four colours.
"""
POINTS = {
    "0.003": (0.003, 1.0),
    "0.01 × ½": (0.01, 0.5),
    "0.01": (0.01, 1.0),
    "0.01 × 2": (0.01, 2.0),
    "0.03": (0.03, 1.0),
    "0.1": (0.1, 1.0),
}
"""The grid: peak learning rate and initial scale, by printed name."""
CENTRE = "0.01"
RUN = ("C", "d", "frequencies")


def choose_points(
    table: pd.DataFrame, group: Sequence[str] = RUN, tie: float = TIE
) -> "pd.Series[str]":
    """The best point of the group of every row: the highest mean over its questions.

    The centre of the grid is chosen if it is within ``tie`` of the best.
    """
    grouped = table[list(POINTS)].astype(float).groupby([table[key] for key in group])
    means = grouped.transform("mean")
    best = means.idxmax(axis=1)
    return best.where(means.max(axis=1) - means[CENTRE] > tie, CENTRE)


STEPS = 2000
JUDGED = {  # (colours, d, N): the questions of each judged set of frequencies
    (2, 4, 8): {"as-shipped": ("position",)},
    (2, 4, 12): {"standard": ("position",)},
    (2, 4, 20): {"sum": ("count",), "as-shipped": ("position", "count"), "one-two": ("count",)},
    (2, 16, 12): {"sum": ("position",), "as-shipped": ("position",)},
    (2, 16, 20): {"standard": ("position",)},
    (3, 4, 20): {"sum": ("count",), "as-shipped": ("position", "count")},
    (4, 4, 20): {"sum": ("count",), "as-shipped": ("position", "count")},
}


class Probe(NamedTuple):
    """A probe of one length at one point of the grid."""

    case: tuple[int, int, int]
    variant: str
    point: str


def main() -> None:
    """Print the table."""
    training.prepare_process(threads=1)
    rows = [
        (*case, variant, question)
        for case, variants in JUDGED.items()
        for variant, questions in variants.items()
        for question in questions
    ]
    table = pd.DataFrame(rows, columns=["C", "d", "N", "frequencies", "question"])
    runs = list(dict.fromkeys((row[:3], row[3]) for row in rows))
    found = train([Probe(*run, point) for run, point in product(runs, POINTS)], STEPS)
    for point in POINTS:
        table[point] = [found[Probe(row[:3], row[3], point)][row[4]] for row in rows]
    best = choose_points(table, [*RUN, "N"], tie=0.0)
    last = [Probe(row[:3], row[3], point) for row, point in zip(rows, best, strict=True)]
    twice = train(list(dict.fromkeys(last)), 2 * STEPS)
    table["twice"] = [twice[probe][row[4]] for probe, row in zip(last, rows, strict=True)]
    table.to_csv(sys.stdout, index=False, float_format="%.4f")


def train(probes: Iterable[Probe], steps: int) -> dict[Probe, dict[str, float]]:
    """Mean held-out accuracies over the pilot seeds, by probe and question.

    Probes of one architecture and one rate are trained at once.
    """
    accuracies: dict[Probe, dict[str, float]] = {}

    def together(probe: Probe) -> tuple[tuple[int, int, int], float]:
        return probe.case, POINTS[probe.point][0]

    for (case, rate), group in groupby(sorted(probes, key=together), together):
        colours, d, length = case
        models.LENGTHS, models.LONGEST = (length,), length
        settings = Training(
            steps=steps, learning_rate=rate, warmup=50, strings=64, clip=1e6, evaluate_every=steps
        )
        replicates = list(product(group, SEEDS))
        problems = []
        for probe, seed in replicates:
            model = Model(initial_scale=POINTS[probe.point][1])
            fixed = {"colours": colours, "d": d, "variant": probe.variant, "data": Data()}
            job = Job(**fixed, model=model, training=settings)
            problems.append(models.ProbeTraining(job, dataset(seed)))
        streams = [Streams("exp3", seed) for _, seed in replicates]
        label = f"C = {colours}, d = {d}, N = {length}, rate {rate}:"
        trained = searching.train(problems, settings, streams, label)
        for (probe, _), each in zip(replicates, trained, strict=True):
            last = searching.at_step(each, steps)
            means = accuracies.setdefault(probe, dict.fromkeys(("position", "count"), 0.0))
            for question in means:
                means[question] += float(last[f"{question}_accuracy_{length}"]) / len(SEEDS)
    return accuracies


@cache
def dataset(seed: int) -> pd.DataFrame:
    """The values and strings of a pilot seed."""
    return generate(Data(), data_streams("exp3", "strings", seed))


if __name__ == "__main__":
    main()
