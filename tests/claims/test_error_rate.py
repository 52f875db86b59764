"""Over thousands of simulated studies, how often is any verdict of a study wrong?

Studies are judged at the looks of ``claims/looks.yaml``, with the tails that the judge uses.
"""

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm, t

from journeylab.claims.looks import schedule
from journeylab.claims.register import LOOKS, Looks, Register
from journeylab.claims.statistics import decide, interval_rank, median_interval
from journeylab.config import build, read_yaml

FILE = Path(__file__).parents[2] / "claims" / LOOKS
REGISTERED = build(Looks, read_yaml(FILE), LOOKS)
ALPHA, WEIGHTS = REGISTERED.alpha, REGISTERED.looks
FIRST, LAST = min(WEIGHTS), max(WEIGHTS)
STUDIES, MOST_ROWS = 20_000, 14
MARGIN, BAND = 0.02, (-0.02, 0.02)
ROUNDING = 1e-9


def interval_at(values, tail):
    """The interval at the largest rank that a tail allows."""
    return median_interval(values, interval_rank(values.size, tail))


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


class Noise:
    """Noise of median 0 for all rows and seeds of many studies, sorted once for each look.

    Order statistics keep their rank under x → center + spread · x, so that every effect and spread
    below reads the same sorted values.
    """

    def __init__(self, distribution, studies=STUDIES, rows=MOST_ROWS):
        self.values = distribution(np.random.default_rng(2), (studies, rows, LAST))
        self.sorted = cache(self._sorted)

    def _sorted(self, n):
        values = self.values[..., :n]
        failed = np.isnan(values)
        worst = np.sort(np.where(failed, -np.inf, values))
        return worst, np.sort(np.where(failed, np.inf, values)) if failed.any() else worst

    def interval(self, n, tail, rows):
        """The interval of every row at a look, two arrays of shape (studies, rows)."""
        worst, best = self.sorted(n)
        k = interval_rank(n, tail)
        assert k > 0
        return worst[:, :rows, k - 1], best[:, :rows, n - k]

    def words(self, center, spread, region, tails, rows, refute=None):
        """Which rows the looks support and which they refute; the first decision is final."""
        (lower, upper), refute = region, refute or tails
        supported = refuted = np.zeros((len(self.values), rows), dtype=bool)
        for n in tails:
            low, high = (center + spread * end for end in self.interval(n, tails[n], rows))
            support = (low > lower + ROUNDING) & ((upper == math.inf) | (high < upper - ROUNDING))
            low, high = (center + spread * end for end in self.interval(n, refute[n], rows))
            opposite = (low > upper + ROUNDING) | (high < lower - ROUNDING)
            still_open = ~(supported | refuted)
            supported, refuted = (
                supported | (still_open & support),
                refuted | (still_open & opposite & ~support),
            )
        return supported, refuted


@pytest.fixture(scope="module", params=DISTRIBUTIONS, ids=lambda param: param.__name__)
def noise(request):
    return Noise(request.param)


def judges_tails(total):
    """The tails that the judge uses in a study with M = ``total`` one-sided rows."""
    row = {"theorem": "thm:x", "statement": "So.", "source": "corrected", "region": {"above": 0}}
    row |= {"effect": {"run": "a/x", "measure": "x"}}
    study = {
        "measures": {"x": {"label": "x", "metric": "x"}},
        "claims": [row | {"id": f"exp1.{index}"} for index in range(total)],
    }
    register = Register.model_validate({**dict(REGISTERED), "studies": {"exp1": study}})
    looks = schedule(register, register.studies["exp1"])
    return {n: looks.tail(n) for n in looks.looks}


def directional_error(noise, rows, offset, tails):
    """The share of studies with a wrong verdict, all rows claiming “above the margin”."""
    above = (MARGIN, math.inf)
    supported, refuted = noise.words(MARGIN + offset, 0.1, above, tails, rows)
    return (refuted if offset > 0 else supported).any(axis=1).mean()


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("n", WEIGHTS)
def test_the_vectorised_rule_is_the_judges(distribution, n):
    few = Noise(distribution, studies=150, rows=1)
    for tail in (ALPHA / 12, ALPHA / 3):
        low, high = few.interval(n, tail, 1)
        for values, interval in zip(few.values[:, 0, :n], np.hstack([low, high]), strict=True):
            assert interval_at(values, tail) == tuple(interval)


@pytest.mark.parametrize("offset", [0.0, 1e-6, -1e-6, 0.03, -0.3])
@pytest.mark.parametrize("rows", [1, 4, MOST_ROWS])
def test_directional_studies_are_rarely_wrong(noise, rows, offset):
    assert directional_error(noise, rows, offset, judges_tails(rows)) <= ALPHA


@pytest.mark.parametrize("rows", [1, 4])
def test_doubled_tails_would_be_wrong_too_often(rows):
    """With 1 or 4 rows the next k fits into a doubled tail: the test above would notice it."""
    noise = Noise(normal, rows=rows)
    doubled = {n: 2 * tail for n, tail in judges_tails(rows).items()}
    assert directional_error(noise, rows, -1e-6, doubled) > ALPHA


@pytest.mark.parametrize("spread", [0.01, 0.1])
@pytest.mark.parametrize("theta", [BAND[0], BAND[1], BAND[1] - 1e-6, 0.0, 0.1])
def test_studies_of_bands_are_rarely_wrong(noise, spread, theta):
    rows = MOST_ROWS // 2
    supported, refuted = noise.words(theta, spread, BAND, judges_tails(2 * rows), rows)
    wrong = refuted if BAND[0] < theta < BAND[1] else supported
    assert wrong.any(axis=1).mean() <= ALPHA


def test_all_of_is_rarely_wrong(noise):
    parts, tails, above = 6, judges_tails(2), (0.0, math.inf)
    one_false = np.array([0.0] + [5.0] * (parts - 1))
    supported, _ = noise.words(one_false, 0.1, above, tails, parts)
    assert supported.all(axis=1).mean() <= ALPHA / 2
    per_part = {n: tail / parts for n, tail in tails.items()}
    _, refuted = noise.words(1e-6, 0.1, above, tails, parts, refute=per_part)
    assert refuted.any(axis=1).mean() <= ALPHA / 2


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("seeds", WEIGHTS)
def test_whole_studies_get_the_words_of_the_rule(distribution, seeds, judge):
    """With 4 rows, as a doubled tail would change k at the first look."""
    rng = np.random.default_rng(7)
    rows = 4
    tails = {n: weight * ALPHA / rows for n, weight in WEIGHTS.items() if n <= seeds}
    effects = [
        {"difference": [{"run": f"a/v{row}", "measure": "x"}, {"run": "b/w", "measure": "x"}]}
        for row in range(rows)
    ]
    for offset in (0.0, 0.05, -0.1):
        base = rng.normal(size=seeds)
        values = base + MARGIN + offset + 0.1 * distribution(rng, (rows, seeds))
        runs = {
            f"a/v{row}": [None if math.isnan(x) else x for x in values[row]] for row in range(rows)
        }
        claims = [(effect, {"above": MARGIN}) for effect in effects]
        verdicts = judge(runs | {"b/w": list(base)}, claims, looks=WEIGHTS).verdicts
        for verdict, differences in zip(verdicts, values - base, strict=True):
            words = [
                decide(interval_at(differences[:n], tail), (MARGIN, math.inf))
                for n, tail in tails.items()
            ]
            decided = [word for word in words if word != "inconclusive"]
            assert verdict.verdict == (decided or words)[0]


def test_a_t_interval_is_wrong_far_more_often_where_runs_fail_rarely():
    """One run in thirty fails and scores far lower: the mean moves, its t interval does not."""
    rng = np.random.default_rng(0)
    values = rng.normal(scale=0.01, size=(STUDIES, FIRST))
    values[rng.random(values.shape) < 1 / 30] -= 1.0
    truth = -1.0 / 30
    center, spread = values.mean(1), values.std(1, ddof=1) / math.sqrt(FIRST)
    reach = t.ppf(1 - ALPHA / 2, FIRST - 1) * spread
    wrong_by_t = (np.abs(center - truth) > reach).mean()
    k, ranked = interval_rank(FIRST, ALPHA / 2), np.sort(values)
    median = norm.ppf(0.5 / (1 - 1 / 30)) * 0.01
    wrong_by_rank = ((ranked[:, k - 1] > median) | (ranked[:, FIRST - k] < median)).mean()
    assert wrong_by_t > 5 * ALPHA
    assert wrong_by_rank <= ALPHA
