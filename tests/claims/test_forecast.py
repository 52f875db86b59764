"""How looks will end: exact probabilities against all sequences of seeds, judged one by one."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from journeylab.claims.forecast import Sides, claim_forecast, forecast, sides_of, single_look
from journeylab.claims.looks import Schedule, boundaries
from journeylab.claims.regions import Region
from journeylab.claims.statistics import decide, interval_rank, median_interval, success_needed

from ..made import register_of

LOOKS = (2, 4, 6)
UP, DOWN, BAND = (0.0, math.inf), (-math.inf, 0.0), (-1.0, 1.0)


def enumerated(support, refute, region, sides, failing):
    """The same by judging every sequence of seeds; ``failing`` seeds stand for those between."""
    values = (-2.0, math.nan if failing else 0.0, 2.0)
    chances = (sides.below, 1 - sides.below - sides.above, sides.above)

    @cache
    def judged(seen, i):
        values = np.array(seen, dtype=float)
        intervals = [median_interval(values, ranks[i] + 1) for ranks in (support, refute)]
        if decide(intervals[0], region) == "supported":
            return "supported"
        return "refuted" if decide(intervals[1], region) == "refuted" else "open"

    def word(seen, i):
        return judged(tuple(sorted(map(str, seen))), i)

    totals = {"supported": 0.0, "refuted": 0.0, "open": 0.0}
    ends = [0.0] * len(LOOKS)
    for sequence in itertools.product(range(3), repeat=LOOKS[-1]):
        chance = math.prod(chances[i] for i in sequence)
        seeds = [values[i] for i in sequence]
        for i, n in enumerate(LOOKS):
            seen = seeds[:n]
            verdict = word(seen, i)
            agreeing = ([*seen, *[value] * (LOOKS[-1] - n)] for value in (-2.0, 0.0, 2.0))
            hopeless = all(word(each, -1) == "open" for each in agreeing)
            if verdict != "open" or hopeless or n == LOOKS[-1]:
                totals[verdict] += chance
                ends[i] += chance
                break
    return totals, ends


@pytest.mark.parametrize("sides", [Sides(0.2, 0.65), Sides(0.0, 1.0), Sides(0.0, 0.0)])
@pytest.mark.parametrize(
    ("region", "failing"), [(UP, False), (UP, True), (DOWN, False), (DOWN, True), (BAND, False)]
)
def test_a_forecast_sums_over_all_sequences_of_seeds(region, failing, sides):
    support, refute = (-1, 0, 1), (0, 0, 1)
    outlook = forecast(LOOKS, support, refute, region, sides)
    totals, ends = enumerated(support, refute, region, sides, failing)
    assert outlook.supported == pytest.approx(totals["supported"], abs=1e-12)
    assert outlook.refuted == pytest.approx(totals["refuted"], abs=1e-12)
    assert outlook.ends == pytest.approx(ends, abs=1e-12)


def test_at_the_margin_a_verdict_has_the_probability_that_the_looks_share():
    looks = Schedule((12, 16, 20, 24, 28, 32, 36), 0.05, 6)
    limits = boundaries(looks.looks, looks.tail)
    outlook = forecast(looks.looks, limits, limits, UP, Sides(0.5, 0.5))
    assert outlook.supported == pytest.approx(outlook.refuted)
    assert 0.8 * looks.tail < outlook.supported <= looks.tail


def test_a_single_look_has_power_08():
    for tail, chance in ((0.01, 0.9), (0.004, 0.75)):
        n = single_look(tail, UP, Sides(1 - chance, chance))
        assert chance >= success_needed(n, interval_rank(n, tail)) - 1e-6
        before = interval_rank(n - 1, tail)
        assert binom.cdf(before - 1, n - 1, 1 - chance) < 0.8
    assert single_look(0.01, UP, Sides(0.48, 0.52)) is None
    assert single_look(0.01, BAND, Sides(0.0, 0.0)) < single_look(0.01, BAND, Sides(0.1, 0.1))


def test_the_sides_of_normal_seeds_follow_from_median_and_spread():
    values = np.array([0.0, 1.0, 2.0, 3.0])
    below, above = sides_of(values, Region(above=1.5))
    assert below == above == 0.5
    assert sides_of(values, Region(inside=(-10.0, 13.0))) == pytest.approx((0, 0), abs=1e-9)
    failed = sides_of(np.append(values, [np.nan] * 4), Region(above=1.5))
    assert failed == (0.25, 0.25)
    assert sum(sides_of(np.array([0.0, np.nan]), Region(inside=(-1.0, 1.0)))) == 0.5
    assert sides_of(np.full(4, np.nan), Region(above=0.0)) == (0, 0)


def test_equal_seeds_are_certain_and_those_at_the_margin_decide_nothing():
    assert sides_of(np.ones(4), Region(above=0.5)) == (0, 1)
    assert sides_of(np.ones(4), Region(above=1.0)) == (0, 0)


def test_a_few_solving_seeds_are_not_certain_to_solve():
    region = Region(solves={"at_least": 1.0})
    assert sides_of(np.ones(4), region) == pytest.approx((0.1, 0.9))
    assert sides_of(np.array([1.0, 0.3]), region) == pytest.approx((0.5, 0.5))


@pytest.mark.parametrize("kind", ["all_of", "any_of"])
def test_a_claim_with_parts_rests_on_the_part_that_decides(kind):
    cells = [{"run": f"a/{name}", "measure": "x"} for name in "xy"]
    [claim] = register_of([({kind: cells}, {"above": 0.0})]).studies["exp1"].claims
    strong, weak = np.array([3.0, 4.0, 5.0]), np.array([-1.0, 0.1, 1.0])
    looks = Schedule((12, 16, 20), 0.05, 4)
    values, _, outlook = claim_forecast(claim, looks, [weak, strong])
    assert values is (weak if kind == "all_of" else strong)
    assert (outlook.supported > 0.99) == (kind == "any_of")
