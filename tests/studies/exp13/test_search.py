"""What the search of exp13 trains to choose."""

import pytest
from search_exp13 import RATE, RATES, TIE, climb, prefer


def test_seeds_that_diverged_lose_against_any_loss_and_tie_with_each_other():
    assert prefer({0.01: float("inf"), 0.03: float("inf")}, 0.01) == 0.01
    assert prefer({0.01: float("inf"), 0.03: 2.0}, 0.01) == 0.03


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
