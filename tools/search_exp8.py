"""Search rate and initial scale of exp8 on pilot seeds, one run after the other.

    python tools/search_exp8.py axial/discrete full/hybrid50
    python tools/search_exp8.py --scales 0.001,0.01 axial/hybrid25
    python tools/search_exp8.py --finals --device cuda axial/discrete full/hybrid50

By default, on one seed: every rate at scale 1, then every scale at the best rate; where the best is
at an edge of the grid, the next value beyond the edge as well. With ``--scales``, only these scales
at the best rate that ``trials.csv`` has. With ``--finals``, on several seeds and with more steps:
the two scales that were best, stronger sinusoids of a hybrid, and half the rate, which is halved
again while that is best. A run is judged by its training loss, the mean over the last tenth of its
steps; rates of optimal answers are printed and decide nothing. Every line is a row of
``trials.csv``.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import searching

from journeylab import training
from journeylab.catalogue import study_folder
from journeylab.plotting import read_trials
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp8_value_embeddings.data import DATASET, generate
from journeylab.studies.exp8_value_embeddings.decoding import decode, judge
from journeylab.studies.exp8_value_embeddings.models import Assignment, predict
from journeylab.studies.exp8_value_embeddings.settings import Data, Job

PILOT, PILOTS = 1000, (1000, 1001, 1002)
"""The seed of the search, and the seeds of its finals. A table fails on some seeds only."""
RATES = (0.001, 0.003, 0.01)
SCALES = (0.3, 1.0, 3.0)
STUDY = study_folder("exp8")
STEPS = {"axial": 200, "full": 600}
"""Attention → steps of a run of the search."""
FINAL_STEPS = {"axial": 800, "full": 800}
"""The same for finals: all steps of the study with axial attention, a quarter of them with full."""
FINALISTS = 2
"""Initial scales of an embedding in the finals."""
WAVES = (1.0, 3.0, 10.0)
"""Root mean squares of the sinusoids of a hybrid: each is tried while the one before is best."""


def ranked(arm: str, variant: str) -> list[tuple[float, float]]:
    """The rates and scales that were tried on one pilot seed, the smallest loss first."""
    trials = read_trials(STUDY / "trials.csv").query("arm == @arm and variant == @variant")
    tried = trials[trials["steps"] == str(STEPS[arm])].astype({"value": float})
    points = tried.sort_values("value", kind="stable")[["rate", "scale"]].astype(float)
    return list(points.itertuples(index=False, name=None))


LADDER = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


class Search(NamedTuple):
    """A run to search, and the device that trains it."""

    arm: str
    variant: str
    device: Literal["cpu", "cuda"]

    def first(self) -> None:
        """Search the rate at scale 1, then the scale."""
        losses = {rate: self.trial(rate, 1.0) for rate in RATES}
        rate = widen(losses, partial(self.trial, scale=1.0))
        by_scale = {s: losses[rate] if s == 1.0 else self.trial(rate, s) for s in SCALES}
        widen(by_scale, partial(self.trial, rate))

    def finals(self) -> None:
        """Train the best settings on several pilot seeds."""
        trials = ranked(self.arm, self.variant)
        waves, rate = WAVES[0], trials[0][0]
        scales = [scale for tried, scale in trials if tried == rate][:FINALISTS]
        scores = {scale: self.final(scale, waves, rate) for scale in scales}
        scale = min(scores, key=scores.__getitem__)
        loss = scores[scale]
        for stronger in WAVES[1:] if self.variant.startswith("hybrid") else ():
            if (reached := self.final(scale, stronger, rate)) >= loss:
                break
            waves, loss = stronger, reached
        while (reached := self.final(scale, waves, rate / 2)) < loss:
            rate, loss = rate / 2, reached

    def trial(self, rate: float, scale: float) -> float:
        """The loss of a setting on one seed; printed."""
        steps = STEPS[self.arm]
        (loss,), rates = self.train(rate, {"scale": scale}, steps, (PILOT,))
        cells = f"{float(scale)},{rate:g},{loss:.4f},{rates[0]:.3f},{rates[1]:.3f}"
        print(f"{self.arm},{self.variant},{steps},{cells}", flush=True)
        return loss

    def final(self, scale: float, waves: float, rate: float) -> float:
        """The mean loss of a setting over the pilot seeds of finals; printed."""
        steps = FINAL_STEPS[self.arm]
        losses, _ = self.train(rate, {"scale": scale, "waves": waves}, steps, PILOTS)
        printed = " ".join(f"{loss:.4f}" for loss in losses)
        cells = f"{steps},{float(scale)},{float(waves)},{rate:g},{printed}"
        print(f"{self.arm},{self.variant},{cells}", flush=True)
        return float(np.mean(losses))

    def train(
        self, rate: float, sizes: Mapping[str, float], steps: int, seeds: Sequence[int]
    ) -> tuple[list[float], list[float]]:
        """The losses of a setting by seed, and the first seed's rates of optimal answers."""
        budget = {"steps": steps, "learning_rate": rate, "weight_decay": 0.01}
        job = Job.model_validate(
            {
                "variant": self.variant,
                "attention": self.arm,
                "data": Data(),
                "model": sizes,
                "training": budget | {"evaluate_every": steps // 10},
            }
        )
        streams = [Streams("exp8", seed) for seed in seeds]
        problems = [
            Assignment(job, generate(job.data, data_streams("exp8", DATASET, seed)), stream)
            for seed, stream in zip(seeds, streams, strict=True)
        ]
        model = problems[0].build(streams[0].generator("init"))
        execution = training.choose_execution(
            "auto", self.device, seeds=len(seeds), flops=problems[0].flops_per_step(model)
        )
        label = f"{self.arm}/{self.variant}, {rate:g}, {sizes}:"
        trained = searching.train(problems, job.training, streams, label, execution)
        model.load_state_dict(trained[0].state)
        rates = []
        for test in ("iid", "held-out"):
            instances = problems[0].select(test)
            answers = decode(predict(model, instances.shown), "row")
            rates.append(judge(answers, instances)["optimal"])
        return [loss_of(each) for each in trained], rates


def loss_of(trained: training.Trained) -> float:
    """The training loss, mean over the last tenth of the steps; infinite if the seed diverged."""
    curve = trained.curve[trained.curve["metric"] == "train_loss"]["value"]
    return float(curve.iloc[-1]) if trained.status == "finished" else float("inf")


def widen(losses: dict[float, float], measure: Callable[[float], float]) -> float:
    """The best value; the grid grows by half a decade while its best is at an edge."""
    while (best := min(losses, key=losses.__getitem__)) in (min(losses), max(losses)):
        value = LADDER[LADDER.index(best) + (1 if best == max(losses) else -1)]
        losses[value] = measure(value)
    return best


def main() -> None:
    """Search the named runs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", metavar="ARM/VARIANT")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--finals", action="store_true", help="the best settings on other seeds")
    kind.add_argument("--scales", help="these scales only, between commas")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    options = parser.parse_args()
    training.prepare_process(threads=1)
    for run in options.runs:
        arm, variant = run.split("/")
        search = Search(arm, variant, options.device)
        if options.finals:
            search.finals()
        elif options.scales:
            rate, _ = ranked(arm, variant)[0]
            for scale in options.scales.split(","):
                search.trial(rate, float(scale))
        else:
            search.first()


if __name__ == "__main__":
    main()
