"""prop:coupling-rank and thm:coupling, checked without training.

*rank*: the coupling M[t, (s, e)] = ⟨R_t q, R_s k_e⟩ has rank d for distinct frequencies that are
neither 0 nor π. A plane that does not turn shows one direction of q instead of two, and planes of
one frequency turn together: each distinct ω counts 2, and ω = 0 counts 1.

| metric | meaning |
| --- | --- |
| rank | singular values above the tolerance of the arithmetic |
| rank_defect | |rank − d| |
| rank_error | |rank − Σ over distinct ω of (2, or 1 where ω = 0)| |
| gap | σ_r / σ_{r+1}, r the rank; 1 where more than d singular values count |
| rounded_error | rank_error of M rounded to single precision, in float64: the negative control |
| singular_value | σ_i / σ_1, i = 1 … d + 1 |

float64 takes the singular values of M itself, and those above 100·2⁻⁵² of the largest count. mpmath
computes with 60 digits, taking frequencies, q and keys for exact, and takes square roots of the
eigenvalues of M Mᵀ; those above 10⁻²⁰ count. What is zero in exact arithmetic is below 10⁻²⁵ there.

*cancellation*: ‖softmax_e S(t) − softmax_e S(0)‖, the largest entry over t, for S of H heads whose
tables are standard normal. Additive scores leave rounding, separable ones do not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd
import torch
from mpmath import mp, mpf
from torch import Tensor

from journeylab.studies.exp6_coupling_rank.data import Teacher, draw_teacher
from journeylab.studies.exp6_coupling_rank.settings import (
    ARITHMETICS,
    HEADS,
    OPERATORS,
    Arithmetic,
    Computation,
    D,
    Frequencies,
)
from journeylab.studies.exp6_coupling_rank.tables import FORMS

if TYPE_CHECKING:
    from journeylab.streams import Streams

COLUMNS = ("draw", "metric", "frequencies", "operators", "arithmetic", "i", "H", "value")
DIGITS = 60
TOLERANCE: dict[Arithmetic, float] = {"float64": 100.0 * 2.0**-52, "mpmath": 1e-20}
"""Singular values above this share of the largest one count."""

Row = dict[str, str | int | float]


def compute(job: Computation, streams: Streams | None) -> pd.DataFrame:
    """Tidy rows: draw, metric, frequencies, operators, arithmetic, i, H, value."""
    del streams  # draws count from 0
    check = _check_rank if job.computed == "rank" else _check_cancellation
    rows = [row for draw in range(job.draws) for row in check(job, draw)]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.astype({"i": "Int64", "H": "Int64", "value": "float64"})


def spectrum(teacher: Teacher, positions: int, arithmetic: Arithmetic) -> list[float]:
    """The d + 1 largest singular values of M ``(T, SE)`` in units of the largest one."""
    if arithmetic == "float64":
        return _singular_values(teacher.scores(positions))
    with mp.workdps(DIGITS):
        values = _exact_values(teacher, positions)
        return [float(value / values[0]) for value in values[: D + 1]]


def numerical_rank(values: list[float], arithmetic: Arithmetic) -> int:
    """How many of these count."""
    return sum(value > TOLERANCE[arithmetic] for value in values)


def expected_rank(frequencies: list[float]) -> int:
    """Two for every distinct frequency in [0, π), one where it is 0."""
    return sum(2 if frequency else 1 for frequency in set(frequencies))


def _check_rank(job: Computation, draw: int) -> Iterator[Row]:
    for place, operators in enumerate(OPERATORS):
        rng = np.random.default_rng([draw, place])
        teacher = draw_teacher(cast(Frequencies, job.variant), operators, job, rng)
        expected = expected_rank(teacher.frequencies.tolist())
        case: Row = {"draw": draw, "frequencies": job.variant, "operators": operators}
        rounded = _singular_values(teacher.scores(job.positions).float().double())
        error = abs(numerical_rank(rounded, "float64") - expected)
        yield case | {"metric": "rounded_error", "value": error}
        for arithmetic in ARITHMETICS:
            values = spectrum(teacher, job.positions, arithmetic)
            rank = numerical_rank(values, arithmetic)
            found = {
                "rank": rank,
                "rank_defect": abs(rank - D),
                "rank_error": abs(rank - expected),
                "gap": _gap(values, rank),
            }
            here = case | {"arithmetic": arithmetic}
            yield from (here | {"metric": name, "value": x} for name, x in found.items())
            for i, value in enumerate(values, start=1):
                yield here | {"metric": "singular_value", "i": i, "value": value}


def _singular_values(scores: Tensor) -> list[float]:
    values = torch.linalg.svdvals(scores.flatten(1))[: D + 1]
    return [float(value) for value in values / values[0]]


def _gap(values: list[float], rank: int) -> float:
    if rank == len(values):
        return 1.0
    return values[rank - 1] / values[rank] if values[rank] else math.inf


def _exact_values(teacher: Teacher, positions: int) -> list[mpf]:
    """Singular values in descending order, in the working precision of mpmath."""
    frequencies = [mpf(x) for x in teacher.frequencies.tolist()]
    pairs = [(mpf(x), mpf(y)) for x, y in teacher.query.reshape(-1, 2).tolist()]
    queries = []
    for t in range(positions):
        row = []
        for frequency, (x, y) in zip(frequencies, pairs, strict=True):
            cos, sin = mp.cos(t * frequency), mp.sin(t * frequency)
            row += [cos * x - sin * y, sin * x + cos * y]
        queries.append(row)
    keys = [[mpf(x) for x in key] for key in teacher.keys.flatten(0, 1).tolist()]
    table = mp.matrix([[mp.fdot(zip(row, key, strict=True)) for key in keys] for row in queries])
    eigenvalues = mp.eigsy(table * table.T, eigvals_only=True)
    return sorted((mp.sqrt(abs(value)) for value in eigenvalues), reverse=True)


def _check_cancellation(job: Computation, draw: int) -> Iterator[Row]:
    form = FORMS[job.variant]
    rng = np.random.default_rng([draw, len(OPERATORS)])
    for heads in HEADS:
        shapes = form.shapes(heads, job.positions, job.roles, job.entities)
        scores = form.join(*(torch.from_numpy(rng.standard_normal(shape)) for shape in shapes))
        shares = scores.softmax(-1)
        moved = float((shares - shares[0]).abs().max())
        yield {"draw": draw, "metric": "cancellation", "H": heads, "value": moved}
