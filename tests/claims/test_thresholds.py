"""Values at a threshold: one rule for regions, ``solves``, gates and exact claims."""

import math

import numpy as np
import pytest

from journeylab.claims.statistics import Measured

A, B = ({"run": f"a/{name}", "measure": "x"} for name in "ab")
DIFFERENCE = {"difference": [A, B]}
EVERY = {"every": {"label": "x", "metric": "x", "arm": "a"}}
SINGLE = float(np.float32(0.95))


def words(judge, runs, effect, *regions, **options):
    """The verdicts on twelve equal seeds."""
    filled = {run: [value] * 12 for run, value in runs.items()}
    rows = [(effect, region) for region in regions]
    return [verdict.verdict for verdict in judge(filled, rows, **options).verdicts]


@pytest.mark.parametrize(
    ("x", "y"),
    [(0.57, 0.55), (0.52, 0.5), (1.0, 0.98), (0.02, 0.0), (0.0008, -0.0192), (0.0192, -0.0008)],
)
def test_a_difference_at_a_margin_decides_nothing(judge, x, y):
    """In floats 0.57 − 0.55 is below 0.02, and 0.52 − 0.5 above it; the larger value rounds."""
    regions = [{"above": 0.02}, {"below": 0.02}, {"inside": [-0.02, 0.02]}]
    assert words(judge, {"a/a": x, "a/b": y}, DIFFERENCE, *regions) == ["inconclusive"] * 3
    solving = [{"solves": {"at_least": 0.02}}, {"solves": {"above": 0.02}}]
    assert words(judge, {"a/a": x, "a/b": y}, DIFFERENCE, *solving) == ["supported", "refuted"]


def test_a_number_of_single_precision_is_compared_in_it(judge):
    regions = [{"solves": {"at_least": 0.95}}, {"solves": {"above": 0.95}}, {"below": 0.95}]
    expected = ["supported", "refuted", "inconclusive"]
    assert words(judge, {"a/a": SINGLE}, A, *regions) == expected
    below = 0.95 - 1e-9  # not a number of single precision
    assert words(judge, {"a/a": below}, A, *regions) == ["refuted", "refuted", "supported"]
    assert words(judge, {"a/a": SINGLE}, EVERY, {"at_least": 0.95}) == ["supported"]
    assert words(judge, {"a/a": below}, EVERY, {"at_least": 0.95}) == ["refuted"]


def test_nothing_but_0_is_at_0(judge):
    assert words(judge, {"a/a": 1e-13}, A, {"above": 0}, {"below": 0}) == ["supported", "refuted"]
    assert words(judge, {"a/a": 1e-13}, EVERY, {"at_most": 0.0}) == ["refuted"]
    assert words(judge, {"a/a": 0.0}, EVERY, {"at_most": 0.0}) == ["supported"]


@pytest.mark.parametrize(("step", "word"), [(None, "supported"), ("1/44", "inconclusive")])
def test_a_count_is_compared_as_a_count(judge, step, word):
    """27 of 44 is the margin that was written as 0.6136."""
    measure = {"step": step} if step else {}
    assert words(judge, {"a/a": 27 / 44}, A, {"above": 0.6136}, measure=measure) == [word]
    assert words(judge, {"a/a": 28 / 44}, A, {"above": 0.6136}, measure=measure) == ["supported"]
    mean = {"mean": [A, B]}  # of counts that differ by half a step
    both = {"a/a": 27 / 44, "a/b": 27 / 44}
    assert words(judge, both, mean, {"above": 0.6135}, measure=measure) == ["supported"]


@pytest.mark.parametrize(
    ("low", "high", "least", "passes"),
    [(0.7, 0.814, 0.757, True), (0.7, 0.814, 0.7571, False), (SINGLE, SINGLE, 0.95, True)],
)
def test_a_median_at_the_threshold_of_a_gate_passes(judge, low, high, least, passes):
    gates = {"learned": {"run": "a/b", "measure": "x", "at_least": least}}
    row = {"effect": A, "region": {"above": 0}, "gate": ["learned"]}
    runs = {"a/a": [1.0] * 12, "a/b": [low, high] * 6}
    [verdict] = judge(runs, [row], gates=gates).verdicts
    assert verdict.verdict == ("supported" if passes else None)


def test_a_diverged_seed_leaves_the_others_where_they_are(judge):
    runs = {"a/a": [1e30] + [0.1] * 11}
    assert judge(runs, [(A, {"above": 0.02})]).verdicts[0].verdict == "supported"


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e12, 2.0**-200])
@pytest.mark.parametrize("drift", [0.0, 0.02, 0.05, 0.3])
def test_verdicts_do_not_depend_on_the_scale_of_a_table(judge, scale, drift):
    rng = np.random.default_rng(3)
    first = rng.integers(0, 40, size=12) / 100
    second = first - drift + 0.01 * rng.integers(-1, 2, size=12)
    regions = [("above", 0.02), ("below", 0.3), ("inside", [-0.05, 0.02])]

    def at(scale):
        rows = [(DIFFERENCE, {name: np.multiply(scale, ends).tolist()}) for name, ends in regions]
        scaled = {"a/a": scale * first, "a/b": scale * second}
        return [verdict.verdict for verdict in judge(scaled, rows, alpha=0.4).verdicts]

    assert at(scale) == at(1.0)


def test_a_value_that_failed_lies_at_no_threshold():
    measured = Measured(np.array([math.nan, 0.5]), np.array([math.nan, 0.1]))
    np.testing.assert_array_equal(measured.at(0.0, 0.55), [math.nan, 0.55])
