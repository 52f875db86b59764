"""Search of learning rates and initial scales for the judged runs of exp2, on a pilot seed.

    python tools/search_exp2.py M100-sorted/rope relations/operator
    python tools/search_exp2.py --points 0.003 --factor 2 M100-sorted/rope

Prints a line per run: the held-out accuracy in the order of training after the last step, at every
point of one grid; ``--factor 2`` trains for twice the steps. No accuracy in the other order and no
flip is measured. ``journeylab/studies/exp2_shuffled_kb/search.py`` keeps the lines.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from itertools import groupby, product
from pathlib import Path

import pandas as pd
import torch

from journeylab import training
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp2_shuffled_kb.data import arrange, generate
from journeylab.studies.exp2_shuffled_kb.models import Retrieval, all_questions
from journeylab.studies.exp2_shuffled_kb.search import POINTS, SEEDS, STEPS
from journeylab.studies.exp2_shuffled_kb.settings import Job, Lookups, Model, Relations, Training


def main(arguments: Sequence[str]) -> None:
    """Print the lines of the named runs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--points", nargs="*", default=list(POINTS))
    parser.add_argument("--factor", type=int, default=1)
    options = parser.parse_args(arguments)
    training.prepare_process(threads=1)
    for run in options.runs:
        found = accuracies(run, options.points, options.factor)
        print(run, *(f"{found[point]:.4f}" for point in options.points), sep=",", flush=True)


def accuracies(run: str, points: Sequence[str], factor: int) -> dict[str, float]:
    """The mean held-out accuracy by point; points of one rate are trained at once."""
    arm, variant = run.split("/")
    size, _, order = arm.removeprefix("M").partition("-")
    means: dict[str, float] = {}
    for rate, group in groupby(sorted(points, key=rate_of), rate_of):
        steps = factor * STEPS[size]
        settings = Training(steps=steps, learning_rate=rate, evaluate_every=steps)
        replicates = list(product(group, SEEDS))
        conditions = {"data": Relations(task="relations")} if arm == "relations" else lookup(size)
        problems = []
        for point, seed in replicates:
            model = Model(initial_scale=POINTS[point][1])
            job = Job(
                variant=variant,
                model=model,
                training=settings,
                order=order or "shuffled",
                **conditions,
            )
            problems.append(Retrieval(job, repositories(job.task, seed), Streams("exp2", seed)))
        with tempfile.TemporaryDirectory() as folder:
            trained = training.train_seeds(
                problems,
                settings,
                [problem.streams for problem in problems],
                Path(folder),
                training.Execution("batched", "cpu"),
                label=f"{run}, rate {rate}:",
                identity="search",
            )
        for (point, _), problem, each in zip(replicates, problems, trained, strict=True):
            means[point] = means.get(point, 0.0) + accuracy(problem, each) / len(SEEDS)
    return means


def accuracy(problem: Retrieval, trained: training.Trained) -> float:
    """The held-out accuracy in the order of training."""
    episodes = arrange(problem.held_out, problem.job.order)
    questions = all_questions(episodes)
    model = problem.build(problem.streams.generator("init"))
    model.load_state_dict(trained.state)
    with torch.no_grad():
        answers = model(episodes, questions).argmax(-1)
    return float((answers == questions.answers).double().mean())


def lookup(size: str) -> dict[str, object]:
    """The conditions of a lookup among ``size`` entries."""
    return {"data": Lookups(task="lookup", sizes=(20, 50, 100)), "size": int(size)}


def rate_of(point: str) -> float:
    """The learning rate of a point of the grid."""
    return POINTS[point][0]


@cache
def repositories(task: str, seed: int) -> pd.DataFrame:
    """The held-out repositories of a pilot seed."""
    if task == "relations":
        return generate(Relations(task="relations"), data_streams("exp2", "relations", seed))
    lookups = Lookups(task="lookup", sizes=(20, 50, 100))
    return generate(lookups, data_streams("exp2", "keys", seed))


if __name__ == "__main__":
    main(sys.argv[1:])
