"""Planted effects and nulls through every judged row: the judge must give the planted verdict.

The value of each cell that a row reads is the solution of a linear program: the terms of the row
lie on one side of its margin, as far from it as the ranges of the measures and the open gates of
the row allow. A program without such a solution is a row that cannot come out both ways.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from journeylab.claims.effects import Cell, Difference, Mean, Term, cells, divided_cells
from journeylab.claims.judging import judge
from journeylab.claims.looks import schedule
from journeylab.claims.schema import Claim
from journeylab.wording.rows import Row, in_words

from ..made import registered

REGISTER = registered()
ROWS = {
    " ".join((claim.id, *levels.values())): (
        study,
        claim.model_copy(update={"effect": point.effect, "gate": point.gate, "scope": {}}),
    )
    for study, claims in REGISTER.studies.items()
    for claim in claims.claims
    if claim.primary
    for levels, point in zip(claim.levels, claim.points, strict=True)
}
"""Judged rows, each point of a scope as a row of its own."""
OVER_SEEDS = [name for name, (_, claim) in ROWS.items() if claim.kind != "exact"]
EXACT = [name for name, (_, claim) in ROWS.items() if claim.kind == "exact"]
GATED = [(name, gate) for name in OVER_SEEDS for gate in ROWS[name][1].gate]

UNBOUNDED = (-1e3, 1e3)
"""Stands for the range of a measure that has none."""

Point = Mapping[Cell, float]
Demand = tuple[float, int, float]
"""A bound, on which side of it a term lies (1 or −1), and whether at a distance (1 or 0)."""


class Program:
    """The largest distance ≤ 1 from the margins at which all constraints on cells hold."""

    def __init__(self, study: str, claim: Claim) -> None:
        """Let every cell of the row and of its gates take the values of its measure."""
        claims = REGISTER.studies[study]
        gates = [cell for name in claim.gate for cell in claims.gates[name].cells]
        self.cells = list(dict.fromkeys([*cells(claim.terms), *gates]))
        self.ranges = [claims.measures[cell.measure].range or UNBOUNDED for cell in self.cells]
        self.rows: list[list[float]] = []
        self.bounds: list[float] = []

    def demand(self, term: Term, bound: float, side: int, slack: float) -> None:
        """Demand that ``side`` · (``term`` − ``bound``) ≥ ``slack`` · distance."""
        weights = dict.fromkeys(self.cells, 0.0)
        for cell, divisor in divided_cells(term):
            weights[cell] -= side / divisor
        self.rows.append([*weights.values(), slack])
        self.bounds.append(side * (_constant(term) - bound))

    def solve(self) -> Point | None:
        """Values of the cells, or None where no distance above 0 is possible."""
        found = linprog(
            [*(0.0 for _ in self.cells), -1.0],
            A_ub=np.array(self.rows),
            b_ub=np.array(self.bounds),
            bounds=[*self.ranges, (0.0, 1.0)],
        )
        if found.status != 0 or found.x[-1] < 1e-6:
            return None
        return dict(zip(self.cells, map(float, found.x), strict=False))


def _constant(term: Term) -> float:
    """The value of a term where all of its cells are 0."""
    if isinstance(term, Difference):
        first, second = map(_constant, term.difference)
        return first - second
    if isinstance(term, Mean):
        return sum(map(_constant, term.mean)) / len(term.mean)
    return 0.0 if isinstance(term, Cell) else float(term)


def sides(claim: Claim, wanted: str) -> list[list[Demand]]:
    """The ways in which a term lies in the region of the row, or outside it."""
    region = claim.region
    if wanted == "supported":
        slack = 0.0 if region.closed else 1.0  # the threshold itself may be the ceiling
        ways: list[list[Demand]] = [[(region.low, 1, slack), (region.high, -1, 1.0)]]
    else:  # the threshold itself may be the floor
        slack = 0.0 if region.of == "seeds" and not region.closed else 1.0
        ways = [[(region.low, -1, slack)], [(region.high, 1, 1.0)]]
    bounded = ([demand for demand in way if math.isfinite(demand[0])] for way in ways)
    return list(filter(None, bounded))


def points(name: str, wanted: str, closed: str | None = None) -> Iterator[Point]:
    """All ways in which a row comes out as ``wanted``, with its gates open but for ``closed``.

    If all parts of a row must be on a side, there is one way; else one for each part. A gate of
    several runs is open in as many ways, that of other gates in turn.
    """
    study, claim = ROWS[name]
    by_all = (claim.kind == "any_of") == (wanted == "refuted")
    groups: Sequence[Sequence[Term]] = (
        [claim.terms] if by_all or len(claim.terms) == 1 else [[term] for term in claim.terms]
    )
    gates = REGISTER.studies[study].gates
    choices = [gates[gate].cells for gate in claim.gate]
    passing = [
        [cells[turn % len(cells)] for cells in choices]
        for turn in range(max(map(len, choices), default=1))
    ]
    for group, way, opened in product(groups, sides(claim, wanted), passing):
        program = Program(study, claim)
        for term, demand in product(group, way):
            program.demand(term, *demand)
        for gate, cell in zip(claim.gate, opened, strict=True):
            if gate == closed:
                for every in gates[gate].cells:
                    program.demand(every, gates[gate].at_least, -1, 1.0)
            else:
                program.demand(cell, gates[gate].at_least, 1, 0.0)
        if (point := program.solve()) is not None:
            yield point


def planted(name: str, turns: Sequence[Point]) -> Row:
    """The verdict on a row at the last look of its study; seeds have the points in turn."""
    study, claim = ROWS[name]
    claims = REGISTER.studies[study]
    seeds = range(claims.seeds_from, claims.seeds_from + max(schedule(REGISTER, claims).looks))
    rows: list[dict[str, Any]] = []
    for seed, point in zip(seeds, cycle(turns), strict=False):
        read: dict[tuple[Any, ...], dict[str, Any]] = {}
        for cell, value in point.items():
            measure = claims.measures[cell.measure]
            at = {factor: level for factor, level in measure.at.items() if level is not None}
            key = (cell.run, measure.metric, *sorted(at.items()))
            row = {"arm": cell.arm, "variant": cell.variant, "metric": measure.metric, **at}
            assert read.setdefault(key, row | {"value": value})["value"] == value
        rows += [{"study": study, "seed": seed, **row} for row in read.values()]
    return judged(study, claim, pd.DataFrame(rows), seeds)


def judged(study: str, claim: Claim, table: pd.DataFrame, seeds: Sequence[int]) -> Row:
    """The verdict on one row, with the tail that it has among the rows of its study."""
    claims = REGISTER.studies[study]
    alone = {study: claims.model_copy(update={"claims": (claim,)})}
    share = REGISTER.alpha * max(claim.tails, 1) / claims.tails if claims.tails else REGISTER.alpha
    register = REGISTER.model_copy(update={"studies": alone, "alpha": share})
    runs = table["arm"] + "/" + table["variant"] + ("/once" if claim.kind == "exact" else "/seeds")
    verdicts = judge(table, study, register, seeds, "default", planned=set(runs))
    (row,) = in_words(verdicts, alone[study]).verdicts
    return row


@pytest.mark.parametrize("name", OVER_SEEDS)
def test_a_planted_effect_is_found_on_either_side(name: str) -> None:
    for wanted, other in (("supported", "refuted"), ("refuted", "supported")):
        ways, opposite = list(points(name, wanted)), next(points(name, other))
        assert ways, f"{name} cannot be {wanted} while its gates are open"
        for way in ways:
            verdict = planted(name, [way] * 6 + [opposite] + [way] * 5)
            assert verdict.verdict == wanted, (name, way, verdict.notes)


@pytest.mark.parametrize("name", OVER_SEEDS)
def test_a_planted_null_is_not_decided(name: str) -> None:
    verdict = planted(name, [next(points(name, "supported")), next(points(name, "refuted"))])
    assert verdict.verdict == "inconclusive", (name, verdict.notes)


@pytest.mark.parametrize(("name", "gate"), GATED)
def test_a_closed_gate_withholds_the_verdict(name: str, gate: str) -> None:
    sides = (next(points(name, side, closed=gate), None) for side in ("supported", "refuted"))
    ways = list(filter(None, sides))
    assert ways
    claims = REGISTER.studies[ROWS[name][0]]
    label = claims.measures[claims.gates[gate].measure].label
    for way in ways:
        verdict = planted(name, [way])
        assert verdict.verdict is None, (name, gate)
        assert f"gate ({label}): " in str(verdict.withheld)


@pytest.mark.parametrize("name", EXACT)
def test_an_exact_row_turns_at_its_tolerance(name: str) -> None:
    study, claim = ROWS[name]
    cases = claim.effect.every
    upward = claim.region.kind == "at_most"
    [end] = claim.region.ends
    beyond = end + (1 if upward else -1) * max(1e-6 * abs(end), 1e-300)
    levels = [level if isinstance(level, tuple) else (level,) for level in cases.at.values()]
    rows = [
        {"study": study, "arm": cases.arm, "variant": cases.variant or "any", "seed": None}
        | {"metric": cases.metric, "value": end}
        | dict(zip(cases.at, combination, strict=True))
        for combination in product(*levels)
    ]
    seeds = range(REGISTER.studies[study].seeds_from, REGISTER.studies[study].seeds_from + 12)

    def verdict(table: Sequence[Mapping[str, Any]]) -> str | None:
        return judged(study, claim, pd.DataFrame(table), seeds).verdict

    assert verdict(rows) == "supported"
    for turn, value in zip(range(max(2, len(rows))), cycle((beyond, math.nan)), strict=False):
        i = turn % len(rows)
        assert verdict([*rows[:i], rows[i] | {"value": value}, *rows[i + 1 :]]) == "refuted"
    for factor, of_factor in zip(cases.at, levels, strict=True):
        for level in of_factor:
            left = [row for row in rows if row[factor] != level]
            elsewhere = rows[0] | {"arm": "elsewhere"}
            assert verdict([*left, elsewhere]) == "inconclusive", (factor, level)
