"""Search the learning rates of exp7 on pilot worlds, with the steps of the study.

    python tools/search_exp7.py native/A 7b-held/B 7b-held/C
    python tools/search_exp7.py --scales native/A

Prints a line for every setting: run, scale of the initial embeddings, rate, and for every pilot
world the perplexity of the taught facts (tier 1, template 0) and the training loss. Where all rates
that count as equal to the best are at an edge of the grid, the next one beyond is tried as well.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch

from journeylab import catalogue
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp7_native_kg.data import generate
from journeylab.studies.exp7_native_kg.models import problem as problem_of
from journeylab.studies.exp7_native_kg.settings import Data, Job
from journeylab.training.loop import train

SCALE_PILOT, SCALE_STEPS, SCALE_RATE = 1000, 1200, 0.002
SCALES = (0.03, 0.1, 0.3)
PILOTS = (1000, 1001)
RATES = (0.002, 0.004, 0.008)
EQUAL = 1.01
"""Perplexities up to this multiple of the smallest count as equal to it."""


def main(name: str, scales: bool) -> None:
    """Search one run."""
    settings = catalogue.load(Path("config.yaml")).studies["exp7"]
    job = catalogue.trained_job(
        "exp7", catalogue.resolve_run("exp7", settings, *name.split("/")).settings
    )
    assert isinstance(job, Job)
    if scales:
        for scale in SCALES:
            trial(name, job, scale, SCALE_RATE, SCALE_STEPS, [SCALE_PILOT])
        return
    scale, steps = job.model.embedding_scale, job.training.steps
    tried = {rate: trial(name, job, scale, rate, steps, PILOTS) for rate in RATES}
    while set(equal(tried)) <= {min(tried), max(tried)}:
        rate = min(tried) / 2 if min(tried) in equal(tried) else max(tried) * 2
        tried[rate] = trial(name, job, scale, rate, steps, PILOTS)


def equal(tried: dict[float, float]) -> list[float]:
    """The rates whose perplexity counts as equal to the smallest."""
    return [rate for rate, value in tried.items() if value <= EQUAL * min(tried.values())]


def trial(
    name: str, job: Job, scale: float, rate: float, steps: int, pilots: Sequence[int]
) -> float:
    """Train one setting on every pilot world; print it and return its mean perplexity."""
    changed = {"steps": steps, "learning_rate": rate, "evaluate_every": steps}
    tried = job.model_copy(
        update={
            "model": job.model.model_copy(update={"embedding_scale": scale}),
            "training": job.training.model_copy(update=changed),
        }
    )
    perplexities, losses = [], []
    for seed in pilots:
        streams = Streams("exp7", seed)
        world = generate(Data(), data_streams("exp7", "world", seed))
        with tempfile.TemporaryDirectory() as folder:
            problem = problem_of(tried, world, streams)
            trained = train(problem, tried.training, streams, Path(folder) / "checkpoint")
        last = trained.curve.groupby("metric")["value"].last()
        perplexities.append(float(last["perplexity_T1"]))
        losses.append(float(last["loss"]))
    cells = (
        " ".join(f"{value:.{digits}f}" for value in values)
        for values, digits in ((perplexities, 4), (losses, 3))
    )
    print(name, f"{scale:g} {rate:g}", *cells, flush=True)
    return sum(perplexities) / len(perplexities)


if __name__ == "__main__":
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", metavar="ARM/VARIANT")
    parser.add_argument("--scales", action="store_true", help="scales of the initial embeddings")
    chosen = parser.parse_args()
    for run in chosen.runs:
        main(run, chosen.scales)
