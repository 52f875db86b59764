"""The search of learning rates and depths of exp13, on pilot seeds.

``python tools/search_exp13.py`` prints the rows of the table. They are kept here, because a study
trains with the chosen settings only. The grid is the same for all mechanisms and tasks. Until it
has a line for every judged run, verdicts of exp13 are provisional.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

SEEDS = (1000, 1001)
TIE = 0.01
"""A difference of mean accuracy that is too small to leave the centre of the grid."""


class GridPoint(NamedTuple):
    """A learning rate and a number of layers."""

    rate: float
    layers: int

    def __str__(self) -> str:
        """The head of a column."""
        return f"{self.rate:g}, {self.layers} layer{'s' if self.layers > 1 else ''}"


RATES = (0.001, 0.003, 0.01, 0.03)
LAYERS = (1, 2)
GRID = tuple(GridPoint(rate, layers) for layers in LAYERS for rate in RATES)
CENTRE = 0.01
"""The rate of runs without a line here, and of runs whose best rate is within TIE of it."""
OTHER_CENTRES = {"associative": 0.003}
"""The same for arms with another centre, from a pilot of RoPE, which has learned recall at it."""

_MEASURED = """\
run,0.001 1,0.003 1,0.01 1,0.03 1,0.001 2,0.003 2,0.01 2,0.03 2
"""


def measured() -> dict[str, dict[GridPoint, float]]:
    """Run → point of the grid → accuracy on validation rows, mean over SEEDS."""
    _, *lines = _MEASURED.splitlines()
    tried = {}
    for line in lines:
        run, *cells = line.split(",")
        values = zip(GRID, cells, strict=True)
        tried[run] = {point: float(cell) for point, cell in values if cell != "–"}
    return tried


def centre(arm: str) -> float:
    """The rate of an arm's runs that have no line."""
    return OTHER_CENTRES.get(arm, CENTRE)


def choose(tried: Mapping[GridPoint, float], layers: int, usual: float = CENTRE) -> float:
    """The best rate at a depth; `usual` if it is within TIE of it, or if no rate is known.

    The depth itself is not chosen: claims say “in one layer”, and recall needs two.
    """
    known = {point.rate: value for point, value in tried.items() if point.layers == layers}
    if not known:
        return usual
    best = max(known, key=known.__getitem__)
    return usual if known[best] - known.get(usual, 0.0) <= TIE else best
