"""Estimates: effect, interval and verdict of one term over seeds, and of several parts together."""

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from journeylab.claims import register as reg
from journeylab.claims.looks import Level
from journeylab.claims.statistics import (
    Interval,
    Values,
    decide,
    median_interval,
    success_interval,
)
from journeylab.records.verdicts import Estimate, Point, Word


def estimate_term(
    values: Values, region: reg.Region | None, seeds: Sequence[int], support: Level, refute: Level
) -> Estimate:
    """The effect of one term, with its interval and its verdict.

    ``values``, shape (n,), belong to ``seeds``; NaN is a failed seed. ``support`` and ``refute``
    are the levels at which the term may be supported and refuted.
    """
    finished = values[np.isfinite(values)]
    if isinstance(region, reg.Solves):
        solved = np.where(np.isfinite(values), reaches(values, region), np.nan)
        effect = float(np.nansum(solved)) / max(values.size, 1)
        supporting, refuting = (success_interval(solved, level.tail) for level in (support, refute))
    else:
        effect = float(np.median(finished)) if finished.size else math.nan
        supporting, refuting = (median_interval(values, level.k) for level in (support, refute))
    allowed = bounds(region)
    word: Word = "inconclusive"
    if decide(supporting, allowed) == "supported":
        word = "supported"
    elif decide(refuting, allowed) == "refuted":
        word = "refuted"
    low, high = {
        "up": (supporting[0], refuting[1]),
        "down": (refuting[0], supporting[1]),
        "band": supporting,
    }[_direction(region)]
    return Estimate(
        effect=finite(effect),
        mean=finite(float(finished.mean()) if finished.size else math.nan),
        low=finite(low),
        high=finite(high),
        n=values.size,
        failures=values.size - finished.size,
        verdict=word,
        points=tuple(
            Point(seed=int(seed), value=finite(float(value)))
            for seed, value in zip(seeds, values, strict=True)
        ),
    )


def settling_words(claim: reg.Claim) -> tuple[Word, Word]:
    """The verdict that a claim has if all its parts have it, and the one that a part alone gives.

    They are supported and refuted, reversed for ``any_of``.
    """
    return ("refuted", "supported") if claim.kind == "any_of" else ("supported", "refuted")


def combine_parts(claim: reg.Claim, parts: Sequence[Estimate]) -> Estimate:
    """The worst part of an ``all_of`` claim, the best part of an ``any_of`` claim.

    For a band there is no worst or best part: effect, mean, low and high are None.
    """
    by_all, by_any = settling_words(claim)
    word: Word = "inconclusive"
    if all(part.verdict == by_all for part in parts):
        word = by_all
    elif any(part.verdict == by_any for part in parts):
        word = by_any
    direction = _direction(claim.region)
    numbers: dict[str, float | None] = dict.fromkeys(("effect", "mean", "low", "high"))
    if direction != "band":
        pick = min if (direction == "up") == (claim.kind == "all_of") else max
        unbounded = {"effect": math.nan, "mean": math.nan, "low": -math.inf, "high": math.inf}
        for name in numbers:
            of_parts = [getattr(part, name) for part in parts]
            known = [unbounded[name] if value is None else value for value in of_parts]
            numbers[name] = finite(math.nan if any(map(math.isnan, known)) else pick(known))
    failed = {point.seed for part in parts for point in part.points if point.value is None}
    return Estimate(**numbers, n=parts[0].n, failures=len(failed), verdict=word)


def between_margins(region: reg.Region | None) -> list[float]:
    """A value in each of the intervals between, below and above the margins of a region."""
    if isinstance(region, reg.Solves):
        threshold = region.solves
        ends = [threshold.above if isinstance(threshold, reg.Above) else threshold.at_least]
    else:
        ends = [end for end in bounds(region) if math.isfinite(end)]
    if not ends:
        return []
    low, high = min(ends), max(ends)
    return [low - 1.0 - abs(low), *([(low + high) / 2] if low < high else []), high + 1 + abs(high)]


def finite(value: float) -> float | None:
    """The value, or None if it is infinite or NaN: JSON has no such numbers."""
    return value if math.isfinite(value) else None


def bounds(region: reg.Region | None) -> Interval:
    """The open interval that the estimate's interval must lie in; (½, ∞) for ``solves``."""
    if isinstance(region, reg.Above):
        return region.above, math.inf
    if isinstance(region, reg.Below):
        return -math.inf, region.below
    if isinstance(region, reg.Inside):
        return region.inside
    return (-math.inf, math.inf) if region is None else (0.5, math.inf)


def _direction(region: reg.Region | None) -> Literal["up", "down", "band"]:
    if region is None or isinstance(region, reg.Inside):
        return "band"
    return "down" if isinstance(region, reg.Below) else "up"


def reaches(values: Values, region: reg.Solves) -> Any:
    """Whether each value reaches the threshold of a claim about most seeds, shape (n,)."""
    threshold = region.solves
    if isinstance(threshold, reg.Above):
        return values > threshold.above
    return values >= threshold.at_least
