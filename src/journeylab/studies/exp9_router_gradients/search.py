"""The search for initial scale and rate of the routers, as ``tools/search_exp9.py`` makes it.

The first grid has one start per pilot seed. Where the chosen setting had no neighbour within 0.01,
chance may have chosen it: a second grid with three starts per pilot was added, and decides where it
contains the first choice. Estimators that only secondary rows compare have no second grid.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from journeylab.records.trials import read_trials
from journeylab.studies.exp9_router_gradients.settings import Trained

Errors = tuple[tuple[float, ...], ...]

PILOTS = (1000, 1001)
RATES = (0.001, 0.003, 0.01, 0.03, 0.1)
SCALES = (0.1, 0.5, 2.0)
AGAIN = ((0.003, 0.1, 0.3), (0.5, 2.0))
"""Rates and scales of the second grid."""
LAST = 5
"""The error is the mean over this many steps, spread over the last fifth of the training."""
CLOSE = 0.001
"""Errors this close to the lowest are equal; of these settings, the most central is chosen."""
CENTRE = (0.5, 0.01)
"""The centre of the grid: scale and rate."""


class RouterTrial(NamedTuple):
    """The hard validation error of an estimator with a scale and a rate, in one of the grids."""

    grid: int
    variant: Trained
    scale: float
    rate: float
    error: float


def _grid(number: int) -> dict[Trained, Errors]:
    """The errors of a grid by estimator; a row is a scale, a column a rate."""
    trials = read_trials(RouterTrial, Path(__file__).with_name("trials.csv"))
    rows: dict[Trained, dict[float, list[float]]] = {}
    for trial in trials:
        if trial.grid == number:
            rows.setdefault(trial.variant, {}).setdefault(trial.scale, []).append(trial.error)
    return {name: tuple(map(tuple, scales.values())) for name, scales in rows.items()}


SEARCH, SECOND = _grid(1), _grid(2)


def decided_again(name: Trained) -> bool:
    """Whether the second grid decides: it contains the first choice."""
    scale, rate = choose(SEARCH[name], RATES, SCALES)
    return name in SECOND and rate in AGAIN[0] and scale in AGAIN[1]


def chosen(name: Trained) -> tuple[float, float]:
    """Return the chosen scale and rate of an estimator."""
    if decided_again(name):
        return choose(SECOND[name], *AGAIN)
    return choose(SEARCH[name], RATES, SCALES)


def choose(errors: Errors, rates: Sequence[float], scales: Sequence[float]) -> tuple[float, float]:
    """Return the scale and rate of the most central of the lowest errors."""
    lowest = min(min(row) for row in errors)
    near = [
        (scale, rate)
        for scale, row in zip(scales, errors, strict=True)
        for rate, error in zip(rates, row, strict=True)
        if error <= lowest + CLOSE
    ]
    return min(near, key=_eccentricity)


def _eccentricity(setting: tuple[float, float]) -> tuple[float, float]:
    off = [abs(math.log(of / centre)) for of, centre in zip(setting, CENTRE, strict=True)]
    return (round(sum(off), 9), -setting[1])
