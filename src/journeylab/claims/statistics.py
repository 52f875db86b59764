"""The statistics of every verdict: the median over seeds and its distribution-free interval.

With θ the population median of i.i.d. differences d₁ … dₙ and d₍₁₎ ≤ … ≤ d₍ₙ₎, for every
distribution P(θ < d₍ₖ₎) ≤ P(Bin(n, ½) ≤ k − 1), and likewise above. Failed seeds are NaN.
Source: Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2.
"""

import math
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import beta, binom, binomtest, multinomial, norm

Values = NDArray[np.float64]
Interval = tuple[float, float]
Decision = Literal["supported", "refuted", "inconclusive"]


def interval_rank(n: int, tail: float) -> int:
    """The largest integer k with P(Bin(n, ½) ≤ k − 1) ≤ tail; 0 if there is none."""
    return int(np.searchsorted(binom.cdf(np.arange(n), n, 0.5), tail, side="right"))


class Measured(NamedTuple):
    """The values of a term, one per seed, and the distance up to which each lies at a threshold."""

    values: Values
    tolerance: Values

    def at(self, *thresholds: float) -> Values:
        """The values, where one that lies at a threshold is the threshold."""
        values = self.values
        for threshold in thresholds:
            with np.errstate(invalid="ignore"):
                near = np.abs(self.values - threshold) <= self.tolerance
            values = np.where(near, threshold, values)
        return values

    def extended(self, n: int, value: float) -> "Measured":
        """The same with further seeds, up to ``n``, that all have one value."""
        further = np.full(n - self.values.size, value)
        return Measured(
            np.append(self.values, further), np.append(self.tolerance, np.zeros_like(further))
        )


def is_single(values: Values) -> NDArray[np.bool_]:
    """Where a value is one of float32."""
    with np.errstate(over="ignore"):
        return np.equal(values.astype(np.float32), values)


def spacing(values: Values, single: NDArray[np.bool_]) -> Values:
    """Four spacings of floats at each value: of float32 where it is ``single``, else of float64."""
    with np.errstate(over="ignore", invalid="ignore"):
        coarse = np.spacing(np.abs(values.astype(np.float32))).astype(np.float64)
        return 4.0 * np.where(single, coarse, np.spacing(np.abs(values)))


def gated_median(values: Values) -> float:
    """The median over seeds that a gate compares; failed seeds count as −∞."""
    return float(np.median(np.where(np.isfinite(values), values, -np.inf)))


def reaches(measured: Measured, least: float) -> bool:
    """Whether the median that a gate compares is at least ``least``, or lies at it."""
    values, tolerance = measured
    order = np.argsort(np.where(np.isfinite(values), values, -np.inf), kind="stable")
    middle = order[[(values.size - 1) // 2, values.size // 2]]
    median = np.array([gated_median(values)])
    return bool(Measured(median, tolerance[middle].max(keepdims=True)).at(least)[0] >= least)


def median_interval(differences: Values, k: int) -> Interval:
    """[d₍ₖ₎, d₍ₙ₊₁₋ₖ₎] of differences, shape (n,); unbounded if k = 0.

    Each side misses the median with probability at most P(Bin(n, ½) ≤ k − 1). A value that is not
    finite counts as −∞ in the lower bound and as +∞ in the upper bound.
    """
    n = differences.size
    if k == 0:
        return -math.inf, math.inf
    failed = ~np.isfinite(differences)
    pessimistic = np.sort(np.where(failed, -np.inf, differences))
    optimistic = np.sort(np.where(failed, np.inf, differences))
    return float(pessimistic[k - 1]), float(optimistic[n - k])


def success_interval(solved: Values, tail: float) -> Interval:
    """Clopper–Pearson interval of P(success) with non-coverage ≤ tail on each side.

    ``solved``, shape (n,), is 1 for success, 0 for no success and NaN for a failed seed. A failed
    seed counts as no success in the lower bound and as success in the upper bound.
    """
    n = solved.size
    if n == 0:
        return 0.0, 1.0
    least, most = int(np.nansum(solved)), int(np.nansum(solved) + np.isnan(solved).sum())
    return _exact_interval(least, n, tail)[0], _exact_interval(most, n, tail)[1]


@cache
def _exact_interval(successes: int, n: int, tail: float) -> Interval:
    found = binomtest(successes, n).proportion_ci(1.0 - 2.0 * tail, method="exact")
    return float(found.low), float(found.high)


DETECTED = 0.8
"""The power that defines a detectable distance."""


def success_needed(n: int, k: int) -> float:
    """The p with P(Bin(n, p) ≥ n + 1 − k) = 0.8, so that d₍ₖ₎ exceeds a margin with power 0.8.

    p is the probability that a seed lies beyond the margin.
    """
    return float(beta.ppf(DETECTED, n + 1 - k, k))


def detectable(values: Values, k: int, *, band: bool) -> float | None:
    """Minimum detectable distance of the median from a margin, with power 0.8 at this spread.

    Normal values are assumed, with the robust standard deviation σ of ``values``, shape (n,). Then
    δ = z·σ, where P(d₍ₖ₎ > margin) = 0.8 if the median lies δ above the margin. For a band it is
    the half-width that contains both ends of the interval with probability 0.8. None if k or the
    spread is 0.
    """
    finished, n = values[np.isfinite(values)], values.size
    if not k or not finished.size:
        return None
    spread = robust_deviation(finished)
    if spread == 0.0:
        return None
    if not band:
        return spread * float(norm.ppf(success_needed(n, k)))
    return spread * _band_needed(n, k)


@cache
def _band_needed(n: int, k: int) -> float:
    """The half-width that contains both ends of the interval with probability 0.8 where σ = 1."""
    return float(brentq(lambda half: _both_ends_within(half, n, k) - DETECTED, 0.1, 9.0))


def robust_deviation(values: Values) -> float:
    """1.4826 · median |d − median d|: the standard deviation of normal values d."""
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))


def _both_ends_within(half: float, n: int, k: int) -> float:
    """P(−half < d₍ₖ₎ and d₍ₙ₊₁₋ₖ₎ < half) for n standard normal values."""
    beyond, counts = norm.sf(half), range(k)
    return float(
        sum(
            multinomial.pmf([i, j, n - i - j], n, [beyond, beyond, 1 - 2 * beyond])
            for i in counts
            for j in counts
        )
    )


def decide(interval: Interval, region: Interval) -> Decision:
    """Supported if the interval lies inside the open region (lo, hi), refuted if outside it.

    An infinite end of the region is no bound. An end of the interval that equals a margin does not
    decide.
    """
    (low, high), (lower, upper) = interval, region
    if (lower == -math.inf or lower < low) and (upper == math.inf or high < upper):
        return "supported"
    return "refuted" if upper < low or high < lower else "inconclusive"
