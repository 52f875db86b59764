"""Estimates: effect, interval and verdict of one term over seeds, and of several parts together."""

import math
from collections.abc import Sequence

import numpy as np

from journeylab.claims.looks import Level
from journeylab.claims.regions import Region
from journeylab.claims.schema import Criterion
from journeylab.claims.statistics import Measured, decide, median_interval, success_interval
from journeylab.records.verdicts import Estimate, Point, Word


def estimate_term(
    measured: Measured, region: Region, seeds: Sequence[int], support: Level, refute: Level
) -> Estimate:
    """The effect of one term, with its interval and its verdict.

    The values of ``measured``, shape (n,), belong to ``seeds``; NaN is a failed seed. ``support``
    and ``refute`` are the levels at which the term may be supported and refuted. Verdicts compare
    values at a margin as the margin.
    """
    values, compared = measured.values, measured.at(*region.ends)
    finished = values[np.isfinite(values)]
    if region.of == "seeds":
        solved = np.where(np.isfinite(values), region.contains(compared), np.nan)
        compared = solved
        effect = float(np.nansum(solved)) / max(values.size, 1)
        supporting, refuting = (success_interval(solved, level.tail) for level in (support, refute))
    else:
        effect = float(np.median(finished)) if finished.size else math.nan
        supporting, refuting = (median_interval(values, level.k) for level in (support, refute))
    word: Word = "inconclusive"
    if decide(median_interval(compared, support.k), region.bounds) == "supported":
        word = "supported"
    elif decide(median_interval(compared, refute.k), region.bounds) == "refuted":
        word = "refuted"
    # an end that no margin bounds can only refute
    low = refuting[0] if region.low == -math.inf else supporting[0]
    high = refuting[1] if region.high == math.inf else supporting[1]
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


def settling_words(claim: Criterion) -> tuple[Word, Word]:
    """The verdict that a claim has if all its parts have it, and the one that a part alone gives.

    They are supported and refuted, reversed for ``any_of``.
    """
    return ("refuted", "supported") if claim.kind == "any_of" else ("supported", "refuted")


def combine_parts(claim: Criterion, parts: Sequence[Estimate]) -> Estimate:
    """The worst part of an ``all_of`` claim, the best part of an ``any_of`` claim.

    For a band there is no worst or best part: effect, mean, low and high are None.
    """
    by_all, by_any = settling_words(claim)
    word: Word = "inconclusive"
    if all(part.verdict == by_all for part in parts):
        word = by_all
    elif any(part.verdict == by_any for part in parts):
        word = by_any
    numbers: dict[str, float | None] = dict.fromkeys(("effect", "mean", "low", "high"))
    if not claim.claimed.is_band:
        pick = min if (claim.claimed.high == math.inf) == (claim.kind == "all_of") else max
        unbounded = {"effect": math.nan, "mean": math.nan, "low": -math.inf, "high": math.inf}
        for name in numbers:
            of_parts = [getattr(part, name) for part in parts]
            known = [unbounded[name] if value is None else value for value in of_parts]
            numbers[name] = finite(math.nan if any(map(math.isnan, known)) else pick(known))
    failed = {point.seed for part in parts for point in part.points if point.value is None}
    return Estimate(**numbers, n=parts[0].n, failures=len(failed), verdict=word)


def finite(value: float) -> float | None:
    """The value, or None if it is infinite or NaN: JSON has no such numbers."""
    return value if math.isfinite(value) else None
