"""Search of learning rates and initial scales for the judged runs of exp13, on pilot seeds.

    python tools/search_exp13.py S3/gru associative/rope
    python tools/search_exp13.py --finals S3/gru associative/rope

Without ``--finals``: every rate and scale of one grid, for a quarter of the steps; where the
best rate is at an edge of the grid, the rate beside it as well. With it: the best two settings of a
run, as ``search.py`` of the study has them, for all steps. A line per trial is printed. A trial is
judged by the loss on validation rows after the last step, mean over the pilot seeds, which are
trained at once. Without a run all runs are searched that judged claims and their gates name.
``--layers 2`` tries another depth than the task has; it tells what depth does, and chooses nothing.
"""

import argparse
import math
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pandas as pd
import torch

from journeylab import catalogue, training
from journeylab.claims.register import cells, read_register
from journeylab.models.mixers.registry import build_mixer, operator_weights
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp13_published_mixers.data import generate
from journeylab.studies.exp13_published_mixers.models import Labelling, accuracy, mean_loss
from journeylab.studies.exp13_published_mixers.search import (
    FINALISTS,
    GRID_STEPS,
    RATES,
    SCALES,
    SEEDS,
    STEPS,
    WIDER,
    ranked,
)
from journeylab.studies.exp13_published_mixers.settings import Data, Job

PROJECT = Path(__file__).parents[1]
STUDY = "exp13"


def main(arguments: Sequence[str]) -> None:
    """Print the trials of the named runs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", metavar="ARM/VARIANT")
    parser.add_argument("--finals", action="store_true", help="the best settings, with all steps")
    parser.add_argument("--layers", type=int, help="another depth than that of the task")
    options = parser.parse_args(arguments)
    training.prepare_process(threads=1)
    for run in options.runs or judged():
        arm, variant = run.split("/")
        (finals if options.finals else search)(arm, variant, options.layers)


def search(arm: str, variant: str, layers: int | None) -> None:
    """Try the grid, and then the rate beside an edge."""
    job = settings(arm, variant, layers)
    mixer = build_mixer(variant, job.model.width, job.model.heads, generator=torch.Generator())
    scales = SCALES if operator_weights(mixer) else SCALES[:1]
    losses = {(rate, scale): trial(job, arm, rate, scale) for scale in scales for rate in RATES}
    best, scale = min(losses, key=losses.__getitem__)
    if best in (RATES[0], RATES[-1]):
        trial(job, arm, WIDER[0] if best == RATES[0] else WIDER[-1], scale)


def finals(arm: str, variant: str, layers: int | None) -> None:
    """Train the best settings of a run with all steps."""
    job = settings(arm, variant, layers)
    tried = ranked(arm, variant, job.model.layers)
    short = [each for each in tried if each.steps < STEPS]
    for each in short[:FINALISTS]:
        trial(job, arm, each.rate, each.scale, STEPS)


def judged() -> list[str]:
    """The runs that judged claims and their gates read."""
    claims = read_register(PROJECT / "claims").studies[STUDY]
    read = [cell for row in claims.claims if row.primary for cell in cells(row.terms)]
    read += [cell for gate in claims.gates.values() for cell in gate.cells]
    runs = dict.fromkeys(f"{cell.arm}/{cell.variant}" for cell in read)
    return [run for run in runs if not run.startswith("certificates/")]


def settings(arm: str, variant: str, layers: int | None) -> Job:
    """The settings of a run, with its own depth or another."""
    loaded = catalogue.load(PROJECT / "config.yaml").studies[STUDY]
    job = Job.model_validate(catalogue.resolve_run(STUDY, loaded, arm, variant).settings)
    model = job.model.model_copy(update={"layers": layers or job.model.layers})
    return job.model_copy(update={"model": model})


def trial(job: Job, arm: str, rate: float, scale: float, steps: int = GRID_STEPS) -> float:
    """Train one setting; print it and return its loss."""
    changed = job.training.model_copy(
        update={"steps": steps, "learning_rate": rate, "evaluate_every": steps}
    )
    model = job.model.model_copy(update={"scale": scale})
    job = job.model_copy(update={"training": changed, "model": model})
    streams = [Streams(STUDY, seed) for seed in SEEDS]
    problems = [
        Labelling(job, rows(arm, job.data, seed), stream)
        for seed, stream in zip(SEEDS, streams, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        trained = training.train_seeds(
            problems,
            changed,
            streams,
            Path(folder),
            training.Execution("batched", "cpu"),
            label=f"{arm}/{job.variant}, {rate:g}, ×{scale:g}:",
            identity="search",
        )
    reached = [evaluate(*each) for each in zip(problems, streams, trained, strict=True)]
    loss = sum(each[0] for each in reached) / len(reached)
    right = sum(each[1] for each in reached) / len(reached)
    cells = (steps, scale, rate, round(loss, 4), round(right, 3))
    print(f"        {(arm, job.variant, job.model.layers, *cells)},", flush=True)
    return loss


def evaluate(
    problem: Labelling, streams: Streams, trained: training.Trained
) -> tuple[float, float]:
    """The loss and the accuracy on validation rows; a seed that diverged has learned nothing."""
    if trained.status != "finished":
        return math.inf, 0.0
    model = problem.build(streams.generator("init"))
    model.load_state_dict(trained.state)
    rows = problem.validation
    with torch.no_grad():
        loss = float(mean_loss(model(rows.tokens), rows.labels))
    return loss if math.isfinite(loss) else math.inf, accuracy(model, rows)


@cache
def rows(dataset: str, data: Data, seed: int) -> pd.DataFrame:
    """The rows of a pilot seed."""
    return generate(data, data_streams(STUDY, dataset, seed))


if __name__ == "__main__":
    main(sys.argv[1:])
