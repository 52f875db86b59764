"""Looks: the numbers of seeds at which claims are judged, and how much each look may decide.

A look is given two ranks by a tail probability: an interval of the median over n seeds reaches from
the k-th smallest to the k-th largest value. Looks share the tail exactly: with Fₙ the number of
seeds that do not lie strictly on one given side of the median, the boundaries bₙ satisfy
P(Fₙ ≤ bₙ at some look n) ≤ tail for every distribution, so an interval with k = bₙ + 1 covers the
median at all looks at once.

This module is loaded at every start of the workflow: scipy is imported where it is used.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import NamedTuple

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


@cache
def monotone_boundaries(looks: tuple[int, ...], alpha: float, tails: int) -> tuple[int, ...]:
    """The least boundary of every look over 1, 2, … ``tails`` tails that share ``alpha``.

    What a look leaves unspent depends on rounding, so that the boundaries of a smaller tail alone
    can be larger at a later look: one more claim would make another one easier.
    """
    shared = (boundaries(looks, alpha / m) for m in range(1, tails + 1))
    return tuple(map(min, zip(*shared, strict=True)))


@dataclass(frozen=True)
class Schedule:
    """The looks of a study, which share the tail ``alpha`` / M by exact boundaries."""

    looks: tuple[int, ...]
    alpha: float
    tails: int
    monotone: bool = True
    """Whether no claim more could raise a boundary."""

    @property
    def tail(self) -> float:
        """The tail of all looks together, α / M."""
        return self.alpha / max(self.tails, 1)

    def level(self, n: int, parts: int = 1) -> Level:
        """The level at a look; of one of several parts, each of which could settle a claim."""
        from scipy.stats import binom

        from journeylab.claims.statistics import interval_rank

        tail = self.tail / parts
        if len(self.looks) == 1:
            return Level(interval_rank(n, tail), tail)
        at = boundaries(self.looks, tail)
        if self.monotone:
            at = monotone_boundaries(self.looks, self.alpha, max(self.tails, 1) * parts)
        b = at[self.looks.index(n)]
        # halfway between two steps: misses ≤ b are decided and misses > b are not
        return Level(b + 1, float(binom.cdf(b, n, 0.5) + binom.cdf(b + 1, n, 0.5)) / 2)


def seeds_needed(tail: float) -> int:
    """The smallest n at which an interval exists: ⌈log₂(1/tail)⌉."""
    return math.ceil(-math.log2(tail))


def schedule(register: Looks, claims: StudyCriteria) -> Schedule:
    """The looks of a study; only the first if no judged claim is about seeds."""
    looks = register.sequential if claims.tails else register.sequential[:1]
    return Schedule(looks, register.alpha, claims.tails, register.is_monotone(claims))


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
    if not claims.tails:
        return "no claim over seeds"
    plan = schedule(register, claims)
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
