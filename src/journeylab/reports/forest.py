"""The plot of one claim in one line: positions of its region, interval and effect.

Every claim has a scale of its own, wide enough for all its numbers.
"""

import math
from collections.abc import Callable, Iterable, Sequence
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
        rows: list[tuple[float | None, Span | None]] = [(verdict.extreme, None)]
    else:
        rows = [(estimate.effect, _interval(estimate)) for estimate in estimates]
    numbers = [x for effect, span in rows for x in (effect, *(span or ())) if x is not None]
    if not numbers:
        return ()
    position = _scale([*numbers, *(region or ())], logarithmic=verdict.kind == "exact")
    return tuple(_lane(effect, interval, region, position) for effect, interval in rows)


def _interval(estimate: Estimate) -> Span | None:
    low = -math.inf if estimate.low is None else estimate.low
    high = math.inf if estimate.high is None else estimate.high
    return (low, high) if estimate.n else None


def _scale(known: Iterable[float], *, logarithmic: bool) -> Callable[[float], float]:
    """From a number to its position."""
    numbers = list(filter(math.isfinite, known)) or [0.0]
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


def _lane(
    effect: float | None,
    interval: Span | None,
    region: Span | None,
    position: Callable[[float], float],
) -> Lane:
    low, high = interval or (effect, effect)
    return Lane(
        region=(position(region[0]), position(region[1])) if region else None,
        margins=tuple(position(x) for x in region or () if math.isfinite(x)),
        interval=(position(interval[0]), position(interval[1])) if interval else None,
        left=low == -math.inf,
        right=high == math.inf,
        effect=position(effect) if effect is not None and math.isfinite(effect) else None,
    )
