"""Search rate and initial scale of exp8 on a pilot seed, one run after the other.

    python tools/search_exp8.py axial/discrete full/hybrid50

Trains every rate at scale 1, then every scale at the best rate. Where the best is at an edge of the
grid, the next value beyond the edge is trained as well. A run is judged by its training loss, the
mean over the last tenth of its steps; the rates of optimal answers are printed and decide nothing.
Every line is a trial as in ``search.py``: arm, variant, steps, scale, rate, loss, i.i.d., held-out.
"""

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch

from journeylab.streams import Streams, data_streams
from journeylab.studies.exp8_value_embeddings.data import DATASET, generate
from journeylab.studies.exp8_value_embeddings.decoding import decode, judge
from journeylab.studies.exp8_value_embeddings.models import Assignment, predict
from journeylab.studies.exp8_value_embeddings.search import PILOT, RATES, SCALES, STEPS
from journeylab.studies.exp8_value_embeddings.settings import Data, Job
from journeylab.training import train

LADDER = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


def main(runs: list[str]) -> None:
    """Search the rates of all runs at scale 1, then their scales."""
    pairs = [(arm, variant) for arm, variant in (run.split("/") for run in runs)]
    best: dict[tuple[str, str], tuple[float, float]] = {}
    for pair in pairs:
        losses = {rate: trial(*pair, rate, 1.0) for rate in RATES}
        rate = widen(losses, partial(trial, *pair, scale=1.0))
        best[pair] = rate, losses[rate]
    for pair in pairs:
        rate, loss = best[pair]
        by_scale = {s: loss if s == 1.0 else trial(*pair, rate, s) for s in SCALES}
        widen(by_scale, partial(trial, *pair, rate))


def widen(losses: dict[float, float], measure: Callable[[float], float]) -> float:
    """The best value; the grid grows by half a decade while its best is at an edge."""
    while (best := min(losses, key=losses.__getitem__)) in (min(losses), max(losses)):
        value = LADDER[LADDER.index(best) + (1 if best == max(losses) else -1)]
        losses[value] = measure(value)
    return best


def trial(arm: str, variant: str, rate: float, scale: float) -> float:
    """Train one setting; print it and return its loss."""
    steps = STEPS[arm]
    training = {"steps": steps, "learning_rate": rate, "weight_decay": 0.01}
    job = Job.model_validate(
        {
            "variant": variant,
            "attention": arm,
            "data": Data(),
            "model": {"scale": scale},
            "training": training | {"evaluate_every": steps // 10},
        }
    )
    streams = Streams("exp8", PILOT)
    problem = Assignment(job, generate(job.data, data_streams("exp8", DATASET, PILOT)), streams)
    with tempfile.TemporaryDirectory() as folder:
        trained = train(problem, job.training, streams, Path(folder) / "checkpoint")
    curve = trained.curve[trained.curve["metric"] == "train_loss"]["value"]
    loss = float(curve.iloc[-1]) if trained.status == "finished" else np.inf
    model = problem.build(streams.generator("init"))
    model.load_state_dict(trained.state)
    rates = []
    for test in ("iid", "held-out"):
        instances = problem.select(test)
        rates.append(judge(decode(predict(model, instances.shown), "row"), instances)["optimal"])
    cells = f"{float(scale)}, {rate:g}, {loss:.4f}, {rates[0]:.3f}, {rates[1]:.3f}"
    print(f'("{arm}", "{variant}", {steps}, {cells}),', flush=True)
    return loss


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(sys.argv[1:])
