"""Looks: the numbers of seeds at which claims are judged, and how much each look may decide.

A look is given two ranks by a tail probability: an interval of the median over n seeds reaches from
the k-th smallest to the k-th largest value. Two schedules of looks exist. *Fixed* looks, of earlier
registers, each have a share of the tail. *Sequential* looks share it exactly: with Fₙ the number of
seeds that do not lie strictly on one given side of the median, the boundaries bₙ satisfy
P(Fₙ ≤ bₙ at some look n) ≤ tail for every distribution, so an interval with k = bₙ + 1 covers the
median at all looks at once.

This module is loaded at every start of the workflow: scipy is imported where it is used.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import NamedTuple, Protocol

from journeylab.claims.schema import PILOT, Criterion, Looks, StudyCriteria
from journeylab.records.verdicts import Unjudged


class Level(NamedTuple):
    """How sure an interval is at a look.

    It reaches from the ``k``-th smallest to the ``k``-th largest value and is unbounded if k = 0;
    ``tail`` is the tail of the Clopper–Pearson interval that makes the same decisions about ½.
    """

    k: int
    tail: float


@cache
def boundaries(looks: tuple[int, ...], tail: float) -> tuple[int, ...]:
    """The boundary bₙ of every look n, −1 where a look cannot decide anything.

    They are the largest integers, the first look first, with P(Fₘ ≤ bₘ at some look m ≤ n) ≤
    tail · n / (last look), where Fₘ ~ Bin(m, ½) counts over the same seeds; what a look leaves
    unspent, later looks may spend. Exact: 2ⁿ-fold probabilities are counted as integers.
    """
    bounds: list[int] = []
    paths, spent = [1], Fraction(0)  # paths[f]: sequences of seeds with Fₙ = f and no decision yet
    for before, n in pairwise((0, *looks)):
        for _ in range(n - before):
            paths = [a + b for a, b in zip([*paths, 0], [0, *paths], strict=True)]
        allowed = Fraction(tail) * Fraction(n, looks[-1]) - spent
        decided, boundary = 0, -1
        while decided + paths[boundary + 1] <= allowed * 2**n:
            boundary += 1
            decided += paths[boundary]
            paths[boundary] = 0
        spent += Fraction(decided, 2**n)
        bounds.append(boundary)
    return tuple(bounds)


class Schedule(Protocol):
    """The looks of a study."""

    @property
    def looks(self) -> tuple[int, ...]:
        """The numbers of seeds at which claims are judged, in order."""

    @property
    def sequential(self) -> bool:
        """Whether only runs that undecided claims read go on to the next look."""

    def tail(self, n: int) -> float:
        """The tail of an interval at a look, over all looks together if they are sequential."""

    def level(self, n: int, parts: int = 1) -> Level:
        """The level at a look; of one of several parts, each of which could settle a claim."""


@dataclass(frozen=True)
class FixedLooks:
    """Looks that each have a share (``weights``) of the tail ``alpha`` / M."""

    weights: Mapping[int, float]
    alpha: float
    tails: int
    sequential: bool = False

    @property
    def looks(self) -> tuple[int, ...]:
        """The registered numbers of seeds."""
        return tuple(sorted(self.weights))

    def tail(self, n: int) -> float:
        """The look's weight · α / M."""
        return self.weights[n] * self.alpha / max(self.tails, 1)

    def level(self, n: int, parts: int = 1) -> Level:
        """The largest rank that the look's share allows."""
        return single_level(n, self.tail(n) / parts)


@dataclass(frozen=True)
class SequentialLooks:
    """Looks that share the tail ``alpha`` / M by exact boundaries."""

    looks: tuple[int, ...]
    alpha: float
    tails: int
    sequential: bool = True

    def tail(self, n: int) -> float:
        """The tail of all looks together, α / M."""
        return self.alpha / max(self.tails, 1)

    def level(self, n: int, parts: int = 1) -> Level:
        """One more than the boundary of the look."""
        from scipy.stats import binom

        b = boundaries(self.looks, self.tail(n) / parts)[self.looks.index(n)]
        # halfway between two steps: misses ≤ b are decided and misses > b are not
        return Level(b + 1, float(binom.cdf(b, n, 0.5) + binom.cdf(b + 1, n, 0.5)) / 2)


def single_level(n: int, tail: float) -> Level:
    """The level of a single look at ``n`` seeds."""
    from journeylab.claims.statistics import interval_rank

    return Level(interval_rank(n, tail), tail)


def seeds_needed(tail: float) -> int:
    """The smallest n at which an interval exists: ⌈log₂(1/tail)⌉."""
    return math.ceil(-math.log2(tail))


def schedule(register: Looks, claims: StudyCriteria) -> FixedLooks | SequentialLooks:
    """The looks of a study, as its file in the register chooses them."""
    if claims.looks == "sequential":
        return SequentialLooks(register.sequential, register.alpha, claims.tails)
    return FixedLooks(register.looks, register.alpha, claims.tails)


def term_levels(plan: Schedule, claim: Criterion, n: int) -> tuple[Level, Level]:
    """The levels at which one term of a claim may be supported and refuted, at a look.

    A single part can refute an ``all_of`` claim, or support an ``any_of`` claim: there each part
    has its share of the tail.
    """
    full = plan.level(n)
    share = plan.level(n, len(claim.terms)) if len(claim.terms) > 1 else full
    return (share, full) if claim.kind == "any_of" else (full, share)


def looks_text(register: Looks, claims: StudyCriteria) -> str:
    """The looks of a study, as commands print them."""
    plan = schedule(register, claims)
    if not plan.sequential:
        return "looks at " + ", ".join(f"{n} ({w:g} of α)" for n, w in register.looks.items())
    limits = ", ".join(str(plan.level(n).k - 1) for n in plan.looks).replace("-1", "none")
    numbers = ", ".join(map(str, plan.looks))
    return (
        f"sequential looks at {numbers} seeds, of which at most {limits} may contradict a verdict "
        f"(α = {plan.alpha:g}, M = {claims.tails})"
    )


def why_unjudged(
    claims: StudyCriteria, seeds: Sequence[int], looks: Collection[int]
) -> Unjudged | None:
    """Why claims are not judged on these seeds; None if they are."""
    if len(seeds) not in looks:
        return "number"
    if min(seeds) != claims.seeds_from or max(seeds) >= PILOT:
        return "first"
    return None


def steps(looks: tuple[int, ...], first: int) -> Iterator[range]:
    """The seeds that each look adds, where seeds count from ``first``."""
    return (range(first + before, first + n) for before, n in pairwise((0, *looks)))
