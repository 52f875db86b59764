"""Runs have the settings of the search, and the runs that it lacks have the usual ones."""

from pathlib import Path

import pytest
from search_exp13 import climb, judged

from journeylab.catalogue import load, resolve_run
from journeylab.studies.exp13_published_mixers import search
from journeylab.studies.exp13_published_mixers.search import (
    DEPTHS,
    RATE,
    RATES,
    SCALE,
    SCALES,
    STEPS,
    TIE,
    SearchTrial,
    chooses,
    chosen,
    prefer,
    steps_of,
)
from journeylab.studies.exp13_published_mixers.settings import Arm

ROOT = Path(__file__).parents[3]


def test_every_run_has_the_settings_of_the_search():
    settings = load(ROOT / "config.yaml").studies["exp13"]
    for arm, trained in settings.arms.items():
        for variant in trained.variants if isinstance(trained, Arm) else ():
            job = resolve_run("exp13", settings, arm, variant).settings
            found = job["training"]["learning_rate"], job["model"]["scale"]
            assert found == chosen(arm, variant), (arm, variant)
            assert job["model"]["layers"] == DEPTHS.get(arm, 1)
            assert job["training"]["steps"] == steps_of(arm, variant), (arm, variant)


def test_every_run_of_a_judged_claim_and_of_its_gates_was_searched():
    searched = {f"{each.arm}/{each.variant}" for each in search.TRIALS if chooses(each)}
    assert set(judged()) <= searched


def test_the_usual_setting_stays_unless_another_is_better_by_more_than_a_tie():
    assert prefer({0.01: 0.5, 0.03: 0.5 - 0.9 * TIE}, 0.01) == 0.01
    assert prefer({0.01: 0.5, 0.03: 0.5 - 1.1 * TIE}, 0.01) == 0.03
    assert prefer({0.01: float("inf"), 0.03: float("inf")}, 0.01) == 0.01
    assert prefer({0.01: float("inf"), 0.03: 2.0}, 0.01) == 0.03


def test_other_budgets_and_depths_choose_nothing(monkeypatch: pytest.MonkeyPatch):
    def trial(
        rate: float, loss: float, layers: int = 1, steps: int = STEPS, scale: float = SCALE
    ) -> SearchTrial:
        return SearchTrial("S3", "gru", layers, steps, scale, rate, loss, 0.5)

    tried = (
        *(trial(0.003, 0.4), trial(0.03, 0.3), trial(0.03, 0.2, scale=3.0)),
        *(trial(0.03, 0.19, scale=0.3), trial(0.003, 0.1, scale=0.3)),
        *(trial(0.1, 0.1, 2), trial(0.1, 0.0, 1, 4000)),
    )
    monkeypatch.setattr(search, "TRIALS", tried)
    assert chosen("S3", "gru") == (0.03, 0.3)
    assert chosen("S3", "rope") == (RATE, SCALE)


@pytest.mark.parametrize(
    ("best", "measured"),
    [
        (0.01, [0.01, 0.003, 0.03]),
        (0.003, [0.01, 0.003, 0.03, 0.001]),
        (0.1, [0.01, 0.003, 0.03, 0.1]),
    ],
)
def test_the_search_knows_both_neighbours_of_its_best_rate(best: float, measured: list[float]):
    calls = []

    def loss(rate: float) -> float:
        calls.append(rate)
        return abs(RATES.index(rate) - RATES.index(best)) + 2 * TIE

    assert climb(RATES, RATE, loss) == best
    assert calls == measured


def test_nothing_is_measured_beside_a_usual_loss_that_ties_with_zero():
    calls = []

    def loss(rate: float) -> float:
        calls.append(rate)
        return TIE

    assert climb(RATES, RATE, loss) == RATE
    assert calls == [RATE]


def test_the_search_begins_within_its_rungs():
    assert RATE in RATES[1:-1]
    assert SCALE in SCALES[1:-1]
