"""Planted effects, planted nulls and missed gates through every judged row."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from journeylab.claims.judge import judge_study
from journeylab.claims.register import Cell, Every, cells, read_register

REGISTER = read_register(Path(__file__).parents[3] / "claims")
REGISTERED = REGISTER.studies["exp12"]
OVER_SEEDS = [
    claim for claim in REGISTERED.claims if claim.primary and not isinstance(claim.effect, Every)
]
SEEDS = range(100, 136)


def plant(claim, distance, learned=0.99):
    """Measurements whose effect lies ``distance`` beyond a margin, and the T1 of every gate."""
    first, *others = cells(claim.terms)
    margin = claim.region.ends[-1]
    planted = dict.fromkeys(others, 0.5)
    # of a − b and of (a − b) − (c − d), the first cell has the weight 1 and the others cancel
    planted[first] = margin + distance + (0.5 if len(others) in (1, 3) else 0.0)
    for name in claim.gate:
        gate = REGISTERED.gates[name]
        planted[Cell(run=gate.run, measure=gate.measure)] = learned
    noise, rows = np.random.default_rng(0), []
    for cell, value in planted.items():
        measure = REGISTERED.measures[cell.measure]
        values = value + 1e-3 * noise.standard_normal(len(SEEDS))
        for seed, measured in zip(SEEDS, values, strict=True):
            of = {"study": "exp12", "arm": cell.arm, "variant": cell.variant, "seed": seed}
            rows.append(of | {"metric": measure.metric, "value": measured, **measure.at})
    return pd.DataFrame(rows)


def verdict_of(claim, table):
    alone = REGISTERED.model_copy(update={"claims": (claim,)})
    register = REGISTER.model_copy(update={"studies": {"exp12": alone}})
    study = judge_study(table, "exp12", register, SEEDS, "default", True)
    return next(verdict for verdict in study.verdicts if verdict.id == claim.id)


@pytest.mark.parametrize("claim", OVER_SEEDS, ids=lambda claim: claim.id)
def test_a_planted_effect_is_supported_and_its_absence_refuted(claim):
    inner, outer = verdict_of(claim, plant(claim, -0.008)), verdict_of(claim, plant(claim, 0.008))
    if claim.region.is_band:
        inner, outer = outer, inner
    assert inner.verdict == "refuted"
    assert outer.verdict == "supported"


@pytest.mark.parametrize("claim", OVER_SEEDS, ids=lambda claim: claim.id)
def test_every_judged_model_has_a_gate_that_withholds_the_row(claim):
    assert {REGISTERED.gates[name].run for name in claim.gate} == {
        cell.run for cell in cells(claim.terms)
    }
    assert verdict_of(claim, plant(claim, 0.008, learned=0.9)).failed_gates


def test_tails_are_within_the_limit():
    assert sum(1 + claim.region.is_band for claim in OVER_SEEDS) == 14
