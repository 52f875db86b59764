"""Comparisons whose two sides are both at an end of their scale, and therefore say little."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from journeylab.claims.effects import Cell, Difference, Quantity, Term
from journeylab.claims.statistics import Values
from journeylab.records.verdicts import Saturation

EDGE = 0.01
SHARE = (0.0, 1.0)

Read = Callable[[Term], Values]


def saturations(
    terms: Sequence[Term], read: Read, measures: Mapping[str, Quantity]
) -> tuple[Saturation, ...]:
    """Every two compared runs that are both at the floor or both at the ceiling.

    ``read`` gives the values of a term, one per seed. A run is at an end if its measure is a share,
    with the range [0, 1], and the median of its finite values is within :data:`EDGE` of that end.
    """

    def median(cell: Cell) -> float:
        values = read(cell)
        finite = values[np.isfinite(values)]
        share = measures[cell.measure].range == SHARE
        return float(np.median(finite)) if share and finite.size else math.nan

    found = []
    for pair in _pairs(terms):
        medians = tuple(map(median, pair))
        for end, at_end in (("floor", max(medians) <= EDGE), ("ceiling", min(medians) >= 1 - EDGE)):
            if at_end and all(map(math.isfinite, medians)):
                runs = tuple(cell.run for cell in pair)
                found.append(Saturation(end=end, runs=runs, medians=medians))
    return tuple(found)


def _pairs(terms: Sequence[Term]) -> Iterator[tuple[Cell, Cell]]:
    """The cells that are compared directly, in nested differences too."""
    for term in terms:
        if isinstance(term, Difference):
            first, second = term.difference
            if isinstance(first, Cell) and isinstance(second, Cell):
                yield first, second
            else:
                yield from _pairs(term.difference)
