"""Comparisons whose two sides are both at an end of their scale, and therefore say little."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from journeylab.claims.effects import Cell, Difference, Measure, Term
from journeylab.claims.statistics import Values
from journeylab.claims.wording import Names, run_name
from journeylab.records.verdict_text import SATURATED
from journeylab.typography import short

EDGE = 0.01
SHARE = (0.0, 1.0)

Read = Callable[[Term], Values]


def saturation_notes(
    terms: Sequence[Term], read: Read, measures: Mapping[str, Measure], names: Names
) -> list[str]:
    """A note for every two compared runs that are both at the floor or both at the ceiling.

    ``read`` gives the values of a term, one per seed. A run is at an end if its measure is a share,
    with the range [0, 1], and the median of its finite values is within :data:`EDGE` of that end.
    """

    def end(cell: Cell) -> tuple[str, float]:
        values = read(cell)
        finite = values[np.isfinite(values)]
        if measures[cell.measure].range != SHARE or not finite.size:
            return "", np.nan
        median = float(np.median(finite))
        return "floor" if median <= EDGE else "ceiling" if median >= 1 - EDGE else "", median

    notes = []
    for first, second in _pairs(terms):
        (name, median), (other, other_median) = end(first), end(second)
        if name and name == other:
            notes.append(
                f"{SATURATED} {name} ({short(median)} in “{run_name(first, names)}” and "
                f"{short(other_median)} in “{run_name(second, names)}”)"
            )
    return notes


def _pairs(terms: Sequence[Term]) -> Iterator[tuple[Cell, Cell]]:
    """The cells that are compared directly, in nested differences too."""
    for term in terms:
        if isinstance(term, Difference):
            first, second = term.difference
            if isinstance(first, Cell) and isinstance(second, Cell):
                yield first, second
            else:
                yield from _pairs(term.difference)
