"""Planted effects through every judged row of exp8 give the verdict that was planted."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from journeylab.claims.judge import judge_study
from journeylab.claims.register import read_register

REGISTER = read_register(Path(__file__).parents[3] / "claims")
CLAIMS = REGISTER.studies["exp8"]
SEEDS = range(100, 136)
LEARNED = {
    **{
        (f"{arm}/{variant}", test): rate
        for arm in ("axial", "full")
        for variant, rate in (("discrete", 0.6), ("hybrid50", 0.7), ("sinusoidal", 0.95))
        for test in ("optimal", "held-out", "shifted", "close")
    },
    **{(f"{arm}/scalar", "optimal"): 0.95 for arm in ("axial", "full")},
    **{(f"{arm}/scalar", test): 0.9 for arm in ("axial", "full") for test in ("held-out", "close")},
    **{
        (f"{arm}/discrete", name): value
        for arm in ("axial", "full")
        for name, value in (("random", 0.01), ("valid-token", 0.0), ("order", 0.0))
    },
    ("axial/fourier-high", "optimal"): 0.9,
    **{
        (f"learning-{arm}/{variant}", name): value
        for arm in ("axial", "full")
        for variant, values in (
            ("discrete", {"reached": 0.5, "kink": 0.02, "relative-kink": 0.2}),
            ("hybrid50", {"reached": 0.6, "kink": 0.01, "relative-kink": 0.1}),
            ("hybrid50", {"early": 0.1, "untrained": 0.0}),
        )
        for name, value in values.items()
    },
    ("learning-axial/hybrid25", "reached"): 0.5,
    ("learning-axial/hybrid75", "reached"): 0.7,
}
"""Run and measure → value: hybrids ahead of tables, and sinusoids ahead of all."""
CERTIFICATES = {
    ("upper_share", "50-51", None): 0.99,
    ("lower_share", "1-100", None): 0.01,
    ("spacing_error", None, "exact"): 0.0,
}
PLANTED = {
    **dict.fromkeys((f"exp8.{i}" for i in (1, 2, 4, 7, 8, 9, 10, 11, 19, 20, 21)), "supported"),
    **dict.fromkeys(("exp8.3", "exp8.5", "exp8.6"), "refuted"),
    **{"exp8.22": "supported", "exp8.23": "refuted", "exp8.24": "supported"},
}


def verdicts(changed=(), certificates=()):
    """The verdicts on planted values, by row."""
    noise = np.random.default_rng(0).normal(0.0, 1e-4, len(SEEDS))
    tables = []
    for (run, name), value in (LEARNED | dict(changed)).items():
        arm, variant = run.split("/")
        measure = CLAIMS.measures[name]
        run_columns = {"study": "exp8", "arm": arm, "variant": variant, "seed": SEEDS}
        level = {key: [at] * len(SEEDS) for key, at in measure.at.items()}
        columns = run_columns | level | {"metric": measure.metric, "value": value + noise}
        tables.append(pd.DataFrame(columns))
    for (metric, pair, case), value in (CERTIFICATES | dict(certificates)).items():
        row = {"study": "exp8", "arm": "certificates", "variant": "all", "metric": metric}
        tables.append(pd.DataFrame([row | {"pair": pair, "case": case, "value": value}]))
    table = pd.concat(tables, ignore_index=True)
    study = judge_study(table, "exp8", REGISTER, SEEDS, "default", True)
    rows = [row for row in study.verdicts if row.primary and row.id in PLANTED]
    return {row.id: "withheld" if row.withheld else row.verdict for row in rows}


def everywhere(variant, **values):
    """Planted values of a variant with axial and with full attention."""
    return {
        (f"{prefix}{arm}/{variant}", name): value
        for arm in ("axial", "full")
        for name, value in values.items()
        for prefix in (("learning-",) if name in ("reached", "kink", "early") else ("",))
    }


def test_planted_values_give_the_planted_verdicts():
    assert verdicts() == PLANTED


def test_all_rows_over_seeds_are_planted():
    exact = {row.id for row in CLAIMS.claims if hasattr(row.effect, "every")}
    judged = {row.id for row in CLAIMS.claims if not row.id.startswith("exp8.s")}
    assert judged - exact <= set(PLANTED)


@pytest.mark.parametrize(
    ("row", "changed", "verdict"),
    [
        ("exp8.1", everywhere("hybrid50", optimal=0.6), "refuted"),
        ("exp8.1", {("full/hybrid50", "optimal"): 0.6}, "refuted"),
        ("exp8.1", {("full/hybrid50", "optimal"): 0.4}, "withheld"),
        ("exp8.2", {("full/hybrid50", "held-out"): 0.6}, "refuted"),
        ("exp8.3", everywhere("hybrid50", optimal=0.99), "supported"),
        ("exp8.3", {("axial/hybrid50", "optimal"): 0.4}, "withheld"),
        ("exp8.4", everywhere("sinusoidal", optimal=0.4), "withheld"),
        ("exp8.4", {("axial/sinusoidal", "held-out"): 0.9}, "refuted"),
        ("exp8.5", {("axial/fourier-high", "optimal"): 0.99}, "supported"),
        ("exp8.5", {("axial/fourier-high", "optimal"): 0.4}, "withheld"),
        ("exp8.6", everywhere("discrete", optimal=0.02), "supported"),
        ("exp8.6", {("full/scalar", "optimal"): 0.85}, "withheld"),
        ("exp8.7", {("full/discrete", "valid-token"): 0.3}, "refuted"),
        ("exp8.8", everywhere("hybrid50", early=0.0), "refuted"),
        ("exp8.8", {("learning-axial/hybrid50", "reached"): 0.4}, "withheld"),
        ("exp8.9", everywhere("hybrid50", reached=0.51), "refuted"),
        ("exp8.9", {("learning-full/hybrid50", "reached"): 0.4}, "withheld"),
        ("exp8.10", {("axial/hybrid50", "shifted"): 0.6}, "refuted"),
        ("exp8.11", {("axial/discrete", "order"): 0.2}, "refuted"),
        ("exp8.11", everywhere("discrete", optimal=0.1), "withheld"),
        ("exp8.19", everywhere("hybrid50", kink=0.03), "refuted"),
        ("exp8.19", {("learning-full/hybrid50", "relative-kink"): 0.3}, "refuted"),
        ("exp8.19", everywhere("discrete", reached=0.1), "withheld"),
        ("exp8.20", {("learning-axial/hybrid75", "reached"): 0.6}, "refuted"),
        ("exp8.20", {("learning-axial/hybrid25", "reached"): 0.7}, "supported"),
        ("exp8.20", {(f"learning-axial/hybrid{n}", "reached"): 0.4 for n in (25, 75)}, "withheld"),
        ("exp8.21", {("full/sinusoidal", "close"): 0.9}, "refuted"),
    ],
)
def test_every_row_over_seeds_can_come_out_the_other_way(row, changed, verdict):
    assert verdicts(changed)[row] == verdict


def test_every_new_certificate_can_come_out_the_other_way():
    judged = verdicts(
        certificates={
            ("upper_share", "50-51", None): 0.4,
            ("lower_share", "1-100", None): 0.6,
            ("spacing_error", None, "exact"): 0.1,
        }
    )
    assert judged["exp8.22"] == "refuted"
    assert judged["exp8.23"] == "supported"
    assert judged["exp8.24"] == "refuted"
