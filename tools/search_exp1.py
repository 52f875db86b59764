"""Search of learning rates and initial scales for the judged runs of exp1, on pilot seeds.

    python tools/search_exp1.py A/linear-aggregation S3/toral-product

Prints a line per run: the validation accuracy over all prefixes after the last step, mean over
the pilot seeds, at every point of one grid. ``--twice A/linear-aggregation=0.01`` prints it after
twice the steps at a point. ``journeylab/studies/exp1_group_languages/trials.csv`` keeps the lines.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import cache
from itertools import groupby, product

import pandas as pd
from searching import at_step, train

from journeylab import training
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp1_group_languages.data import generate
from journeylab.studies.exp1_group_languages.models import Recognition
from journeylab.studies.exp1_group_languages.settings import Data, Job, Model, Training

SEEDS = (1000, 1001)
STEPS = 1500
POINTS = {
    "0.003": (0.003, 1.0),
    "0.01 × ½": (0.01, 0.5),
    "0.01": (0.01, 1.0),
    "0.01 × 2": (0.01, 2.0),
    "0.03": (0.03, 1.0),
}
"""The grid: learning rate and initial scale, by printed name."""
FURTHER = {"0.1": (0.1, 1.0), "0.01 × 4": (0.01, 4.0)}
"""Points beyond the grid, for runs whose best point lies at an edge of it."""

GRID = POINTS | FURTHER


def main(arguments: Sequence[str]) -> None:
    """Print the lines of the named runs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="*")
    parser.add_argument("--twice", nargs="*", default=[])
    parser.add_argument("--points", nargs="*", default=list(POINTS))
    options = parser.parse_args(arguments)
    training.prepare_process(threads=1)
    for run in options.runs:
        found = accuracies(run, options.points, STEPS)
        print(run, *(f"{found[point]:.4f}" for point in options.points), sep=",", flush=True)
    for named in options.twice:
        run, _, point = named.partition("=")
        found = accuracies(run, [point], 2 * STEPS)
        print(run, point, "twice", f"{found[point]:.4f}", sep=",", flush=True)


def accuracies(run: str, points: Sequence[str], steps: int) -> dict[str, float]:
    """The mean validation accuracy by point; points of one rate are trained at once."""
    task, variant = run.split("/")
    means: dict[str, float] = {}
    for rate, group in groupby(sorted(points, key=rate_of), rate_of):
        settings = Training(steps=steps, learning_rate=rate, batch=128, evaluate_every=steps)
        replicates = list(product(group, SEEDS))
        jobs = [
            Job(
                variant=variant,
                task=task,
                data=Data(),
                model=Model(initial_scale=GRID[point][1]),
                training=settings,
            )
            for point, _ in replicates
        ]
        streams = [Streams("exp1", seed) for _, seed in replicates]
        problems = [
            Recognition(job, strings(seed), stream)
            for job, (_, seed), stream in zip(jobs, replicates, streams, strict=True)
        ]
        trained = train(problems, settings, streams, f"{run}, rate {rate}:")
        for (point, _), each in zip(replicates, trained, strict=True):
            accuracy = float(at_step(each, steps)["prefix_accuracy"])
            means[point] = means.get(point, 0.0) + accuracy / len(SEEDS)
    return means


def rate_of(point: str) -> float:
    """The learning rate of a point of the grid."""
    return GRID[point][0]


@cache
def strings(seed: int) -> pd.DataFrame:
    """The strings of a pilot seed."""
    return generate(Data(), data_streams("exp1", "strings", seed))


if __name__ == "__main__":
    main(sys.argv[1:])
