"""Search rate and initial spread of the judged encoders of exp10, on a pilot seed.

    python tools/search_exp10.py degree/sum degree/one-hot …
    python tools/search_exp10.py --twice degree/sum …

Prints for every run the points that were tried with their test accuracy, as
``journeylab/studies/exp10_circuit_encoders/trials.csv`` keeps them. The rate is searched first, at
the middle spread, from 0.003 and 0.01 on in the better direction until it gets no better; then the
spread, from 0.1, 0.3 and 1 on at the best rate, in the same way. With ``--twice``: the accuracy
after twice the steps at the chosen point.
"""

import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple, cast

import pandas as pd

from journeylab import training
from journeylab.catalogue import load
from journeylab.streams import Streams, data_streams
from journeylab.studies.exp10_circuit_encoders.data import generate
from journeylab.studies.exp10_circuit_encoders.models import Circuits
from journeylab.studies.exp10_circuit_encoders.settings import (
    Data,
    Job,
    Model,
    Task,
    Training,
    Variant,
)


class SearchPoint(NamedTuple):
    """A peak learning rate and the standard deviation of the initial rows of all tables."""

    rate: float
    spread: float


PROJECT = Path(__file__).parents[1]
PILOT = 1000
RATES = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)
SPREADS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
CENTRE = SearchPoint(0.003, 0.3)


DATA = Data(operations=5, wiring="previous", test=0.05, train=0.02)
STEPS, ROWS = 400, 64
"""As in config.yaml."""


def main(name: str, doubled: bool) -> None:
    """Search one run, or train it for twice the steps."""
    task, variant = cast(tuple[Task, Variant], tuple(name.split("/")))
    if doubled:
        settings = load(PROJECT / "config.yaml").studies["exp10"].resolve(task, variant).settings
        chosen = SearchPoint(settings["training"]["learning_rate"], settings["model"]["spread"])
        print(f"{name} {train(task, variant, chosen, 2 * STEPS):.4f}", flush=True)
        return

    @cache
    def at(rate: float, spread: float) -> float:
        return train(task, variant, SearchPoint(rate, spread), STEPS)

    accuracies: dict[SearchPoint, float] = {}
    rates = climb(lambda rate: at(rate, CENTRE.spread), RATES, (0.003, 0.01))
    accuracies |= {SearchPoint(rate, CENTRE.spread): value for rate, value in rates.items()}
    best = max(rates, key=rates.__getitem__)
    spreads = climb(lambda spread: at(best, spread), SPREADS, (0.1, 0.3, 1.0))
    accuracies |= {SearchPoint(best, spread): value for spread, value in spreads.items()}
    tried = "; ".join(
        f"{rate:g} {spread:g} {value:.4f}" for (rate, spread), value in accuracies.items()
    )
    print(f"{name}: {tried}", flush=True)


def climb(
    value: Callable[[float], float], grid: Sequence[float], first: Sequence[float]
) -> dict[float, float]:
    """Values on a part of the grid, which grows until the best point is not at its edge."""
    low, high = grid.index(first[0]), grid.index(first[-1])
    while True:
        accuracies = {x: value(x) for x in grid[low : high + 1]}
        best = grid.index(max(accuracies, key=accuracies.__getitem__))
        if best == low and low > 0:
            low -= 1
        elif best == high and high < len(grid) - 1:
            high += 1
        else:
            return accuracies


def train(task: Task, variant: Variant, point: SearchPoint, steps: int) -> float:
    """Test accuracy of the pilot seed."""
    settings = Training(steps=steps, learning_rate=point.rate, rows=ROWS, evaluate_every=steps)
    model = Model(spread=point.spread)
    job = Job(variant=variant, task=task, training=settings, data=DATA, model=model)
    streams = Streams("exp10", PILOT)
    with tempfile.TemporaryDirectory() as folder:
        [trained] = training.train_seeds(
            [Circuits(job, dataset(), streams)],
            settings,
            [streams],
            Path(folder),
            training.Execution("sequential", "cpu"),
            label=f"{task}, {variant}, {point}:",
            identity="search",
        )
    curve = trained.curve
    return float(curve.loc[curve["metric"] == "accuracy", "value"].iloc[-1])


@cache
def dataset() -> pd.DataFrame:
    """The chains of the pilot seed."""
    return generate(DATA, data_streams("exp10", "chains", PILOT))


if __name__ == "__main__":
    training.prepare_process(threads=1)
    names = [name for name in sys.argv[1:] if name != "--twice"]
    for name in names:
        main(name, len(names) < len(sys.argv) - 1)
