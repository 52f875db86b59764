"""Search of learning rates and initial scales for the judged runs of exp2, on a pilot seed.

    python tools/search_exp2.py M100-sorted/rope relations/operator
    python tools/search_exp2.py --points 0.003 --factor 2 M100-sorted/rope

Prints a line per run: the held-out accuracy in the order of training after the last step, at every
point of one grid; ``--factor 2`` trains for twice the steps. All points are trained at once, each
with its own rate. No accuracy in the other order and no flip is measured. ``trials.csv``
keeps the lines.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path

import pandas as pd
import torch

from journeylab import training
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp2_shuffled_kb.data import arrange, generate
from journeylab.studies.exp2_shuffled_kb.models import Retrieval, all_questions
from journeylab.studies.exp2_shuffled_kb.settings import Job, Lookups, Model, Relations, Training
from journeylab.training.ensemble import Ensemble
from journeylab.training.loop import learn

SEEDS = (1000,)
RELATIONS, LOOKUPS = Relations(task="relations"), Lookups(task="lookup", sizes=(20, 50, 100))
STEPS = {"20": 3000, "50": 3000, "100": 4000, "relations": 6000}
POINTS = {
    "0.001": (0.001, 1.0),
    "0.003 × ½": (0.003, 0.5),
    "0.003": (0.003, 1.0),
    "0.003 × 2": (0.003, 2.0),
    "0.01": (0.01, 1.0),
    "0.03": (0.03, 1.0),
}
"""The grid: learning rate and initial scale, by printed name."""


def main(arguments: Sequence[str]) -> None:
    """Print the lines of the named runs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--points", nargs="*", default=list(POINTS))
    parser.add_argument("--factor", type=int, default=1)
    options = parser.parse_args(arguments)
    training.prepare_process(threads=1)
    for run in options.runs:
        reached = accuracies(run, options.points, options.factor)
        print(run, *(f"{reached[point]:.4f}" for point in options.points), sep=",", flush=True)


def accuracies(run: str, points: Sequence[str], factor: int) -> dict[str, float]:
    """The mean held-out accuracy by point."""
    arm, variant = run.split("/")
    size, _, order = arm.removeprefix("M").partition("-")
    steps = factor * STEPS[size]
    settings = Training(steps=steps, learning_rate=1.0, evaluate_every=steps)
    conditions = {"data": RELATIONS} if arm == "relations" else {"data": LOOKUPS, "size": int(size)}
    replicates = list(product(points, SEEDS))
    problems = []
    for point, seed in replicates:
        job = Job(
            variant=variant,
            model=Model(initial_scale=POINTS[point][1]),
            training=settings,
            order=order or "shuffled",
            **conditions,
        )
        problems.append(Retrieval(job, repositories(job.task, seed), Streams("exp2", seed)))
    learner = Grid(problems, settings, torch.tensor([[POINTS[p][0]] for p, _ in replicates]))
    with tempfile.TemporaryDirectory() as folder:
        trained = learn(learner, settings, Path(folder) / "state", f"{run}:", time.monotonic())
    means = dict.fromkeys(points, 0.0)
    for (point, _), problem, each in zip(replicates, problems, trained, strict=True):
        means[point] += accuracy(problem, each) / len(SEEDS)
    return means


class Grid(Ensemble):
    """Replicates with learning rates of their own, ``[replicates, 1]``."""

    def __init__(
        self, problems: Sequence[Retrieval], settings: Training, rates: torch.Tensor
    ) -> None:
        streams = [problem.streams for problem in problems]
        super().__init__(problems, settings, streams, "search", torch.device("cpu"))
        self.rates = rates

    def _step(self, batch: dict[str, torch.Tensor]) -> None:
        """A step at the rate of the schedule, whose peak is 1, times the rates of the replicates.

        The step of AdamW is linear in the rate.
        """
        before = [matrix.detach().clone() for matrix in self.stack.matrices]
        super()._step(batch)
        with torch.no_grad():
            for matrix, start in zip(self.stack.matrices, before, strict=True):
                matrix.copy_(start + self.rates * (matrix - start))


def accuracy(problem: Retrieval, trained: training.Trained) -> float:
    """The held-out accuracy in the order of training."""
    episodes = arrange(problem.held_out, problem.job.order)
    questions = all_questions(episodes)
    model = problem.build(problem.streams.generator("init"))
    model.load_state_dict(trained.state)
    with torch.no_grad():
        answers = model(episodes, questions).argmax(-1)
    return float((answers == questions.answers).double().mean())


@cache
def repositories(task: str, seed: int) -> pd.DataFrame:
    """The held-out repositories of a pilot seed."""
    data, dataset = (RELATIONS, task) if task == "relations" else (LOOKUPS, "keys")
    return generate(data, data_streams("exp2", dataset, seed))


if __name__ == "__main__":
    main(sys.argv[1:])
