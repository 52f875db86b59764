"""The search for learning rates and initial spreads, as ``tools/search_exp10.py`` makes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, cast

from journeylab.studies.exp10_circuit_encoders.settings import Variant


class Point(NamedTuple):
    """A peak learning rate and the standard deviation of the initial rows of all tables."""

    rate: float
    spread: float


PILOT = 1000
RATES = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)
SPREADS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
CENTRE = Point(0.003, 0.3)
TIE = 0.005
"""A difference of accuracy that is too small to leave the centre of the grid."""


def choose(found: Mapping[Point, float]) -> Point:
    """The point with the highest accuracy, or the centre if it is within ``TIE`` of it."""
    best = max(found, key=found.__getitem__)
    return CENTRE if found[best] - found[CENTRE] <= TIE else best


class Trial(NamedTuple):
    """A run, its accuracies by point, and that after twice the steps at the chosen point."""

    arm: str
    variant: Variant
    found: Mapping[Point, float]
    twice: float

    @property
    def chosen(self) -> Point:
        """The point in config.yaml."""
        return choose(self.found)


_MEASURED = """\
"""


def _read(line: str) -> Trial:
    run, tried, twice = re.split(r": | \| ", line)
    arm, _, variant = run.partition("/")
    points = (map(float, point.split()) for point in tried.split("; "))
    found = {Point(rate, spread): value for rate, spread, value in points}
    return Trial(arm, cast(Variant, variant), found, float(twice))


TRIALS: tuple[Trial, ...] = tuple(map(_read, _MEASURED.splitlines()))
