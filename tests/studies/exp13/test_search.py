"""Runs have the settings of the search, and the runs that it lacks have the usual ones."""

from pathlib import Path

import pytest

from journeylab.catalogue import load, resolve_run
from journeylab.studies.exp13_published_mixers import search
from journeylab.studies.exp13_published_mixers.search import (
    GRID_STEPS,
    RATE,
    RATES,
    SCALE,
    SCALES,
    STEPS,
    WIDER,
    SearchTrial,
    chosen,
    ranked,
)
from journeylab.studies.exp13_published_mixers.settings import Arm

ROOT = Path(__file__).parents[3]


def test_every_run_has_the_settings_of_the_search():
    settings = load(ROOT / "config.yaml").studies["exp13"]
    for arm, trained in settings.arms.items():
        for variant in trained.variants if isinstance(trained, Arm) else ():
            job = resolve_run("exp13", settings, arm, variant).settings
            found = job["training"]["learning_rate"], job["model"]["scale"]
            assert found == chosen(arm, variant, job["model"]["layers"]), (arm, variant)
            assert job["training"]["steps"] == STEPS


def trial(steps: int, loss: float, rate: float, layers: int = 1) -> SearchTrial:
    return SearchTrial("S3", "gru", layers, steps, 3.0, rate, loss, 0.5)


def test_a_final_decides_and_not_a_shorter_run_with_a_smaller_loss(monkeypatch: pytest.MonkeyPatch):
    tried = (
        trial(GRID_STEPS, 0.1, 0.001),
        trial(STEPS, 0.5, 0.003),
        trial(STEPS, 0.4, 0.03),
        trial(STEPS, 0.2, 0.1, layers=2),
    )
    monkeypatch.setattr(search, "TRIALS", tried)
    assert chosen("S3", "gru", 1) == (0.03, 3.0)
    assert chosen("S3", "gru", 2) == (0.1, 3.0)
    assert [each.rate for each in ranked("S3", "gru", 1)] == [0.03, 0.003, 0.001]
    monkeypatch.setattr(search, "TRIALS", tried[:1])
    assert chosen("S3", "gru", 1) == (RATE, SCALE)


def test_the_grid_has_settings_on_both_sides_of_the_usual_rate():
    assert RATES[0] < RATE < RATES[-1]
    assert RATE in RATES
    assert WIDER[1:-1] == RATES
    assert SCALE in SCALES
    assert GRID_STEPS < STEPS
