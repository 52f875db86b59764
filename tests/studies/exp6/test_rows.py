"""Planted effects through every judged row of exp6 give the verdict that was planted."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from journeylab.claims.judge import judge_study
from journeylab.claims.register import read_register
from journeylab.studies.exp6_coupling_rank.settings import ARITHMETICS, HEADS, OPERATORS

REGISTER = read_register(Path(__file__).parents[3] / "claims")
SEEDS = range(100, 136)
LEARNED = {
    "random-toral-scores/journey-learned": 1.0,
    "random-toral/journey-learned": 0.95,
    "random-labels/journey-learned": 0.4,
}
OTHERS = {
    "random-toral/additive": 0.5,
    "random-toral/separable-matched": 0.6,
    "random-labels/separable": 0.99,
}
CERTIFICATES = {
    ("rank", "decaying", "rank_defect"): 0.0,
    ("rank", "random", "rank_defect"): 0.0,
    ("rank", "decaying", "least_error"): 1e-5,
    ("rank", "random", "least_error"): 1e-2,
    ("fewer", "additive", "lost_accuracy"): 0.0,
    ("cancellation", "additive-scores", "cancellation"): 1e-16,
}
PLANTED = {
    **dict.fromkeys(("exp6.1", "exp6.2", "exp6.4", "exp6.5"), "supported"),
    **dict.fromkeys(("exp6.7", "exp6.8", "exp6.9"), "supported"),
    **dict.fromkeys(("exp6.3", "exp6.6"), "refuted"),
}
"""The verdicts of the values above: journey heads ahead of all, and the algebra of the study."""


def rows_of(run, metric, values, heads=None):
    arm, variant = run.split("/")
    noise = np.random.default_rng(0).normal(0.0, 1e-4, len(SEEDS))
    return pd.DataFrame({
        "study": "exp6", "arm": arm, "variant": variant, "seed": SEEDS, "metric": metric,
        "H": heads, "value": values + noise,
    })  # fmt: skip


def certificate(arm, variant, metric, value):
    case = {"study": "exp6", "arm": arm, "variant": variant, "metric": metric, "value": value}
    if arm == "rank":
        levels = [{"operators": o, "arithmetic": a} for o in OPERATORS for a in ARITHMETICS]
        return pd.DataFrame([case | {"frequencies": variant} | level for level in levels])
    return pd.DataFrame([case | {"H": heads} for heads in HEADS])


def verdicts(changed=(), excess=0.0, seven=0.9, certificates=()):
    """The verdicts on values that are planted, by row."""
    exact = CERTIFICATES | dict(certificates)
    tables = [certificate(*case, value) for case, value in exact.items()]
    values = LEARNED | OTHERS | dict(changed)
    for run, value in values.items():
        counts = (None,) if "journey" in run or "matched" in run else HEADS
        tables += [rows_of(run, "accuracy", value, heads) for heads in counts]
    fitted = "random-toral-scores/separable"
    for heads in HEADS:
        tables.append(rows_of(fitted, "accuracy", {7: seven, 8: 1.0}.get(heads, 0.5), heads))
        tables.append(rows_of(fitted, "excess", excess, heads))
    table = pd.concat(tables, ignore_index=True)
    study = judge_study(table, "exp6", REGISTER, SEEDS, "default", True)
    rows = [row for row in study.verdicts if row.primary]
    return {row.id: "withheld" if row.withheld else row.verdict for row in rows}


def test_planted_values_give_the_planted_verdicts():
    assert verdicts() == PLANTED


@pytest.mark.parametrize(
    ("row", "planted", "verdict"),
    [
        ("exp6.2", {"excess": 0.05}, "refuted"),
        ("exp6.5", {"seven": 0.99}, "refuted"),
        ("exp6.5", {"changed": {"random-toral-scores/journey-learned": 0.8}}, "withheld"),
        ("exp6.6", {"changed": {"random-toral/additive": 0.95}}, "supported"),
        ("exp6.6", {"changed": {"random-toral/journey-learned": 0.5}}, "withheld"),
        ("exp6.7", {"changed": {"random-toral/separable-matched": 0.95}}, "refuted"),
        ("exp6.8", {"changed": {"random-labels/journey-learned": 0.99}}, "refuted"),
        ("exp6.8", {"changed": {"random-labels/separable": 0.5}}, "withheld"),
        ("exp6.1", {"certificates": {("rank", "random", "rank_defect"): 1.0}}, "refuted"),
        ("exp6.3", {"certificates": {("fewer", "additive", "lost_accuracy"): 0.1}}, "supported"),
        ("exp6.4", {"certificates": {("cancellation", "additive-scores", "cancellation"): 1e-6}},
         "refuted"),
        ("exp6.9", {"certificates": {("rank", "random", "least_error"): 1e-15}}, "refuted"),
    ],
)  # fmt: skip
def test_every_row_can_come_out_the_other_way(row, planted, verdict):
    judged = verdicts(**planted)
    assert judged[row] == verdict
