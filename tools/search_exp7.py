"""Search rate and initial scale of exp7 on a pilot world, one setting after the other.

    python tools/search_exp7.py native/A 7b-held/B 7b-held/C

Prints a line for every setting: scale of the initial embeddings, rate, perplexity of the taught
facts (tier 1, template 0) after the steps of the search, training loss.
"""

import sys
import tempfile
from pathlib import Path

import torch

from journeylab import catalogue
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp7_native_kg.data import generate
from journeylab.studies.exp7_native_kg.models import problem as problem_of
from journeylab.studies.exp7_native_kg.search import GRID, PILOT, STEPS
from journeylab.studies.exp7_native_kg.settings import Data, Job
from journeylab.training.loop import train


def main(name: str) -> None:
    """Search one run."""
    settings = catalogue.load(Path("config.yaml")).studies["exp7"]
    job = catalogue.trained_job(
        "exp7", catalogue.resolve_run("exp7", settings, *name.split("/")).settings
    )
    assert isinstance(job, Job)
    streams = Streams("exp7", PILOT)
    world = generate(Data(), data_streams("exp7", "world", PILOT))
    for scale, rate in GRID:
        changed = {"steps": STEPS, "learning_rate": rate, "evaluate_every": STEPS}
        tried = job.model_copy(
            update={
                "model": job.model.model_copy(update={"embedding_scale": scale}),
                "training": job.training.model_copy(update=changed),
            }
        )
        with tempfile.TemporaryDirectory() as folder:
            problem = problem_of(tried, world, streams)
            trained = train(problem, tried.training, streams, Path(folder) / "checkpoint")
        last = trained.curve.groupby("metric")["value"].last()
        print(name, scale, rate, f"{last['perplexity_T1']:.3f} {last['loss']:.3f}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in sys.argv[1:]:
        main(name)
