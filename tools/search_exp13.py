"""Search of learning rates and initial scales for the judged runs of exp13, on pilot seeds.

    python tools/search_exp13.py S3/gru associative/rope

Trains a run with the usual settings of the study and with the rates beside; then with the rates
beside the best one, until both are known; then the same with initial scales at that rate. A setting
is judged by the loss on validation rows after the last step, mean over the pilot seeds, which are
trained at once; ties keep the usual setting. Prints a line per trial, which
``journeylab/studies/exp13_published_mixers/trials.csv`` keeps. Without a run all runs are searched
that judged claims and their gates name. ``--steps`` and ``--layers`` train with the chosen settings
and another budget or depth than the task has; these lines choose nothing. ``--device cuda`` trains
on a GPU.
"""

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, TypeVar

import pandas as pd
import searching
import torch

from journeylab import catalogue, training
from journeylab.claims.effects import cells
from journeylab.claims.register import read_register
from journeylab.models.mixers.registry import build_mixer, operator_weights
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp13_published_mixers.data import generate
from journeylab.studies.exp13_published_mixers.models import Labelling, accuracy, mean_loss
from journeylab.studies.exp13_published_mixers.settings import Data, Job

SEEDS = (1000, 1001)
RATES = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)
SCALES = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Factors of the initial `operator_weights`; mechanisms without any have the factor 1 only."""
RATE, SCALE = 0.01, 1.0
"""Where the search begins, and the settings of runs that were not searched."""
TIE = 0.02
"""Nats by which another setting has to be better than the usual one. Losses of models that have not
begun to learn differ by less."""
Setting = TypeVar("Setting")


def prefer(losses: Mapping[Setting, float], usual: Setting) -> Setting:
    """The setting with the smallest loss; the usual one if it is within TIE of it."""
    best = min(losses, key=losses.__getitem__, default=usual)
    stays = losses.get(usual, float("inf")) <= losses.get(best, float("inf")) + TIE
    return usual if stays else best


PROJECT = Path(__file__).parents[1]
STUDY = "exp13"
Device = Literal["cpu", "cuda"]


def main(arguments: Sequence[str]) -> None:
    """Print the trials of the named runs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", metavar="ARM/VARIANT")
    parser.add_argument("--steps", type=int, help="another budget")
    parser.add_argument("--layers", type=int, help="another depth")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    options = parser.parse_args(arguments)
    training.prepare_process(threads=1)
    for run in options.runs or judged():
        arm, variant = run.split("/")
        job = settings(arm, variant)
        if options.steps or options.layers:
            asked = {"steps": options.steps or job.training.steps}
            job = changed(job, asked, {"layers": options.layers or job.model.layers})
            trial(job, arm, job.training.learning_rate, job.model.scale, options.device)
        else:
            search(job, arm, options.device)


def search(job: Job, arm: str, device: Device) -> None:
    """Find the rate, and then the scale."""
    rate = climb(RATES, RATE, lambda rate: trial(job, arm, rate, SCALE, device))
    mixer = build_mixer(job.variant, job.model.width, job.model.heads, generator=torch.Generator())
    if operator_weights(mixer):
        climb(SCALES, SCALE, lambda scale: trial(job, arm, rate, scale, device))


def climb(rungs: Sequence[float], usual: float, measure: Callable[[float], float]) -> float:
    """Measure the usual value and those beside the best, until both are known; return the best.

    Losses are at least zero: nothing is measured beside a usual value that no other could replace.
    """
    losses = {usual: measure(usual)}
    if losses[usual] <= TIE:
        return usual
    while True:
        best = prefer(losses, usual)
        place = rungs.index(best)
        beside = [each for each in rungs[max(place - 1, 0) : place + 2] if each not in losses]
        if not beside:
            return best
        losses |= {each: measure(each) for each in beside}


def judged() -> list[str]:
    """The runs that judged claims and their gates read."""
    claims = read_register(PROJECT / "claims").studies[STUDY]
    read = [cell for row in claims.claims if row.primary for cell in cells(row.terms)]
    read += [cell for gate in claims.gates.values() for cell in gate.cells]
    runs = dict.fromkeys(f"{cell.arm}/{cell.variant}" for cell in read)
    return [run for run in runs if not run.startswith("certificates/")]


def settings(arm: str, variant: str) -> Job:
    """The settings of a run."""
    study = catalogue.load(PROJECT / "config.yaml").studies[STUDY]
    return Job.model_validate(catalogue.resolve_run(STUDY, study, arm, variant).settings)


def changed(job: Job, budget: Mapping[str, float], model: Mapping[str, float]) -> Job:
    """The settings of a run with other values of its training and of its model."""
    sections = {
        "training": job.training.model_copy(update=budget),
        "model": job.model.model_copy(update=model),
    }
    return job.model_copy(update=sections)


@cache
def trial(job: Job, arm: str, rate: float, scale: float, device: Device) -> float:
    """Train one setting; print it and return its loss."""
    steps = job.training.steps
    job = changed(job, {"learning_rate": rate, "evaluate_every": steps}, {"scale": scale})
    streams = [Streams(STUDY, seed) for seed in SEEDS]
    problems = [
        Labelling(job, rows(arm, job.data, seed), stream)
        for seed, stream in zip(SEEDS, streams, strict=True)
    ]
    execution = training.choose_execution("batched", device, seeds=len(SEEDS), flops=0.0)
    label = f"{arm}/{job.variant}, {rate:g}, ×{scale:g}:"
    trained = searching.train(problems, job.training, streams, label, execution)
    reached = [evaluate(*each) for each in zip(problems, streams, trained, strict=True)]
    loss = sum(each[0] for each in reached) / len(reached)
    right = sum(each[1] for each in reached) / len(reached)
    cells = f"{job.model.layers},{steps},{scale},{rate:g},{loss:.4f},{right:.3f}"
    print(f"{arm},{job.variant},{cells}", flush=True)
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
