"""What further seeds would decide, if they were drawn like the seeds that exist.

A seed lies below a region's margins, above them, or between them; on a single margin, and where it
failed, it counts for neither side. Given the probabilities of the sides, sums over the counts of
all sequences of seeds are exact.

Source of the normal approximation: :func:`journeylab.claims.statistics.detectable`.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from journeylab.claims.looks import Schedule, term_levels
from journeylab.claims.regions import Region
from journeylab.claims.schema import Criterion
from journeylab.claims.statistics import DETECTED, Interval, Values, interval_rank, robust_deviation

MOST_SEEDS = 200
"""Beyond this number of seeds nothing is said of a single look."""


class Sides(NamedTuple):
    """The probabilities that a seed lies below a region's margins and above them."""

    below: float
    above: float


class Forecast(NamedTuple):
    """The probabilities of the two verdicts, and those that the looks end at each look."""

    supported: float
    refuted: float
    ends: tuple[float, ...]


def forecast(
    looks: Sequence[int],
    support: Sequence[int],
    refute: Sequence[int],
    region: Interval,
    sides: Sides,
    present: tuple[int, int, int] = (0, 0, 0),
) -> Forecast:
    """How the looks at one term end, for independent seeds with the given sides.

    ``support`` and ``refute`` are the boundaries of every look, −1 where it cannot decide: the
    largest numbers of seeds that may contradict the verdict. Looks also end where seeds cannot
    reach a verdict at the last look. ``present`` are the seeds that are there already: their
    number, and how many lie below and above. Exact: the probabilities of all counts (below, above),
    shape (N + 1, N + 1), without the sequences that have ended.
    """
    last = looks[-1]
    supported, refuted = 0.0, 0.0
    ends = []
    at, *counted = present
    counts = _start(last, *counted)
    for n, b, c in zip(looks, support, refute, strict=True):
        for _ in range(n - at):
            counts = _next(counts, sides)
        at = n
        decided = _decided(last, n, b, c, region)
        supported += float(counts[decided[0]].sum())
        refuted += float(counts[decided[1]].sum())
        # as many seeds contradict a verdict at the last look as do now, if all further ones agree
        possible = _decided(last, n, support[-1], refute[-1], region)
        over = decided[0] | decided[1] | ~(possible[0] | possible[1]) | (n == last)
        ends.append(float(counts[over].sum()))
        counts = np.where(over, 0.0, counts)
    return Forecast(supported, refuted, tuple(ends))


def single_look(tail: float, region: Interval, sides: Sides) -> int | None:
    """The least number of seeds at which a single look decides with power 0.8.

    None if that needs more than :data:`MOST_SEEDS`. ``tail`` is the tail of the interval.
    """
    counts = _start(MOST_SEEDS)
    for n in range(1, MOST_SEEDS + 1):
        counts = _next(counts, sides)
        b = interval_rank(n, tail) - 1
        supported, refuted = _decided(n, n, b, b, region)
        if b >= 0 and counts[: n + 1, : n + 1][supported | refuted].sum() >= DETECTED:
            return n
    return None


def claim_forecast(
    claim: Criterion, plan: Schedule, values: Sequence[Values]
) -> tuple[Values, Sides, Forecast]:
    """The forecast of a claim, with the values and the sides of the term that it rests on.

    ``values`` are those of its terms. A claim with parts rests on one of them: ``all_of`` on the
    part that is supported least often, ``any_of`` on the one that is supported most often.
    """
    levels = [term_levels(plan, claim, n) for n in plan.looks]
    support, refute = ([level.k - 1 for level in kind] for kind in zip(*levels, strict=True))
    region = claim.claimed
    forecasts = [
        (of_term, sides, forecast(plan.looks, support, refute, region.bounds, sides))
        for of_term in values
        for sides in [sides_of(of_term, region)]
    ]
    pick = max if claim.kind == "any_of" else min
    return pick(forecasts, key=lambda each: (each[2].supported, -each[2].refuted))


def decided_at(claim: Criterion, plan: Schedule, values: Sequence[Values], look: int) -> float:
    """The probability that a look decides an open claim, if more seeds are like the present.

    ``values`` are those of its terms, shape (n,) each. Of a claim with parts, the probability is
    that of the part on which the verdict rests.
    """
    support, refute = (level.k - 1 for level in term_levels(plan, claim, look))
    region, chances = claim.claimed, []
    for of_term in values:
        finished = of_term[np.isfinite(of_term)]
        low, high = min(region.ends), max(region.ends)
        below, above = int((finished < low).sum()), int((finished > high).sum())
        if region.of == "seeds":
            above = int(region.contains(finished).sum())
            below = of_term.size - above
        sides, present = sides_of(of_term, region), (of_term.size, below, above)
        chances.append(forecast([look], [support], [refute], region.bounds, sides, present)[:2])
    supported, refuted = zip(*chances, strict=True)
    if claim.kind == "all_of":
        return float(max(min(supported), max(refuted)))
    if claim.kind == "any_of":
        return float(max(max(supported), min(refuted)))
    return float(supported[0] + refuted[0])


def sides_of(values: Values, region: Region) -> Sides:
    """The sides of seeds like ``values``, shape (n,), of which NaN failed; 0 without values.

    Finished seeds are normal around their median with the robust standard deviation
    1.4826 · median |d − median d|. For a claim about most seeds, of n finished seeds s solve, and
    (s + ½) / (n + 1) is the probability. The share of failed seeds fails; a failed seed contradicts
    a band like one outside it, on either side alike.
    """
    finished = values[np.isfinite(values)]
    if not finished.size:
        return Sides(0.0, 0.0)
    share = finished.size / values.size
    if region.of == "seeds":
        solved = float(region.contains(finished).sum() + 0.5) / (finished.size + 1)
        return Sides(share * (1.0 - solved), share * solved)
    low, high = min(region.ends), max(region.ends)
    median = float(np.median(finished))
    spread = robust_deviation(finished)
    if spread:
        below, above = norm.cdf(low, median, spread), norm.sf(high, median, spread)
    else:
        below, above = median < low, median > high
    failed = (1.0 - share) / 2 if low < high else 0.0
    return Sides(share * float(below) + failed, share * float(above) + failed)


def in_and_out(sides: Sides, region: Region) -> tuple[float, float]:
    """The probabilities that a seed lies in the region, and outside it and not on its margin."""
    below, above = sides
    if region.is_band:
        return 1.0 - below - above, below + above
    return (above, below) if region.high == math.inf else (below, above)


def _start(most: int, below: int = 0, above: int = 0) -> Any:
    counts = np.zeros((most + 1, most + 1))
    counts[below, above] = 1.0
    return counts


def _next(counts: Any, sides: Sides) -> Any:
    """The probabilities of all counts after one more seed."""
    following = max(1.0 - sides.below - sides.above, 0.0) * counts
    following[1:] += sides.below * counts[:-1]
    following[:, 1:] += sides.above * counts[:, :-1]
    return following


def _decided(most: int, n: int, support: int, refute: int, region: Interval) -> tuple[Any, Any]:
    """At which counts of ``n`` seeds, shape (most + 1, most + 1), a term is supported, refuted."""
    below, above = np.indices((most + 1, most + 1))
    upward, downward = n - above, n - below  # the seeds that contradict a median above, below
    low, high = map(math.isfinite, region)
    if low and high:
        return (below <= support) & (above <= support), (upward <= refute) | (downward <= refute)
    for_it, against = (upward, downward) if low else (downward, upward)
    return for_it <= support, against <= refute
