"""Planted effects through every judged row of exp10; the search and the settings of its runs."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from journeylab.catalogue import load, resolve_run
from journeylab.claims.judge import judge_study
from journeylab.claims.register import Every, cells, read_register
from journeylab.studies.exp10_circuit_encoders import search
from journeylab.studies.exp10_circuit_encoders.search import CENTRE, TRIALS, SearchPoint, choose

ROOT = Path(__file__).parents[3]
REGISTER = read_register(ROOT / "claims")
CLAIMS = REGISTER.studies["exp10"]
SEEDS = range(100, 136)
JUDGED = [row for row in CLAIMS.claims if row.primary and not isinstance(row.effect, Every)]
VALUES = {
    "degree/sum": 0.43,
    "degree/one-hot": 0.43,
    "degree/sum-wiring": 0.95,
    "degree/one-hot-wiring": 0.95,
    "degree/wiring-no-position": 0.95,
    "degree/wiring-no-value": 0.95,
    "digits/sum": 0.52,
    "digits/one-hot": 0.52,
    "digits/sum-wiring": 0.9,
    "digits/one-hot-wiring": 0.9,
}
ANCHORS = {"degree": (0.43, 0.43, 0.34), "digits": (0.52, 0.52, 0.44)}
"""Ceiling, learned rule and most frequent answer."""


def verdicts(changed=()):
    """The verdicts on planted accuracies and anchors, by row."""
    accuracies, anchors, tables = VALUES | dict(changed), ANCHORS | dict(changed), []
    for run, accuracy in accuracies.items():
        if "/" not in run:
            continue
        arm, variant = run.split("/")
        ceiling, rule, commonest = anchors[arm]
        metrics = {"accuracy": accuracy, "blind_ceiling": ceiling, "blind_rule": rule}
        metrics |= {"lead": accuracy - ceiling}
        metrics |= {"headroom": min(0.98 - accuracy, accuracy - commonest - 0.05)}
        for number, (metric, value) in enumerate(metrics.items()):
            noise = np.random.default_rng([number, len(tables)]).normal(0.0, 1e-3, len(SEEDS))
            tables.append(pd.DataFrame({
                "study": "exp10", "arm": arm, "variant": variant, "seed": SEEDS, "metric": metric,
                "value": value + noise,
            }))  # fmt: skip
    alone = CLAIMS.model_copy(update={"claims": tuple(JUDGED)})
    register = REGISTER.model_copy(update={"studies": {"exp10": alone}})
    table = pd.concat(tables, ignore_index=True)
    study = judge_study(table, "exp10", register, SEEDS, "default", True)
    return {row.id: "withheld" if row.withheld else row.verdict for row in study.verdicts}


def test_encoders_without_a_difference_support_every_row():
    assert verdicts() == {row.id: "supported" for row in JUDGED}


@pytest.mark.parametrize(
    ("row", "planted", "verdict"),
    [
        ("exp10.1", {"degree/sum": 0.40}, "refuted"),
        ("exp10.1", {"degree": (0.43, 0.43, 0.42)}, "withheld"),
        ("exp10.2", {"digits": (0.52, 0.55, 0.44)}, "refuted"),
        ("exp10.2", {"digits": (0.52, 0.52, 0.51)}, "withheld"),
        ("exp10.3", {"degree/sum-wiring": 0.6}, "refuted"),
        ("exp10.4", {"digits/sum-wiring": 0.6}, "refuted"),
        ("exp10.5", {"degree/wiring-no-position": 0.9}, "refuted"),
        ("exp10.5", {"degree/sum-wiring": 0.995}, "withheld"),
        ("exp10.5", {"degree/sum-wiring": 0.5}, "withheld"),
        ("exp10.6", {"digits/one-hot": 0.49}, "refuted"),
        ("exp10.6", {"degree/one-hot": 0.46}, "refuted"),
        ("exp10.6", {"digits/sum": 0.46}, "withheld"),
        ("exp10.7", {"digits/one-hot-wiring": 0.87}, "refuted"),
        ("exp10.7", {"degree/one-hot-wiring": 0.98}, "refuted"),
        ("exp10.7", {"digits/sum-wiring": 0.99}, "withheld"),
        ("exp10.8", {"degree/wiring-no-value": 0.92}, "refuted"),
    ],
)
def test_every_row_can_come_out_the_other_way(row, planted, verdict):
    assert verdicts(planted)[row] == verdict


def test_the_centre_is_kept_unless_another_point_is_better_by_more_than_a_tie():
    other = SearchPoint(0.01, CENTRE.spread)
    assert choose({CENTRE: 0.9, other: 0.904}) == CENTRE
    assert choose({CENTRE: 0.9, other: 0.906}) == other


def test_runs_of_judged_rows_have_the_settings_of_the_search():
    settings = load(ROOT / "config.yaml").studies["exp10"]
    judged = {f"{cell.arm}/{cell.variant}" for row in JUDGED for cell in cells(row.terms)}
    assert {f"{trial.arm}/{trial.variant}" for trial in TRIALS} == judged
    for trial in TRIALS:
        job = resolve_run("exp10", settings, trial.arm, trial.variant).settings
        tried = SearchPoint(job["training"]["learning_rate"], job["model"]["spread"])
        assert tried == trial.chosen


def test_no_search_ends_at_an_edge():
    for trial in TRIALS:
        best = max(trial.accuracies, key=trial.accuracies.__getitem__)
        rates = [point.rate for point in trial.accuracies if point.spread == CENTRE.spread]
        spreads = [point.spread for point in trial.accuracies if point.rate == best.rate]
        assert min(rates) < best.rate < max(rates)
        assert min(spreads) < best.spread < max(spreads)
        assert set(rates) <= set(search.RATES)
        assert set(spreads) <= set(search.SPREADS)
