"""Search of learning rates and depths for the judged runs of exp13, on pilot seeds.

    python tools/search_exp13.py S3/gru associative/rope

Prints a line per run: the accuracy in the second half of validation rows after the last step, mean
over the pilot seeds, at every point of one grid. Without a run it searches all runs that judged
claims name. ``--rates 0.003 0.01 --layers 1`` tries a part of the grid.
``journeylab/studies/exp13_published_mixers/search.py`` keeps the lines.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pandas as pd

from journeylab import catalogue, training
from journeylab.claims.register import cells, read_register
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp13_published_mixers.data import generate
from journeylab.studies.exp13_published_mixers.models import Labelling
from journeylab.studies.exp13_published_mixers.search import GRID, LAYERS, RATES, SEEDS, GridPoint
from journeylab.studies.exp13_published_mixers.settings import Data, Job

PROJECT = Path(__file__).parents[1]
STUDY = "exp13"


def main(arguments: Sequence[str]) -> None:
    """Print the lines of the named runs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="*")
    parser.add_argument("--rates", nargs="*", type=float, default=list(RATES))
    parser.add_argument("--layers", nargs="*", type=int, default=list(LAYERS))
    options = parser.parse_args(arguments)
    training.prepare_process(threads=1)
    for run in options.runs or judged():
        tried = {
            point: f"{accuracy(run, point):.3f}"
            for point in GRID
            if point.rate in options.rates and point.layers in options.layers
        }
        print(run, *(tried.get(point, "–") for point in GRID), sep=",", flush=True)


def judged() -> list[str]:
    """The runs that judged claims and their gates read."""
    claims = read_register(PROJECT / "claims").studies[STUDY]
    read = [cell for row in claims.claims if row.primary for cell in cells(row.terms)]
    read += [cell for gate in claims.gates.values() for cell in gate.cells]
    runs = dict.fromkeys(f"{cell.arm}/{cell.variant}" for cell in read)
    return [run for run in runs if not run.startswith("certificates/")]


def accuracy(run: str, point: GridPoint) -> float:
    """The accuracy at one point, mean over the pilot seeds, which are trained at once."""
    arm, variant = run.split("/")
    settings = catalogue.load(PROJECT / "config.yaml").studies[STUDY]
    resolved = catalogue.resolve_run(STUDY, settings, arm, variant).settings
    resolved["training"] |= {"learning_rate": point.rate}
    resolved["training"] |= {"evaluate_every": resolved["training"]["steps"]}
    resolved["model"] |= {"layers": point.layers}
    job = Job.model_validate(resolved)
    streams = [Streams(STUDY, seed) for seed in SEEDS]
    problems = [
        Labelling(job, rows(arm, job.data, seed), stream)
        for seed, stream in zip(SEEDS, streams, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        trained = training.train_seeds(
            problems,
            job.training,
            streams,
            Path(folder),
            training.Execution("batched", "cpu"),
            label=f"{run}, {point}:",
            identity="search",
        )
    curves = [each.curve[each.curve["metric"] == "accuracy"]["value"] for each in trained]
    # a seed that diverged has no accuracy: it has learned nothing
    return sum(0.0 if curve.empty else float(curve.iloc[-1]) for curve in curves) / len(curves)


@cache
def rows(dataset: str, data: Data, seed: int) -> pd.DataFrame:
    """The rows of a pilot seed."""
    return generate(data, data_streams(STUDY, dataset, seed))


if __name__ == "__main__":
    main(sys.argv[1:])
