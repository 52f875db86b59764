"""Honest evidence of another processor passes; a shift that could matter to a row is found."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from journeylab.claims.effects import Cell
from journeylab.claims.shifts import (
    ALL,
    Scale,
    Shift,
    Shifted,
    favoured_side,
    measured_scale,
    pools,
    unit_level,
)
from journeylab.records.processor import KernelRun, StudyKernels

from ..made import register_of

SEEDS = (12, 12, 12, 4, 4, 1)
"""Seeds of the units of a certificate, repeated."""
SIGMA = 0.003


def differences(rng: Generator, seeds: int, spread: float = 1.0, shift: float = 0.0) -> np.ndarray:
    """What another processor does: heavy tails, answers in steps, and a few trainings that flip."""
    values = spread * SIGMA * rng.standard_t(3, seeds) + shift
    flips = rng.random(seeds) < 0.01
    return np.round(200 * np.where(flips, rng.uniform(-0.5, 0.5, seeds), values)) / 200


def certificate(rng: Generator, units: int, shift: float = 0.0) -> list[Shifted]:
    """Units of runs whose spread is not that of the pilots; `shift` is that of the first unit."""
    scale = Scale(tuple(np.abs(differences(rng, 24))), 1 / 200)
    made = []
    for number in range(units):
        n, spread = SEEDS[number % len(SEEDS)], rng.lognormal(0, 0.5)
        moved = shift if number == 0 else 0.0
        shifts = {
            name: Shift(differences(rng, n, spread, moved), scale, side)
            for name, side in (("first", 1), ("second", -1))
        }
        made.append(Shifted("exp1", shifts))
    return made


def refused(units: Sequence[Shifted]) -> bool:
    level = unit_level(units)
    return any(unit.tail <= level for unit in units) or any(test.refused for test in pools(units))


def test_honest_certificates_pass() -> None:
    rng = default_rng(1)
    assert sum(refused(certificate(rng, 24)) for _ in range(300)) <= 0.05 * 300


def test_a_shift_of_half_the_margin_is_found_where_the_power_says_so() -> None:
    rng, found, certain = default_rng(2), 0, 0
    for _ in range(100):
        units = certificate(rng, 24, shift=0.06)
        scale, level = units[0].measures["first"].scale, unit_level(units)
        if scale.power(12, 0.06, level / 4) >= 0.9:
            certain += 1
            found += units[0].tail <= level
    assert certain >= 50
    assert found >= 0.9 * certain


def test_a_margin_within_the_noise_has_no_power() -> None:
    [unit, *_] = certificate(default_rng(3), 2)
    scale = unit.measures["first"].scale
    assert scale.power(12, SIGMA, 1e-3) < 0.1
    assert scale.power(1, 10.0, 1e-3) == 0.0  # a seed alone


@pytest.mark.parametrize(("seeds", "pilots"), [(12, 24), (4, 12)])
def test_the_tail_is_that_of_exchangeable_differences(seeds: int, pilots: int) -> None:
    rng = default_rng(4)
    scale = Scale(tuple(range(1, pilots + 1)))  # only ranks count
    values = rng.standard_cauchy((20000, pilots + seeds))
    known = np.sort(np.abs(values[:, :pilots]), axis=1)[:, -scale.rank, None]
    above = np.sum(values[:, pilots:] > known, axis=1)
    for beyond in (1, 2):
        assert scale.tail(seeds, beyond) == pytest.approx(np.mean(above >= beyond), abs=0.01)


def test_seeds_that_are_units_of_their_own_are_found_together() -> None:
    scale = Scale((0.001,) * 24)
    alone = [Shifted("exp8", {"a": Shift(np.array([0.1]), scale, -1)})] * 6
    assert all(unit.tail > unit_level(alone) for unit in alone)
    assert {(test.name, test.side) for test in pools(alone) if test.refused} == {
        ("exp8 a", 1),
        (ALL, -1),  # away from the claims
    }
    opposite = [Shifted("exp8", {"a": Shift(np.array([-0.1]), scale, -1)})] * 3
    assert not any(test.refused for test in pools([*alone[:3], *opposite]))


CLAIMS = register_of(
    [("A/x@a - A/y@a", {"above": 0.1}), ("A/y@b", {"inside": [0.1, 0.2]})],
    measures={
        "a": {"label": "a", "metric": "accuracy", "at": {"N": 1}, "range": [0, 1]},
        "b": {"label": "b", "metric": "accuracy", "at": {"N": 2}, "range": [0, 1]},
        "c": {"label": "c", "metric": "loss"},
        "d": {"label": "d", "metric": "gap", "range": [-1, 1]},
    },
).studies["exp1"]


def test_claims_say_which_side_favours_them() -> None:
    sides = {
        f"{run}@{name}": favoured_side(CLAIMS, Cell(run=run, measure=name))
        for run, name in (("A/x", "a"), ("A/y", "a"), ("A/y", "b"), ("A/x", "c"))
    }
    assert sides == {"A/x@a": 1, "A/y@a": -1, "A/y@b": 0, "A/x@c": 0}


def test_a_scale_is_that_of_the_study_or_pooled_in_ranges() -> None:
    def run(**values: float) -> KernelRun:
        seeds = tuple(range(1000, 1012))
        return KernelRun(
            seeds=seeds, code={}, differences={k: (v,) * 12 for k, v in values.items()}
        )

    measures = {"exp1": CLAIMS.measures, "exp2": CLAIMS.measures}
    kernels = {"exp1": StudyKernels(runs={"A/x": run(a=0.01, b=-0.02)})}
    own = measured_scale(kernels, measures, "exp1", "a")
    assert own is not None
    assert (own.pilots, own.pooled, own.threshold) == ((0.02,) * 12, False, 0.04)
    kernels["exp2"] = StudyKernels(runs={"A/x": run(a=0.0)})  # a run without noise
    quiet = measured_scale(kernels, measures, "exp2", "a")
    assert quiet is not None
    assert (len(quiet.pilots), quiet.threshold) == (24, 0.04)
    del kernels["exp2"]
    pooled = measured_scale(kernels, measures, "exp2", "d")
    assert pooled is not None
    assert (pooled.pilots, pooled.pooled) == ((0.04,) * 12, True)
    assert measured_scale(kernels, measures, "exp1", "c") is None
