"""The bound of a random check holds for every population, and for every time a unit may take."""

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product

import pytest
from scipy.stats import hypergeom

from journeylab.claims.sampling import draw_order, until_spent, upper_bound

FIFTH = Fraction(1, 5)


def check(
    order: Sequence[str], differing: set[str], seconds: Callable[[str], float], budget: float
) -> tuple[int, int]:
    """How many units a check with a budget has rerun, and how many of them differ."""
    seen: list[str] = []
    for unit in until_spent(order, budget, lambda: sum(map(seconds, seen))):
        seen.append(unit)
    return len(seen), len(differing & set(seen))


# -- the bound ------------------------------------------------------------------------------------


@pytest.mark.parametrize("risk", [Fraction(1, 20), FIFTH])
@pytest.mark.parametrize("population", range(1, 9))
def test_the_bound_is_that_of_all_samples_counted_by_hand(population: int, risk: Fraction) -> None:
    for drawn, differing in product(range(population + 1), repeat=2):
        if differing > drawn:
            continue

        def likely(total: int, drawn: int = drawn, differing: int = differing) -> Fraction:
            samples = list(combinations(range(population), drawn))
            hits = [sum(unit < total for unit in sample) <= differing for sample in samples]
            return Fraction(sum(hits), len(samples))

        excluded = [total for total in range(population + 1) if likely(total) <= risk]
        expected = min(excluded, default=population + 1)
        assert upper_bound(population, drawn, differing, risk) == expected


@pytest.mark.parametrize(("population", "drawn", "differing"), [(800, 60, 0), (800, 60, 3)])
def test_the_bound_agrees_with_scipy(population: int, drawn: int, differing: int) -> None:
    bound = upper_bound(population, drawn, differing)
    at_most = [hypergeom.cdf(differing, population, total, drawn) for total in (bound - 1, bound)]
    assert at_most[1] <= 0.05 < at_most[0]


# -- the budget -----------------------------------------------------------------------------------

COSTS: dict[str, Sequence[float]] = {
    "equal": (1, 1, 1, 1, 1, 1, 1),
    "the first are slow": (9, 8, 7, 1, 1, 1, 1),
    "the last are slow": (1, 1, 1, 1, 5, 6, 9),
    "mixed": (1, 6, 2, 9, 3, 1, 4),
    "free and endless": (0, 0, 50, 50, 0, 0, 50),
}


@cache
def bound_of_seven(drawn: int, differing: int) -> int:
    return upper_bound(7, drawn, differing, FIFTH)


@pytest.mark.parametrize("costs", COSTS.values(), ids=COSTS)
def test_no_choice_of_slow_units_makes_the_bound_wrong_too_often(costs: Sequence[float]) -> None:
    """All orders of seven units, all numbers of differing units, several budgets."""
    units = [str(unit) for unit in range(len(costs))]
    for total, budget in product(range(8), (2, 5, 11, 20)):
        differing = set(units[:total])
        wrong = orders = 0
        for order in permutations(units):
            n, d = check(order, differing, lambda unit: costs[int(unit)], budget)
            wrong += total >= bound_of_seven(n, d)
            orders += 1
        assert wrong <= FIFTH * orders


def test_a_budget_finishes_the_unit_that_it_started() -> None:
    order = ["a", "b", "c", "d"]
    assert check(order, set(), lambda unit: 10.0, 25.0) == (3, 0)
    assert check(order, set(), lambda unit: 10.0, 20.0) == (2, 0)
    assert check(order, set(), lambda unit: 1000.0, 1.0) == (1, 0)
    assert check(order, {"d"}, lambda unit: 0.0, 1.0) == (4, 1)


# -- the draw -------------------------------------------------------------------------------------

NAMES = [f"exp{study}/arm/variant/seed-{seed}" for study in range(1, 13) for seed in range(25)]


def test_the_order_is_that_of_the_seed_alone() -> None:
    order = draw_order(NAMES, 5)
    assert sorted(order) == sorted(NAMES)
    assert draw_order(reversed(NAMES), 5) == order
    assert draw_order(NAMES, 6) != order
    assert draw_order(["a", "b", "c", "d", "e"], 1) == ["c", "a", "b", "e", "d"]  # for ever


def test_fewer_units_keep_their_order() -> None:
    assert draw_order(NAMES[::2], 5) == [
        name for name in draw_order(NAMES, 5) if name in NAMES[::2]
    ]


def test_every_order_is_equally_likely() -> None:
    draws = 4800
    counts = Counter(tuple(draw_order("abcd", seed)) for seed in range(draws))
    assert len(counts) == 24
    chi_square = sum((count - draws / 24) ** 2 / (draws / 24) for count in counts.values())
    assert chi_square < 49.7  # the 0.999 quantile with 23 degrees of freedom
