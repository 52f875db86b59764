"""Checking a random sample of units: the order of the draw, and what the sample says of all units.

Of N units, D differ when they are rerun; D is fixed before the draw, and unknown. Units are rerun
in random order. If d of n rerun units differ, the claim is D < U(n, d), with U the smallest D such
that P(X ≤ d) ≤ 0.05 for hypergeometric X (n draws without replacement from N units of which D
differ). For every D the claim is wrong with probability at most 0.05 over the draw.

This also holds if n follows from a budget of time, even if units that differ are slower or faster
than others. Condition: a unit that was started is finished and counted, and its time does not
depend on its position in the order. Proof: fix the order within the units that differ, and within
the others; the order of the two labels is still random. After h equal and x differing units the
time is A(h) + B(x), with A and B increasing, and the check stops when that reaches the budget. Of
two possible stops (h, x), the one with the larger x never has the larger h. Let (h₀, x₀) be the
stop with the largest x₀ and then the smallest h₀ of those at which the claim is wrong. At each of
these, x ≤ x₀ and h ≥ h₀, so at most x₀ of the first h₀ + x₀ units of the full order differ: if the
check stops later, because of x, and if it stops earlier, because of h. The probability of that is
P(X ≤ x₀) at n = h₀ + x₀, which is at most 0.05, because the claim is wrong at (h₀, x₀).

The bound is not stratified by study, because that is never tighter. A stratified bound must hold
for the worst distribution of the D units over studies. The average over all distributions is the
hypergeometric probability above, and the worst case is at least the average.
"""

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import takewhile
from math import comb
from typing import TypeVar

RISK = Fraction(1, 20)
"""Probability of a wrong bound."""
Unit = TypeVar("Unit")


def draw_order(names: Iterable[str], seed: int) -> list[str]:
    """All names in the random order of a seed: sorted by the SHA-256 of seed and name.

    The order depends on no library, and not on the order of `names`.
    """
    return sorted(names, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())


def until_spent(order: Iterable[Unit], budget: float, spent: Callable[[], float]) -> Iterator[Unit]:
    """The units to check: the next one starts while less than the budget is spent."""
    return takewhile(lambda _: spent() < budget, order)


def upper_bound(population: int, drawn: int, differing: int, risk: Fraction = RISK) -> int:
    """U(n, d): with confidence 1 − risk, fewer than this many units of the population differ.

    Exact, in integers. The population plus 1 if the sample excludes nothing.
    """
    samples = comb(population, drawn)

    def excluded(total: int) -> bool:
        likely = sum(
            comb(total, seen) * comb(population - total, drawn - seen)
            for seen in range(differing + 1)
        )
        return likely <= risk * samples

    return bisect_left(range(population + 1), True, key=excluded)
