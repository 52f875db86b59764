"""The forest plot of one claim: positions of its region, interval, effect and seeds.

Every claim has a scale of its own, wide enough for all its numbers.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from journeylab.records.verdicts import Estimate
from journeylab.wording.rows import Row
from journeylab.wording.typography import short

WIDTH = 220.0
_PAD = 0.12
"""Free space on either side, as a share of the span of all numbers."""
_THICK, _THIN, _FEW = 18.0, 11.0, 4
"""Height of a lane, and its height where there are more than ``_FEW``."""
_AXIS = 13.0
_SHARE = "share of seeds"
_GLYPH = 4.6
"""Width of a character of a tick's label, on average."""

Span = tuple[float, float]


class Lane(NamedTuple):
    """One estimate, in units of the drawing; a part of the drawing that it lacks is None.

    ``left`` and ``right`` say that an end of the interval is unbounded, or the effect infinite.
    """

    name: str
    y: float
    half: float
    region: Span | None
    margins: tuple[float, ...]
    interval: Span | None
    left: bool
    right: bool
    effect: float | None
    points: tuple[Span, ...]


class Axis(NamedTuple):
    """The scale below lanes that share it: positions and labels of its ticks."""

    y: float
    ticks: tuple[tuple[float, str], ...]


class Forest(NamedTuple):
    """All lanes and their scales, and the height of the drawing."""

    lanes: tuple[Lane, ...]
    axes: tuple[Axis, ...]
    height: float


class _Row(NamedTuple):
    """A lane before its numbers become positions."""

    name: str
    effect: float | None
    interval: Span | None
    points: tuple[float, ...]
    region: Span | None

    @property
    def numbers(self) -> list[float]:
        numbers = [*(self.interval or ()), *self.points, *(self.region or ())]
        numbers += [] if self.effect is None else [self.effect]
        return [x for x in numbers if math.isfinite(x)]


def forest(verdict: Row) -> Forest | None:
    """The plot of a claim; None where nothing was measured.

    Parts are lanes on one scale. For a claim about most seeds, the first lane compares the share
    of seeds with ½, and the second one, on a scale of its own, shows the seeds and their threshold.
    An extreme value far from its tolerance is shown on a logarithmic scale.
    """
    lanes: list[Lane] = []
    axes: list[Axis] = []
    y = 0.0
    for rows in _panels(verdict):
        if not any(row.effect is not None or row.interval or row.points for row in rows):
            continue
        share = (0.0, 1.0) if rows[0].name == _SHARE else ()
        position, ticks = _scale(rows, share, logarithmic=verdict.kind == "exact")
        height = _THICK if len(rows) <= _FEW else _THIN
        for row in rows:
            lanes.append(_lane(row, y + height / 2, height / 2 - 1.5, position))
            y += height
        axes.append(Axis(round(y, 1), ticks))
        y += _AXIS
    return Forest(tuple(lanes), tuple(axes), round(y, 1)) if lanes else None


def strip(verdict: Row) -> tuple[Lane, ...]:
    """The plot of a claim in one line of a table: lanes from 0 to :data:`WIDTH`, without seeds.

    A claim whose parts have one deciding number is one lane; a band around several parts has a
    lane for each, and a scope one for each of its points. Nothing measured gives no lane, and so
    does a claim about most seeds: “11 of 12” says more than an interval around ½.
    """
    if verdict.solves:
        return ()
    rows = next(_panels(verdict))
    if verdict.parts and (verdict.effect is not None or verdict.low is not None):
        rows = [_row(rows[0].name, verdict, rows[0].region)]
    rows = [row._replace(points=()) for row in rows]
    if all(row.effect is None for row in rows) and not any(row.interval for row in rows):
        return ()
    position, _ = _scale(rows, (), logarithmic=verdict.kind == "exact")
    height = _THICK / len(rows)
    return tuple(_lane(row, (i + 0.5) * height, height / 2, position) for i, row in enumerate(rows))


def _panels(verdict: Row) -> Iterator[list[_Row]]:
    """The rows that share a scale."""
    region = (verdict.region.low, verdict.region.high) if verdict.region else None
    if verdict.solves:
        shares = [
            _row(_SHARE, part, (0.5, math.inf))
            for part in verdict.parts or verdict.scope or (verdict,)
        ]
        yield [row._replace(points=()) for row in shares]
        yield [_Row("seeds", None, None, row.points, region) for row in shares]
    elif verdict.scope:
        yield [_row(point.label, point, region) for point in verdict.scope]
    elif verdict.parts:
        yield [_row(part.effect_text, part, region) for part in verdict.parts]
    elif verdict.kind == "exact":
        yield [_Row(verdict.effect_text, verdict.extreme, None, (), region)]
    else:
        yield [_row(verdict.effect_text, verdict, region)]


def _row(name: str, estimate: Estimate, region: Span | None) -> _Row:
    low = -math.inf if estimate.low is None else estimate.low
    high = math.inf if estimate.high is None else estimate.high
    interval = (low, high) if estimate.n else None
    return _Row(name, estimate.effect, interval, _points(estimate), region)


def _points(estimate: Estimate) -> tuple[float, ...]:
    return tuple(point.value for point in estimate.points if point.value is not None)


def _scale(
    rows: Sequence[_Row], shown: Sequence[float], *, logarithmic: bool
) -> tuple[Callable[[float], float], tuple[tuple[float, str], ...]]:
    """From a number to its position, and the ticks; the scale always reaches ``shown``."""
    numbers = [*shown, *(x for row in rows for x in row.numbers)] or [0.0]
    powers = logarithmic and min(numbers) > 0 and max(numbers) > 100 * min(numbers)

    def on_scale(x: float) -> float:
        return math.log10(x) if powers and math.isfinite(x) else x

    low, high = min(map(on_scale, numbers)), max(map(on_scale, numbers))
    free = _PAD * (high - low) or abs(low) / 2 or 1.0
    low, high = low - free, high + free

    def position(x: float) -> float:
        share = (on_scale(x) - low) / (high - low)
        return round(WIDTH * min(max(share, 0.0), 1.0), 1)

    values = _round_numbers(low, high, powers=powers)
    ticks = [(10.0**value if powers else value) for value in values]
    return position, tuple((position(x), short(x)) for x in ticks)


def _round_numbers(low: float, high: float, *, powers: bool) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten whose labels fit beside each other.

    With ``powers``, numbers and multiples are exponents of ten.
    """
    unit = (high - low) / WIDTH

    def half(x: float) -> float:
        return len(short(10.0**x if powers else x)) * _GLYPH * unit / 2

    first = math.floor(math.log10((high - low) / 10))
    for scale in range(max(first, 0) if powers else first, first + 4):
        for leading in (1, 2, 5):
            step = leading * 10.0**scale
            multiples = range(math.ceil(low / step), math.floor(high / step) + 1)
            # from its digits, so that 3 × 0.1 is 0.3
            values = [float(f"{i * leading}e{scale}") for i in multiples]
            inside = [x for x in values if low <= x - half(x) and x + half(x) <= high]
            gaps = itertools.pairwise(inside)
            if len(inside) <= 5 and all(y - x > half(x) + half(y) + 8 * unit for x, y in gaps):
                return inside
    return []


def _lane(row: _Row, y: float, half: float, position: Callable[[float], float]) -> Lane:
    ends = row.interval or (row.effect or 0.0,) * 2
    finite = row.effect is not None and math.isfinite(row.effect)
    return Lane(
        name=row.name,
        y=round(y, 1),
        half=round(half, 1),
        region=(position(row.region[0]), position(row.region[1])) if row.region else None,
        margins=tuple(position(x) for x in row.region or () if math.isfinite(x)),
        interval=(position(row.interval[0]), position(row.interval[1])) if row.interval else None,
        left=ends[0] == -math.inf,
        right=ends[1] == math.inf,
        effect=position(row.effect or 0.0) if finite else None,
        points=tuple(
            (position(x), round(y + (i % 3 - 1) * half / 2.5, 1)) for i, x in enumerate(row.points)
        ),
    )
