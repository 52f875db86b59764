"""Over thousands of simulated studies, how often is any verdict of a study wrong?"""

import math

import numpy as np
import pytest
from scipy.stats import binom, norm, t

from journeylab.claims.statistics import decide, median_interval, order

SEEDS, ALPHA, STUDIES = 12, 0.05, 20_000
MARGIN, BAND = 0.02, (-0.02, 0.02)


def normal(rng, shape):
    return rng.normal(size=shape)


def skewed(rng, shape):
    return rng.exponential(size=shape) - math.log(2)


def left_skewed(rng, shape):
    return -skewed(rng, shape)


def tied(rng, shape):
    return rng.integers(-2, 3, size=shape) / 11


def two_valued(rng, shape):
    """Half of the seeds lie exactly at the median, half far above: the hardest tied case."""
    return rng.integers(0, 2, size=shape).astype(float)


def cauchy(rng, shape):
    return rng.standard_cauchy(size=shape)


def failing(rng, shape):
    values = rng.normal(size=shape)
    values[rng.random(shape) < 0.03] = np.nan
    return values


DISTRIBUTIONS = [normal, skewed, left_skewed, tied, two_valued, cauchy, failing]


def bounds(values, tail):
    """The interval of every row at once; ``values`` (…, n)."""
    k = order(values.shape[-1], tail)
    failed = np.isnan(values)
    low = np.partition(np.where(failed, -np.inf, values), k - 1)[..., k - 1]
    high = np.partition(np.where(failed, np.inf, values), -k)[..., -k]
    return low, high


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_the_vectorised_rule_is_the_judges(distribution):
    values = MARGIN + 0.05 * distribution(np.random.default_rng(1), (150, SEEDS))
    for tail in (ALPHA / 12, ALPHA / 3):
        low, high = bounds(values, tail)
        for row, interval in zip(values, zip(low, high, strict=True), strict=True):
            assert median_interval(row, tail) == interval


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("offset", [0.0, 1e-6, -1e-6, 0.03, -0.3])
def test_directional_studies_are_rarely_wrong(distribution, offset):
    rows = 15
    rng = np.random.default_rng(2)
    values = MARGIN + offset + 0.1 * distribution(rng, (STUDIES, rows, SEEDS))
    low, high = bounds(values, ALPHA / rows)
    supported, refuted = low > MARGIN + 1e-9, high < MARGIN - 1e-9
    wrong = refuted if offset > 0 else supported
    assert wrong.any(axis=1).mean() <= ALPHA


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("spread", [0.01, 0.1])
@pytest.mark.parametrize("theta", [BAND[0], BAND[1], BAND[1] - 1e-6, 0.0, 0.1])
def test_studies_of_bands_are_rarely_wrong(distribution, spread, theta):
    rows = 7
    rng = np.random.default_rng(3)
    values = theta + spread * distribution(rng, (STUDIES, rows, SEEDS))
    low, high = bounds(values, ALPHA / (2 * rows))
    true = BAND[0] < theta < BAND[1]
    supported = (low > BAND[0] + 1e-9) & (high < BAND[1] - 1e-9)
    refuted = (low > BAND[1] + 1e-9) | (high < BAND[0] - 1e-9)
    wrong = refuted if true else supported
    assert wrong.any(axis=1).mean() <= ALPHA


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_all_of_is_rarely_wrong(distribution):
    parts, tail = 6, ALPHA / 2
    noise = 0.1 * distribution(np.random.default_rng(4), (STUDIES, parts, SEEDS))
    one_false = noise + np.array([0.0] + [5.0] * (parts - 1))[:, None]
    low, _ = bounds(one_false, tail)
    assert (low > 1e-9).all(axis=1).mean() <= tail
    _, high = bounds(noise + 1e-6, tail / parts)
    assert (high < -1e-9).any(axis=1).mean() <= tail


def test_two_looks_share_alpha():
    rng = np.random.default_rng(5)
    values = rng.normal(size=(STUDIES, 12, 30))
    first, _ = bounds(values[..., :12], ALPHA / 2 / 12)
    second, _ = bounds(values, ALPHA / 2 / 12)
    wrong = (first > 0) | (second > 0)
    assert wrong.any(axis=1).mean() <= ALPHA


def test_power_at_twelve_seeds(record_property, capsys):
    """A directional row of a study with M ≤ 15 needs 11 of 12 seeds beyond the margin."""
    rng = np.random.default_rng(6)
    lines = []
    for distance in (0.5, 1.0, 1.5, 2.0, 2.5):
        values = distance + rng.normal(size=(STUDIES, SEEDS))
        power = float((bounds(values, ALPHA / 12)[0] > 0).mean())
        exact = binom.sf(10, SEEDS, norm.cdf(distance))
        assert power == pytest.approx(exact, abs=0.015)
        record_property(f"power at {distance} standard deviations", round(power, 3))
        lines.append(f"{distance} sd: {power:.2f}")
    with capsys.disabled():
        print("\npower at 12 seeds, M = 12, effect beyond the margin by", "; ".join(lines))


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_whole_studies_get_the_words_of_the_rule(distribution, judge):
    rng = np.random.default_rng(7)
    rows = 12
    effect = [
        {"difference": [{"run": f"a/v{row}", "measure": "x"}, {"run": "b/w", "measure": "x"}]}
        for row in range(rows)
    ]
    for offset in (0.0, 0.2, -0.2):
        base = rng.normal(size=SEEDS)
        values = base + MARGIN + offset + 0.1 * distribution(rng, (rows, SEEDS))
        runs = {
            f"a/v{row}": [None if math.isnan(x) else x for x in values[row]] for row in range(rows)
        }
        verdicts = judge(
            runs | {"b/w": list(base)}, [(one, {"above": MARGIN}) for one in effect]
        ).verdicts
        low, high = bounds(values - base, ALPHA / rows)
        for verdict, interval in zip(verdicts, zip(low, high, strict=True), strict=True):
            assert verdict.verdict == decide(interval, (MARGIN, math.inf))


def test_a_t_interval_is_wrong_far_more_often_where_runs_fail_rarely():
    """One run in thirty fails and scores far lower: the mean moves, its t interval does not."""
    rng = np.random.default_rng(0)
    values = rng.normal(scale=0.01, size=(STUDIES, SEEDS))
    values[rng.random(values.shape) < 1 / 30] -= 1.0
    truth = -1.0 / 30
    center, spread = values.mean(1), values.std(1, ddof=1) / math.sqrt(SEEDS)
    reach = t.ppf(1 - ALPHA / 2, SEEDS - 1) * spread
    wrong_by_t = (np.abs(center - truth) > reach).mean()
    low, high = bounds(values, ALPHA / 2)
    median = norm.ppf(0.5 / (1 - 1 / 30)) * 0.01
    wrong_by_rank = ((low > median) | (high < median)).mean()
    assert wrong_by_t > 5 * ALPHA
    assert wrong_by_rank <= ALPHA
