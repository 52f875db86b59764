"""The measurements of a deposit, as its scripts read them, and reductions of their values."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

Record = dict[str, Any]
PLAIN = str.maketrans(dict(zip("−⁻⁰¹²³⁴⁵⁶⁷⁸⁹∞", [*"--0123456789", "inf"], strict=True)))


class MismatchError(Exception):
    """What is wrong with a deposit, in one line."""


class Cells:
    """The measurements of a study: a CSV file with one value per row."""

    def __init__(self, text: str) -> None:
        names, *rows = csv.reader(io.StringIO(text, newline=""))
        cells = np.array(rows, dtype=object).reshape(len(rows), len(names))
        self.columns = {name: cells[:, i] for i, name in enumerate(names)}
        self.values = np.array([float(x or "nan") for x in self.columns["value"]])
        self._matches: dict[tuple[str, Any], Any] = {}

    def where(self, chosen: Any) -> Cells:
        """The same table with the chosen rows only."""
        part = object.__new__(Cells)
        part.columns = {name: column[chosen] for name, column in self.columns.items()}
        part.values, part._matches = self.values[chosen], {}
        return part

    def taken(self, start: int, taken: Record) -> Any:
        """Which rows have no seed, or a seed from ``start`` to the end that looks took of the run.

        That is the ``further`` end of the run ``arm/variant``, or the ``first`` one.
        """
        of_row = zip(*(self.columns[name] for name in ("seed", "arm", "variant")), strict=True)
        ends = ((seed, taken["further"].get(f"{a}/{v}", taken["first"])) for seed, a, v in of_row)
        return np.array([not seed or start <= int(seed) < end for seed, end in ends], dtype=bool)

    def match(self, factor: str, level: str | int | None) -> Any:
        """The rows at a level of a factor; None: where the factor does not apply."""
        key = (factor, level)
        if key not in self._matches:
            column = self.columns.get(factor)
            if column is None:
                chosen = np.full(self.values.size, level is None)
            elif isinstance(level, int):
                chosen = np.array([_number(x) == level for x in column], dtype=bool)
            else:
                chosen = column == ("" if level is None else level)
            self._matches[key] = chosen
        return self._matches[key]

    def term(self, term: Any, measures: Record, seeds: Sequence[int]) -> Any:
        """The term at each seed; NaN where the seed failed or was not measured."""
        if not isinstance(term, Mapping):
            return np.full(len(seeds), float(term))
        if "difference" in term:
            first, second = (self.term(part, measures, seeds) for part in term["difference"])
            with np.errstate(invalid="ignore"):
                values = first - second
            return np.where(np.isfinite(values), values, np.nan)
        if "mean" in term:
            return np.mean([self.term(part, measures, seeds) for part in term["mean"]], axis=0)
        arm, variant = term["run"].split("/")
        measure = measures[term["measure"]]
        chosen = self.match("arm", arm) & self.match("variant", variant)
        chosen &= self.match("metric", measure["metric"])
        for factor, level in measure["at"].items():
            chosen &= self.match(factor, level)
        known: dict[str, float] = {}
        for seed, value in zip(self.columns["seed"][chosen], self.values[chosen], strict=True):
            if seed in known:
                raise MismatchError(f"seed {seed} of {term['run']} has two values of {measure}")
            known[seed] = value
        values = np.array([known.get(str(seed), math.nan) for seed in seeds])
        return np.where(np.isfinite(values), values, np.nan)

    def tolerance(self, term: Any, measures: Record, seeds: Sequence[int]) -> Any:
        """The distance up to which the term at each seed lies at a threshold."""
        of_cells = [self.term(cell, measures, seeds) for cell, _ in cells_of(term)]
        single = np.all([is_single(values) for values in of_cells], axis=0)
        steps = [measures[cell["measure"]]["step"] for cell, _ in cells_of(term)]
        finest = [step / k for step, (_, k) in zip(steps, cells_of(term), strict=True) if step]

        def spacing(part: Any) -> Any:
            for kind, share in (("difference", np.sum), ("mean", np.mean)):
                if isinstance(part, Mapping) and kind in part:
                    return share([spacing(inner) for inner in part[kind]], axis=0)
            is_cell = isinstance(part, Mapping)
            return four_spacings(self.term(part, measures, seeds), single & is_cell)

        return np.maximum(spacing(term), min(finest, default=0.0) / 100)

    def cases(self, cases: Record, planned: Mapping[str, Any]) -> tuple[Any, bool, bool]:
        """All values of the cases, whether planned ones are missing, and whether they have seeds.

        ``planned`` holds the seeds of planned runs ``arm/variant``, None for one computed once.
        """
        of_arm = self.match("arm", cases["arm"])
        levels = [
            [self.match(factor, x) for x in (named if isinstance(named, list) else [named])]
            for factor, named in cases["at"].items()
        ]
        chosen = of_arm & self.match("metric", cases["metric"])
        if cases["variant"] is not None:
            chosen = chosen & self.match("variant", cases["variant"])
        for each in levels:
            chosen = chosen & np.logical_or.reduce(each)
        missing = not chosen.any() or any(
            not (match & chosen).any() for each in levels for match in each
        )
        seeded = True
        for run, seeds in planned.items():
            arm, variant = run.split("/")
            if arm != cases["arm"] or cases["variant"] not in (None, variant):
                continue
            of_run, seeded = self.match("variant", variant), seeds is not None
            if not seeded:  # computed as a whole or not at all, other metrics in other variants
                missing |= not (of_arm & of_run).any()
                continue
            for combination in product(*levels):
                at = np.logical_and.reduce([chosen, of_run, *combination])
                missing |= not {str(seed) for seed in seeds} <= set(self.columns["seed"][at])
        return self.values[chosen], bool(missing), seeded


def cells_of(term: Any, shares: int = 1) -> Iterator[tuple[Record, int]]:
    """The cells in a term, each with the number of terms over which means divide it."""
    if isinstance(term, Mapping) and "run" in term:
        yield dict(term), shares
    elif isinstance(term, Mapping):
        parts = term.get("difference") or term["mean"]
        for part in parts:
            yield from cells_of(part, shares * (len(parts) if "mean" in term else 1))


def is_single(values: Any) -> Any:
    """Where a value is one of float32."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32) == values


def four_spacings(values: Any, single: Any) -> Any:
    """Four spacings of floats at each value: of float32 where it is ``single``, else of float64."""
    with np.errstate(over="ignore", invalid="ignore"):
        coarse = np.spacing(np.abs(values.astype(np.float32))).astype(np.float64)
        return 4 * np.where(single, coarse, np.spacing(np.abs(values)))


def at_thresholds(values: Any, tolerance: Any, thresholds: Iterable[float]) -> Any:
    """The values, where one that lies at a threshold is the threshold."""
    compared = values
    for threshold in thresholds:
        with np.errstate(invalid="ignore"):
            near = np.abs(values - threshold) <= tolerance
        compared = np.where(near, threshold, compared)
    return compared


def _number(text: str) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return math.nan


REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "max": np.max,
    "min": np.min,
    "median": np.median,
    "size": lambda values: np.median(np.abs(values)),
}
COMPARISONS = {"at-least": np.greater_equal, "below": np.less, "above": np.greater}


def derive(table: Cells, how: Mapping[str, Any]) -> float | None:
    """A reduction of all values of a metric at levels of factors; None without a value."""
    chosen = table.match("metric", how["metric"])
    for factor, levels in how["where"].items():
        chosen = chosen & np.logical_or.reduce([table.match(factor, level) for level in levels])
    values = table.values[chosen & ~np.isnan(table.values)]
    kind, _, limit = how["reduce"].rpartition("-")
    if kind:
        return float(COMPARISONS[kind](values, float(limit)).sum())
    if how["reduce"] == "count":
        return float(values.size)
    return float(REDUCTIONS[how["reduce"]](values)) if values.size else None


def agrees(stated: Any, value: float) -> bool:
    """Whether a number, or a printed number such as “1.4 × 10⁻⁴”, is this value when rounded."""
    if not isinstance(stated, str):
        return stated is not None and math.isclose(stated, value, rel_tol=1e-12)
    text = stated.translate(PLAIN).replace("\u202f", "").replace("×10", "e")
    if not re.fullmatch(r"-?(\d+(\.\d+)?(e-?\d+)?|inf)", text):
        return False
    digits, _, power = text.partition("e")
    half = 0.5 * 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
    return float(text) == value or abs(float(text) - value) <= half * (1 + 1e-9)
