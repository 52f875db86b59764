"""The plot of one claim in one line: positions of its region, interval and effect.

Every claim has a scale of its own, wide enough for all its numbers.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from journeylab.records.verdicts import Estimate
from journeylab.wording.rows import Row

WIDTH = 220.0
_PAD = 0.12
"""Free space on either side, as a share of the span of all numbers."""

Span = tuple[float, float]


class Lane(NamedTuple):
    """One estimate, in units of the drawing; a part of the drawing that it lacks is None.

    ``left`` and ``right`` say that an end of the interval is unbounded, or the effect infinite.
    """

    region: Span | None
    margins: tuple[float, ...]
    interval: Span | None
    left: bool
    right: bool
    effect: float | None


class _Row(NamedTuple):
    """A lane before its numbers become positions."""

    effect: float | None
    interval: Span | None
    region: Span | None


def strip(verdict: Row) -> tuple[Lane, ...]:
    """The plot of a claim in one line of a table: lanes from 0 to :data:`WIDTH`.

    A claim whose parts have one deciding number is one lane; a band around several parts has a
    lane for each, and a scope one for each of its points. An extreme value far from its tolerance
    is on a logarithmic scale. Nothing measured gives no lane, and so does a claim about most seeds:
    “11 of 12” says more than an interval around ½.
    """
    if verdict.solves:
        return ()
    region = (verdict.region.low, verdict.region.high) if verdict.region else None
    estimates: Sequence[Estimate] = verdict.scope
    if not estimates:
        whole = verdict.effect is not None or verdict.low is not None or not verdict.parts
        estimates = [verdict] if whole else verdict.parts
    if verdict.kind == "exact":
        rows = [_Row(verdict.extreme, None, region)]
    else:
        rows = [_row(estimate, region) for estimate in estimates]
    if all(row.effect is None and row.interval is None for row in rows):
        return ()
    position = _scale(rows, logarithmic=verdict.kind == "exact")
    return tuple(_lane(row, position) for row in rows)


def _row(estimate: Estimate, region: Span | None) -> _Row:
    low = -math.inf if estimate.low is None else estimate.low
    high = math.inf if estimate.high is None else estimate.high
    return _Row(estimate.effect, (low, high) if estimate.n else None, region)


def _scale(rows: Sequence[_Row], *, logarithmic: bool) -> Callable[[float], float]:
    """From a number to its position."""
    ends = (x for row in rows for x in (*(row.interval or ()), *(row.region or ()), row.effect))
    numbers = [x for x in ends if x is not None and math.isfinite(x)] or [0.0]
    powers = logarithmic and min(numbers) > 0 and max(numbers) > 100 * min(numbers)

    def on_scale(x: float) -> float:
        return math.log10(x) if powers and math.isfinite(x) else x

    low, high = min(map(on_scale, numbers)), max(map(on_scale, numbers))
    free = _PAD * (high - low) or abs(low) / 2 or 1.0
    low, high = low - free, high + free

    def position(x: float) -> float:
        share = (on_scale(x) - low) / (high - low)
        return round(WIDTH * min(max(share, 0.0), 1.0), 1)

    return position


def _lane(row: _Row, position: Callable[[float], float]) -> Lane:
    ends = row.interval or (row.effect or 0.0,) * 2
    finite = row.effect is not None and math.isfinite(row.effect)
    return Lane(
        region=(position(row.region[0]), position(row.region[1])) if row.region else None,
        margins=tuple(position(x) for x in row.region or () if math.isfinite(x)),
        interval=(position(row.interval[0]), position(row.interval[1])) if row.interval else None,
        left=ends[0] == -math.inf,
        right=ends[1] == math.inf,
        effect=position(row.effect or 0.0) if finite else None,
    )
