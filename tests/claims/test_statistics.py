import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binom

from journeylab.claims.looks import seeds_needed
from journeylab.claims.statistics import (
    decide,
    detectable,
    interval_rank,
    median_interval,
    success_interval,
    success_needed,
)

tails = st.floats(1e-4, 0.2)
numbers = st.floats(-1e6, 1e6) | st.sampled_from([0.0, 0.02, 1.0])
samples = st.lists(numbers | st.just(math.nan), min_size=1, max_size=40).map(np.array)


def interval_at(values, tail):
    """The interval at the largest rank that a tail allows."""
    return median_interval(values, interval_rank(values.size, tail))


@given(n=st.integers(1, 60), tail=tails)
def test_the_rank_is_the_largest_k_within_the_tail(n, tail):
    k = interval_rank(n, tail)
    assert k == 0 or binom.cdf(k - 1, n, 0.5) <= tail
    assert binom.cdf(k, n, 0.5) > tail


def test_the_rank_includes_a_tail_that_is_met_exactly():
    assert interval_rank(12, 13 / 4096) == 2
    low, _ = interval_at(np.arange(12.0), 13 / 4096)
    assert low == 1.0


@given(tail=tails)
def test_seeds_needed_is_the_first_decidable_n(tail):
    n = seeds_needed(tail)
    assert interval_rank(n, tail) >= 1
    assert interval_rank(n - 1, tail) == 0


@given(values=samples, tail=tails)
def test_interval_is_made_of_order_statistics(values, tail):
    n, k = values.size, interval_rank(values.size, tail)
    worst = np.sort(np.where(np.isnan(values), -np.inf, values))
    best = np.sort(np.where(np.isnan(values), np.inf, values))
    expected = (worst[k - 1], best[n - k]) if k else (-math.inf, math.inf)
    assert interval_at(values, tail) == expected


@given(n=st.integers(1, 40), solved=st.integers(0, 40), tail=tails)
def test_solving_is_decided_by_the_same_binomial(n, solved, tail):
    solved = min(solved, n)
    # where a binomial probability meets the tail exactly, rounding may choose either side
    assume(not np.isclose(binom.cdf(np.arange(n + 1), n, 0.5), tail, rtol=1e-6).any())
    values = np.array([1.0] * solved + [0.0] * (n - solved))
    word = decide(success_interval(values, tail), (0.5, math.inf))
    k = interval_rank(n, tail)
    expected = "inconclusive"
    if n - solved <= k - 1:
        expected = "supported"
    elif solved <= k - 1:
        expected = "refuted"
    assert word == expected


def test_a_failed_seed_neither_solves_nor_refutes():
    values = np.array([1.0] * 6 + [math.nan] * 6)
    pessimistic = success_interval(np.array([1.0] * 6 + [0.0] * 6), 0.004)
    optimistic = success_interval(np.ones(12), 0.004)
    assert success_interval(values, 0.004) == (pessimistic[0], optimistic[1])


@pytest.mark.parametrize(
    ("interval", "region", "word"),
    [
        ((0.03, 0.2), (0.02, math.inf), "supported"),
        ((0.03, math.inf), (0.02, math.inf), "supported"),
        ((0.02, 0.2), (0.02, math.inf), "inconclusive"),
        ((-0.1, 0.01), (0.02, math.inf), "refuted"),
        ((-0.1, 0.02), (0.02, math.inf), "inconclusive"),
        ((-math.inf, math.inf), (0.02, math.inf), "inconclusive"),
        ((-1.0, -0.1), (-math.inf, 0.0), "supported"),
        ((0.1, 0.3), (-math.inf, 0.0), "refuted"),
        ((-0.01, 0.01), (-0.02, 0.02), "supported"),
        ((-0.02, 0.01), (-0.02, 0.02), "inconclusive"),
        ((0.03, 0.05), (-0.02, 0.02), "refuted"),
        ((-0.05, -0.03), (-0.02, 0.02), "refuted"),
        ((-0.05, 0.05), (-0.02, 0.02), "inconclusive"),
    ],
)
def test_the_word_says_where_the_interval_lies(interval, region, word):
    assert decide(interval, region) == word


def of_spread(n, spread=1.0):
    """n values whose robust standard deviation is ``spread``."""
    return np.array([-1.0, 1.0] * (n // 2)) * spread / 1.4826


def test_a_band_needs_more_and_failed_seeds_and_outliers_do_not_count():
    values = of_spread(12)
    assert detectable(values, 2, band=True) == pytest.approx(1.68, abs=0.005)
    values[:2] = math.nan
    assert detectable(values, 2, band=False) == pytest.approx(1.48, abs=0.005)
    values[3] = 1e9
    assert detectable(values, 2, band=False) == pytest.approx(1.48, abs=0.005)


def test_nothing_is_detectable_without_a_k_or_a_spread():
    assert detectable(of_spread(4), 0, band=False) is None
    assert detectable(np.ones(12), 2, band=False) is None
    assert detectable(np.full(12, math.nan), 2, band=True) is None


def test_success_is_decided_by_its_probability():
    assert success_needed(12, 2) == pytest.approx(0.93, abs=0.005)
    assert binom.sf(10, 12, success_needed(12, 2)) == pytest.approx(0.8)


@pytest.mark.parametrize("band", [False, True])
@pytest.mark.parametrize(("n", "k"), [(12, 2), (12, 1), (30, 6)])
def test_normal_data_at_the_detectable_distance_are_decided_four_times_of_five(n, k, band):
    distance = detectable(of_spread(n), k, band=band)
    assert detectable(of_spread(n, 3.0) + 7, k, band=band) == pytest.approx(3 * distance)
    values = np.sort(np.random.default_rng(n + k).standard_normal((20_000, n)), axis=1)
    low, high = values[:, k - 1], values[:, n - k]
    decided = (low > -distance) & (high < distance) if band else low + distance > 0
    assert decided.mean() == pytest.approx(0.8, abs=0.03)
