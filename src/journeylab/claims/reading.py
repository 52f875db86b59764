"""Read terms and cases of claims from the tidy measurements."""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from journeylab.claims.effects import (
    Cases,
    Cell,
    Difference,
    Level,
    Mean,
    Quantity,
    Term,
    cells,
    steps,
)
from journeylab.claims.statistics import Measured, Values, is_single, spacing
from journeylab.config import UserError
from journeylab.records.looks import SeedRange

PlannedSeeds = Mapping[str, Sequence[int] | None]
"""The seeds of planned runs ``arm/variant``; None for a run that is computed once."""


class CellValues:
    """Reads terms from a table; what was read of a cell stays, since every look reads the same."""

    def __init__(self, table: pd.DataFrame, measures: Mapping[str, Quantity]) -> None:
        self._measures = measures
        self._known: dict[Cell, dict[float, float]] = {}
        self._rows = table.groupby(["arm", "variant", "metric"], sort=False).indices
        self._seeds = table["seed"].to_numpy(dtype=np.float64, na_value=np.nan)
        self._values = table["value"].to_numpy(dtype=np.float64, na_value=np.nan)
        self._at_level = cache(lambda factor, level: at_level(table, factor, level).to_numpy())

    def rows(self, cell: Cell) -> NDArray[np.intp]:
        """The positions of the rows of the table that a cell reads."""
        measure = self._measures[cell.measure]
        rows = np.asarray(self._rows.get((cell.arm, cell.variant, measure.metric), []), np.intp)
        for factor, level in measure.at.items():
            rows = rows[self._at_level(factor, level)[rows]]
        return rows

    def by_seed(self, cell: Cell) -> Mapping[float, float]:
        """The value of a cell at each seed. Raises UserError for several values of a seed."""
        if cell not in self._known:
            rows = self.rows(cell)
            seeds, counts = np.unique(self._seeds[rows], return_counts=True)
            if (counts > 1).any():
                measure, seed = self._measures[cell.measure], seeds[counts > 1][0]
                raise UserError(
                    f"measurements: seed {seed:.0f} of {cell.run} has several values of "
                    f"{measure.metric} at {measure.at}"
                )
            pairs = zip(self._seeds[rows].tolist(), self._values[rows].tolist(), strict=True)
            self._known[cell] = dict(pairs)
        return self._known[cell]

    def read(self, term: Term, seeds: Sequence[int]) -> Values:
        """The term at each seed, shape (n,); NaN where the seed failed or was not measured.

        Raises UserError if a cell selects several values of the same seed.
        """
        if isinstance(term, Difference):
            first, second = (self.read(part, seeds) for part in term.difference)
            with np.errstate(invalid="ignore"):
                difference = first - second
            return np.where(np.isfinite(difference), difference, np.nan)
        if isinstance(term, Mean):
            parts = [self.read(part, seeds) for part in term.mean]
            return np.asarray(np.mean(parts, axis=0), dtype=np.float64)
        if not isinstance(term, Cell):
            return np.full(len(seeds), float(term))
        by_seed = self.by_seed(term)
        found = np.array([by_seed.get(seed, np.nan) for seed in seeds], dtype=np.float64)
        return np.where(np.isfinite(found), found, np.nan)

    def measured(self, term: Term, seeds: Sequence[int]) -> Measured:
        """A term with the distance up to which its value at each seed lies at a threshold.

        The larger of four spacings of the floats that it was computed from, and of a hundredth of
        the smallest step of its measures.
        """
        of_cells = [is_single(self.read(cell, seeds)) for cell in cells([term])]
        step = min(steps(term, self._measures), default=0.0)
        spacings = self._spacing(term, seeds, np.logical_and.reduce(of_cells))
        return Measured(self.read(term, seeds), np.maximum(spacings, step / 100))

    def _spacing(self, term: Term, seeds: Sequence[int], single: NDArray[np.bool_]) -> Values:
        if isinstance(term, Difference):
            first, second = (self._spacing(part, seeds, single) for part in term.difference)
            return first + second
        if isinstance(term, Mean):
            parts = [self._spacing(part, seeds, single) for part in term.mean]
            return np.asarray(np.mean(parts, axis=0), dtype=np.float64)
        return spacing(self.read(term, seeds), single & isinstance(term, Cell))


def read_rows(
    cases: Cases, table: pd.DataFrame, planned: PlannedSeeds
) -> tuple[Values, list[str], bool]:
    """All values of the cases, what is missing of them in words, and whether they have seeds.

    Every planned variant needs a value at every combination of levels and at each of its seeds. A
    run that is computed once ends with all its rows or with none, and does not compute every metric
    at every level: there each variant needs rows, and each level needs a value in one of them.
    """
    of_arm = table["arm"] == cases.arm
    matches = [
        {level: at_level(table, factor, level) for level in _levels(levels)}
        for factor, levels in cases.at.items()
    ]
    chosen = of_arm & (table["metric"] == cases.metric)
    if cases.variant is not None:
        chosen &= table["variant"] == cases.variant
    for of_factor in matches:
        chosen &= np.logical_or.reduce(list(of_factor.values()))
    missing = [
        f"{factor} = {level}"
        for factor, of_factor in zip(cases.at, matches, strict=True)
        for level, match in of_factor.items()
        if not match[chosen].any()
    ]
    lacking, seeded = set[int](), True
    for run, seeds in planned.items():
        arm, variant = run.split("/")
        if arm != cases.arm or cases.variant not in (None, variant):
            continue
        of_run, seeded = table["variant"] == variant, seeds is not None
        if not ((chosen if seeded else of_arm) & of_run).any():
            missing.append(f"variant = {variant}")
        elif seeds is not None:
            for combination in product(*(of_factor.values() for of_factor in matches)):
                at = np.logical_and.reduce([chosen, of_run, *combination])
                lacking |= set(seeds).difference(table.loc[at, "seed"])
    if not chosen.any():
        missing = [cases.metric]
    elif not missing:
        missing = [f"seed {seed}" for seed in sorted(lacking)]
    return table.loc[chosen, "value"].to_numpy(dtype=np.float64), missing, seeded


def taken_rows(table: pd.DataFrame, taken: SeedRange) -> pd.DataFrame:
    """The rows of the seeds that the looks took of every run, and the rows without a seed."""
    ends = (table["arm"] + "/" + table["variant"]).map(taken.end).astype(float)
    return table[table["seed"].isna() | (table["seed"] < ends)]


def _levels(levels: Level | tuple[Level, ...]) -> tuple[Level, ...]:
    return levels if isinstance(levels, tuple) else (levels,)


def at_level(table: pd.DataFrame, factor: str, level: Level) -> "pd.Series[bool]":
    """Which rows have a level of a factor; a column that is not there has no level anywhere."""
    if factor not in table.columns:
        return pd.Series(level is None, index=table.index, dtype=bool)
    column = table[factor]
    if level is None:
        return column.isna()
    if isinstance(level, int):
        return (pd.to_numeric(column, errors="coerce") == level).fillna(False).astype(bool)
    return (column.astype("string") == level).fillna(False).astype(bool)
