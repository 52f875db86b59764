"""Search rate and initial scale of exp8 on pilot seeds, one run after the other.

    python tools/search_exp8.py axial/discrete full/hybrid50
    python tools/search_exp8.py --finals axial/discrete full/hybrid50

Without ``--finals``, on one seed: every rate at scale 1, then every scale at the best rate; where
the best is at an edge of the grid, the next value beyond the edge as well. With ``--finals``, on
several seeds and with more steps: the two scales that were best, stronger sinusoids of a hybrid,
and half the rate, which is halved again while that is best. A run is judged by its training loss,
the mean over the last tenth of its steps; rates of optimal answers are printed and decide nothing.
Every line is a trial or a final as in ``search.py``.
"""

import argparse
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import torch

from journeylab.streams import Streams, data_streams
from journeylab.studies.exp8_value_embeddings.data import DATASET, generate
from journeylab.studies.exp8_value_embeddings.decoding import decode, judge
from journeylab.studies.exp8_value_embeddings.models import Assignment, predict
from journeylab.studies.exp8_value_embeddings.search import (
    FINAL_STEPS,
    FINALISTS,
    PILOT,
    PILOTS,
    RATES,
    SCALES,
    STEPS,
    WAVES,
    ranked,
)
from journeylab.studies.exp8_value_embeddings.settings import Data, Job
from journeylab.training import train

LADDER = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


def finals(arm: str, variant: str) -> None:
    """Train the best settings of a run on several pilot seeds."""
    trials = ranked(arm, variant)
    waves, rate = WAVES[0], trials[0].rate
    scales = [trial.scale for trial in trials if trial.rate == rate][:FINALISTS]
    scores = {scale: final(arm, variant, scale, waves, rate) for scale in scales}
    scale = min(scores, key=scores.__getitem__)
    loss = scores[scale]
    for stronger in WAVES[1:] if variant.startswith("hybrid") else ():
        if (reached := final(arm, variant, scale, stronger, rate)) >= loss:
            break
        waves, loss = stronger, reached
    while (reached := final(arm, variant, scale, waves, rate / 2)) < loss:
        rate, loss = rate / 2, reached


def final(arm: str, variant: str, scale: float, waves: float, rate: float) -> float:
    """The mean loss of a setting over the pilot seeds of finals; printed."""
    steps = FINAL_STEPS[arm]
    sizes = {"scale": scale, "waves": waves}
    losses = [measure(arm, variant, rate, sizes, steps, seed)[0] for seed in PILOTS]
    printed = ", ".join(f"{loss:.4f}" for loss in losses)
    cells = f"{steps}, {float(scale)}, {float(waves)}, {rate:g}, ({printed})"
    print(f'("{arm}", "{variant}", {cells}),', flush=True)
    return float(np.mean(losses))


def first(runs: list[str]) -> None:
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
    loss, rates = measure(arm, variant, rate, {"scale": scale}, STEPS[arm], PILOT)
    cells = f"{float(scale)}, {rate:g}, {loss:.4f}, {rates[0]:.3f}, {rates[1]:.3f}"
    print(f'("{arm}", "{variant}", {STEPS[arm]}, {cells}),', flush=True)
    return loss


def measure(
    arm: str, variant: str, rate: float, sizes: Mapping[str, float], steps: int, seed: int
) -> tuple[float, list[float]]:
    """Train one setting; return its loss and its rates of optimal answers."""
    training = {"steps": steps, "learning_rate": rate, "weight_decay": 0.01}
    job = Job.model_validate(
        {
            "variant": variant,
            "attention": arm,
            "data": Data(),
            "model": sizes,
            "training": training | {"evaluate_every": steps // 10},
        }
    )
    streams = Streams("exp8", seed)
    problem = Assignment(job, generate(job.data, data_streams("exp8", DATASET, seed)), streams)
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
    return loss, rates


if __name__ == "__main__":
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", metavar="ARM/VARIANT")
    parser.add_argument("--finals", action="store_true", help="the best settings on other seeds")
    chosen = parser.parse_args()
    if chosen.finals:
        for run in chosen.runs:
            finals(*run.split("/"))
    else:
        first(chosen.runs)
