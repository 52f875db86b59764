"""Planted effects through every judged row of exp9 give the verdict that was planted."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from journeylab.claims.judge import judge_study
from journeylab.claims.register import read_register

REGISTER = read_register(Path(__file__).parents[3] / "claims")
SEEDS = range(100, 136)
ARMS = (
    *("straight-through", "gumbel-1", "gumbel-0.5", "gumbel-0.1", "annealing", "annealing-10"),
    *("annealing-100", "annealing-noisy", "soft", "reinforce", "rloo"),
)
TRAINED = {
    **{(arm, "hard_mse"): 0.11 for arm in ARMS},
    **{(arm, "flip_rate"): 0.01 for arm in ARMS},
    **{(arm, "spread"): 0.01 for arm in ARMS},
    ("straight-through", "hard_mse"): 0.22,
    ("annealing-10", "hard_mse"): 0.2,
    ("straight-through", "flip_rate"): 0.3,
    ("straight-through", "sparsity"): 0.5,
    ("straight-through", "types_sparsity"): 0.38,
    ("soft", "soft_hard_gap"): 0.03,
    ("soft", "oracle_mse"): 0.11,
    ("rloo", "accuracy"): 0.85,
}
MOMENTS = {
    ("straight-through", "relative_bias"): 2.0,
    ("gumbel-0.5", "relative_bias"): 0.7,
    ("reinforce-ema", "variance"): 10.0,
    **{(f"gumbel-{tau}", "variance"): 5.0 for tau in ("1", "0.5", "0.1")},
}
PLANTED = {
    **dict.fromkeys((2, 3, 4, 5, 6, 9, 23, 24), "supported"),
    **dict.fromkeys((1, 7, 10), "refuted"),
    **dict.fromkeys((8, 25), "inconclusive"),
}
"""Annealing at the optimum over 40 and 100 % (8), and no instability (25), lie at the margin."""


def rows_of(arm, variant, metric, value, **levels):
    noise = np.random.default_rng(0).normal(0.0, 1e-4, len(SEEDS))
    return pd.DataFrame({
        "study": "exp9", "arm": arm, "variant": variant, "seed": SEEDS, "metric": metric,
        "value": value + noise * (1.0 + len(variant)), **levels,
    })  # fmt: skip


def verdicts(trained=(), moments=()):
    """The verdicts on values that are planted, by the number of the row."""
    tables = [
        rows_of("training", *case, value, budget=None if "types" in case[1] or "oracle" in case[1]
                else "long")
        for case, value in (TRAINED | dict(trained)).items()
    ]  # fmt: skip
    tables += [
        rows_of("gradients", "all", metric, value, estimator=name, scale="1")
        for (name, metric), value in (MOMENTS | dict(moments)).items()
    ]
    study = judge_study(
        pd.concat(tables, ignore_index=True), "exp9", REGISTER, SEEDS, "default", True
    )
    return {
        int(row.id.removeprefix("exp9.")): "withheld" if row.withheld else row.verdict
        for row in study.verdicts
        if row.primary and row.id not in CERTIFICATES
    }


CERTIFICATES = {f"exp9.{row}" for row in (*range(11, 23), *range(26, 33))}


def test_planted_values_give_the_planted_verdicts():
    assert verdicts() == PLANTED


@pytest.mark.parametrize(
    ("row", "trained", "moments", "verdict"),
    [
        (1, {}, {("straight-through", "relative_bias"): 0.15}, "supported"),
        (2, {}, {("gumbel-0.5", "relative_bias"): 3.0}, "refuted"),
        (3, {("annealing", "hard_mse"): 0.15}, {}, "refuted"),
        (3, {("annealing", "hard_mse"): 0.05}, {}, "supported"),
        (4, {("soft", "soft_hard_gap"): 0.0}, {}, "refuted"),
        (5, {("soft", "hard_mse"): 0.15}, {}, "refuted"),
        (6, {}, {("gumbel-0.1", "variance"): 50.0}, "refuted"),
        (7, {("annealing-noisy", "hard_mse"): 0.15}, {}, "supported"),
        (8, {("annealing-100", "hard_mse"): 0.15}, {}, "supported"),
        (8, {("annealing", "hard_mse"): 0.15}, {}, "refuted"),
        (9, {("annealing", "flip_rate"): 0.5}, {}, "refuted"),
        (10, {("straight-through", "sparsity"): 0.385}, {}, "supported"),
        (23, {("annealing", "hard_mse"): 0.22}, {}, "refuted"),
        (24, {("gumbel-0.5", "hard_mse"): 0.22}, {}, "refuted"),
        (25, {("reinforce", "flip_rate"): 0.1, ("reinforce", "spread"): 0.1}, {}, "supported"),
        (25, {("reinforce", "flip_rate"): 0.001}, {}, "refuted"),
        (3, {("rloo", "accuracy"): 0.5}, {}, "withheld"),
    ],
)
def test_every_row_can_come_out_the_other_way(row, trained, moments, verdict):
    assert verdicts(trained, moments)[row] == verdict
