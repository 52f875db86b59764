"""How the search of exp13 chooses, and what it trains to choose."""

import pytest
from search_exp13 import climb

from journeylab.studies.exp13_published_mixers import search
from journeylab.studies.exp13_published_mixers.search import (
    RATE,
    RATES,
    SCALE,
    SCALES,
    STEPS,
    TIE,
    SearchTrial,
    chosen,
    prefer,
)


def test_seeds_that_diverged_lose_against_any_loss_and_tie_with_each_other():
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
