"""Whether recorded values are shifted against rerun values by more than other kernels shift them.

*Scale.* e₁ … e_N are the differences between two kernel paths of one machine, one for each pilot
seed of a study: the largest over the measures of a metric. With |e|₍r₎ the r-th largest and
r = max(1, ⌊N/50⌋), c = 2·|e|₍r₎ is what another processor may do to a seed; it is at least two
steps of the measure. A study without such pilots has those of all studies, in units of ranges.

*Law.* d₁ … dₙ are recorded minus rerun values of a measure. Assume that |d|/2 and |e| are
exchangeable, so that another run on another processor may differ twice as much as the pilots. Then
the number Y of seeds with |d| > c has, whatever the distribution,

    P(Y = y) = C(y + r − 1, y) · C(n − y + N − r, n − y) / C(N + n, n),

the distribution of exceedances (Gumbel and von Schelling, 1950), a beta-binomial one. Swapping the
processors changes the sign of a difference, so of these Y seeds the number X on one side is
binomial with probability ½, and P(X ≥ x) = Σ P(Y = y) · P(Bin(y, ½) ≥ x). Ties make it smaller.

*Tests.* A unit is refused if at least n − ⌊n/10⌋ of its seeds lie beyond c on one side, and
2 · (measures) · P(X ≥ x) ≤ 0.04 / (units that are judged alone). Over all units that were drawn,
two thirds of the seeds are enough: each measure of a study is a test, at a level of
0.01 / (tests), and so are all studies together, where sides are towards the claims and away from
them. Together the level is 0.05. The demands on x do not raise it: they keep an unstable training,
whose differences are large but have both signs, from being refused.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.stats import betabinom, binom

from journeylab.claims.effects import Cell, Quantity, divided_cells
from journeylab.claims.schema import StudyCriteria
from journeylab.claims.statistics import Values
from journeylab.records.processor import StudyKernels

UNITS, POOLS = 0.04, 0.01
"""The level of the tests of single units, and of those over all units."""
ELSEWHERE = 2.0
"""How many times as much as the pilots another run on another processor may differ."""
OWN = 12
"""Pilot seeds of a metric with which a study has a scale of its own."""
POWER = 0.9
ALL = "all studies"


@cache
def exceedance(pilots: int, rank: int, seeds: int, beyond: int) -> float:
    """P(X ≥ beyond): that many of the seeds lie on one given side beyond the rank-th pilot."""
    counts = np.arange(beyond, seeds + 1)
    exceed = betabinom.pmf(counts, seeds, rank, pilots - rank + 1)
    return float(np.sum(exceed * binom.sf(beyond - 1, counts, 0.5)))


@dataclass(frozen=True)
class Scale:
    """The largest difference |e| at each of N pilot seeds; ``least`` bounds c from below."""

    pilots: tuple[float, ...]
    least: float = 0.0
    pooled: bool = False

    @property
    def rank(self) -> int:
        """r: how many of the pilots may reach beyond what c is computed from."""
        return max(1, len(self.pilots) // 50)

    @property
    def threshold(self) -> float:
        """c: what another processor may do to a seed, from |e|₍r₎."""
        exceeded = sorted(self.pilots)[-self.rank]
        return ELSEWHERE * max(exceeded, self.least)

    def tail(self, seeds: int, beyond: int) -> float:
        """P(X ≥ beyond) over that many seeds."""
        return exceedance(len(self.pilots), self.rank, seeds, beyond)

    def of_unit(self, seeds: int, beyond: int) -> float:
        """The tail in a unit; 1 for a single seed, and if too few seeds lie on one side."""
        return self.tail(seeds, beyond) if seeds > 1 and seeds - seeds // 10 <= beyond else 1.0

    def power(self, seeds: int, shift: float, tail: float) -> float:
        """The probability that a shift of all seeds of a unit has at most this tail."""
        enough = [x for x in range(1, seeds + 1) if self.of_unit(seeds, x) <= tail]
        if not enough:
            return 0.0
        errors = np.outer([1, -1], self.pilots)
        return float(binom.sf(enough[0] - 1, seeds, np.mean(errors + shift > self.threshold)))


class Shift(NamedTuple):
    """A measure of a unit: recorded minus rerun values, one per seed.

    ``favoured`` is the side that favours the claims, 0 if there is none.
    """

    differences: Values
    scale: Scale
    favoured: int = 0

    @property
    def seeds(self) -> int:
        """How many seeds are compared."""
        return self.differences.size

    @property
    def beyond(self) -> tuple[int, int]:
        """How many seeds lie beyond c: below −c, and above c."""
        c = self.scale.threshold
        return int(np.sum(self.differences < -c)), int(np.sum(self.differences > c))


class Shifted(NamedTuple):
    """A unit rerun on another processor, by measure."""

    study: str
    measures: Mapping[str, Shift]

    @property
    def seeds(self) -> int:
        """The largest number of seeds of a measure."""
        return max((shift.seeds for shift in self.measures.values()), default=0)

    @property
    def lies_beyond(self) -> bool:
        """Whether half the seeds or more lie beyond c on one side, in any measure."""
        return any(2 * max(each.beyond) >= each.seeds > 0 for each in self.measures.values())

    @property
    def tail(self) -> float:
        """The least tail over measures and sides, times their number."""
        shifts = self.measures.values()
        return self._times_tests(
            each.scale.of_unit(each.seeds, max(each.beyond)) for each in shifts
        )

    @property
    def least(self) -> float:
        """The same if all seeds lay beyond c on one side; 1 where only pooled scales are known."""
        shifts = [each for each in self.measures.values() if not each.scale.pooled]
        return self._times_tests(each.scale.of_unit(each.seeds, each.seeds) for each in shifts)

    def _times_tests(self, tails: Iterable[float]) -> float:
        return min(1.0, 2 * len(self.measures) * min(tails, default=1.0))


class Pool(NamedTuple):
    """One measure, of one study or of all, over the drawn units.

    ``beyond`` of ``seeds`` lie beyond c on ``side``: +1 if recorded values are larger or, over all
    studies, favour the claims. ``suspects`` are the positions of the units with half their seeds
    or more beyond c on one side, in any measure.
    """

    name: str
    suspects: tuple[int, ...]
    seeds: int
    beyond: int
    side: int
    refused: bool


def unit_level(units: Sequence[Shifted]) -> float:
    """The largest tail with which a unit is refused: 0.04 / (units with several seeds)."""
    return UNITS / max(1, sum(unit.seeds > 1 for unit in units))


def pools(units: Sequence[Shifted]) -> list[Pool]:
    """The tests over all units: each measure of a study, then all studies together."""
    groups: dict[str, list[tuple[int, Shift, int]]] = {}
    for at, unit in enumerate(units):
        for name, shift in unit.measures.items():
            groups.setdefault(f"{unit.study} {name}", []).append((at, shift, 1))
        judged = [shift for shift in unit.measures.values() if shift.favoured]
        if judged:
            groups.setdefault(ALL, []).append((at, judged[0], judged[0].favoured))
    groups = {name: members for name, members in groups.items() if len(members) > 1}
    return [_pool(name, members, units, len(groups)) for name, members in groups.items()]


def _pool(
    name: str, members: Sequence[tuple[int, Shift, int]], units: Sequence[Shifted], tests: int
) -> Pool:
    below = above = seeds = 0
    for _, shift, side in members:
        counts = shift.beyond
        below, above = below + counts[side < 0], above + counts[side > 0]
        seeds += shift.seeds
    beyond = max(below, above)
    refused = 3 * beyond >= 2 * seeds and all(
        2 * shift.scale.tail(seeds, beyond) <= POOLS / tests for _, shift, _ in members
    )
    side = 1 if above >= below else -1
    suspects = tuple(at for at, _, _ in members if units[at].lies_beyond)
    return Pool(name, suspects, seeds, beyond, side, refused)


def measured_scale(
    kernels: Mapping[str, StudyKernels],
    measures: Mapping[str, Mapping[str, Quantity]],
    study: str,
    measure: str,
) -> Scale | None:
    """The scale of a measure of a study; None where nothing like it was measured.

    A study with fewer than 12 pilot seeds of the metric, or without differences, is compared with
    the pilots of all studies, in units of the ranges of their measures: one quiet run says nothing
    of others. A measure without a range needs pilots of two runs of its study, and differences.
    """
    quantity = measures[study][measure]
    own = _pilots(
        kernels, measures, lambda each, read: each == study and read.metric == quantity.metric
    )
    if len(own) >= OWN and max(own) and quantity.range:
        return Scale(tuple(own), quantity.step or 0.0)
    least = max([quantity.step or 0.0, *own])
    if not quantity.range:
        return Scale(tuple(own), least) if len(own) > OWN and least else None
    pooled = _pilots(kernels, measures, lambda _, read: read.range is not None, in_ranges=True)
    width = quantity.range[1] - quantity.range[0]
    scaled = tuple(width * value for value in pooled)
    return Scale(scaled, least, pooled=True) if scaled else None


def _pilots(
    kernels: Mapping[str, StudyKernels],
    measures: Mapping[str, Mapping[str, Quantity]],
    chosen: Callable[[str, Quantity], bool],
    *,
    in_ranges: bool = False,
) -> list[float]:
    """The largest difference at each pilot seed over the chosen measures of its run."""
    largest: dict[tuple[str, str, int], float] = {}
    for study, known in kernels.items():
        for run, measured in known.runs.items():
            for name, differences in measured.differences.items():
                quantity = measures[study].get(name)
                if quantity is None or not chosen(study, quantity):
                    continue
                low, high = quantity.range if in_ranges and quantity.range else (0.0, 1.0)
                for seed, value in zip(measured.seeds, differences, strict=True):
                    size = abs(value or 0.0) / (high - low)
                    key = study, run, seed
                    largest[key] = max(size, largest.get(key, 0.0))
    return list(largest.values())


def favoured_side(claims: StudyCriteria, cell: Cell) -> int:
    """The sign of a change of a cell that favours the judged claims; 0 if both or none does."""
    sides = set[int]()
    for claim in claims.claims:
        for term in claim.terms if claim.primary else ():
            region = claim.claimed
            wanted = [1] * (region.low != -math.inf) + [-1] * (region.high != math.inf)
            for each, divisor in divided_cells(term):
                if each == cell:
                    sides |= {end if divisor > 0 else -end for end in wanted}
    return sides.pop() if len(sides) == 1 else 0
