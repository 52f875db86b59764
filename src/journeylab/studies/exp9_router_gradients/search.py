"""The search for initial scale and rate of the routers, as ``tools/search_exp9.py`` makes it."""

import math

from journeylab.studies.exp9_router_gradients.settings import Trained

PILOTS = (1000, 1001)
RATES = (0.001, 0.003, 0.01, 0.03, 0.1)
SCALES = (0.1, 0.5, 2.0)
AGAIN = ((0.003, 0.1, 0.3), (0.5, 2.0))
"""Rates and scales of the second grid, with three starts per pilot."""
LAST = 5
"""The error is the mean over this many steps, spread over the last fifth of the training."""
CLOSE = 0.001
"""Errors this close to the lowest are equal; of these settings, the most central is chosen."""
CENTRE = (0.5, 0.01)
"""The centre of the grid: scale and rate."""

SEARCH: dict[Trained, tuple[tuple[float, ...], ...]] = {}
"""Hard validation errors by variant; a row is a scale, a column a rate."""


def choose(errors: tuple[tuple[float, ...], ...]) -> tuple[float, float]:
    """Return the chosen scale and rate."""
    lowest = min(min(row) for row in errors)
    near = [
        (scale, rate)
        for scale, row in zip(SCALES, errors, strict=True)
        for rate, error in zip(RATES, row, strict=True)
        if error <= lowest + CLOSE
    ]
    return min(near, key=_eccentricity)


def _eccentricity(setting: tuple[float, float]) -> tuple[float, float]:
    off = [abs(math.log(of / centre)) for of, centre in zip(setting, CENTRE, strict=True)]
    return (round(sum(off), 9), -setting[1])
