"""Checks of prop:coupling-rank and thm:coupling without training.

*rank*: the coupling M[t, (s, e)] = ⟨R_t q, R_s k_e⟩ has rank d if the frequencies are distinct and
neither 0 nor π. Planes with equal frequencies rotate together, and a plane that does not rotate
contributes one direction instead of two: each distinct ω counts 2, and ω = 0 counts 1.

| metric | meaning |
| --- | --- |
| rank | number of singular values above the tolerance of the arithmetic |
| rank_defect | |rank − d| |
| rank_error | |rank − Σ over distinct ω of (2, or 1 where ω = 0)| |
| gap | σ_r / σ_{r+1} at the rank r; 1 if r > d |
| rounded_error | rank_error in float64 of M rounded to single precision: the negative control |
| singular_value | σ_i / σ_1, i = 1 … d + 1 |
| least_error | the smallest ‖S − M‖ / ‖M‖ of d − 1 separable terms: √(Σ_{i ≥ d} σ_i² / Σ_i σ_i²) |

float64 computes the singular values of M and counts those above 100·2⁻⁵² times the largest. mpmath
works with 60 digits and takes the float64 values of ω, q and the keys as exact. It computes square
roots of the eigenvalues of M Mᵀ and counts those above 10⁻²⁰ times the largest. Values that are
zero in exact arithmetic are below 10⁻²⁵ there.

*cancellation*: the largest |softmax_e S(t) − softmax_e S(0)| over all entries, for the scores S of
H heads with standard normal tables. Scores A(t) + B(s, e) leave only rounding, other scores more.

*fewer*: the accuracy that H < d heads lose against d heads with standard normal tables: the share
of (t, s) at which their argmax_e differs. Additive heads hold the sums of the tables of d heads.
The control has the H separable terms of smallest squared error.
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
from journeylab.studies.exp6_coupling_rank.tables import FORMS, truncations

if TYPE_CHECKING:
    from journeylab.streams import Streams

COLUMNS = ("draw", "metric", "frequencies", "operators", "arithmetic", "i", "H", "value")
DIGITS = 60
TOLERANCE: dict[Arithmetic, float] = {"float64": 100.0 * 2.0**-52, "mpmath": 1e-20}
"""Smallest ratio to the largest singular value at which a singular value counts."""

Row = dict[str, str | int | float]


def compute(job: Computation, streams: Streams | None) -> pd.DataFrame:
    """Tidy rows: draw, metric, frequencies, operators, arithmetic, i, H, value."""
    del streams  # draws are numbered from 0 and do not depend on a seed
    check = {"rank": _check_rank, "cancellation": _check_cancellation, "fewer": _check_fewer}[
        job.computed
    ]
    rows = [row for draw in range(job.draws) for row in check(job, draw)]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.astype({"i": "Int64", "H": "Int64", "value": "float64"})


def spectrum(teacher: Teacher, positions: int, arithmetic: Arithmetic) -> list[float]:
    """The d + 1 largest singular values of M, unfolded to T × SE, divided by the largest."""
    if arithmetic == "float64":
        return _singular_values(teacher.scores(positions))
    with mp.workdps(DIGITS):
        values = _exact_values(teacher, positions)
        return [float(value / values[0]) for value in values[: D + 1]]


def numerical_rank(values: list[float], arithmetic: Arithmetic) -> int:
    """Number of ``values`` above the tolerance of the arithmetic."""
    return sum(value > TOLERANCE[arithmetic] for value in values)


def expected_rank(frequencies: list[float]) -> int:
    """The sum over the distinct frequencies in [0, π) of 2, or of 1 for the frequency 0."""
    return sum(2 if frequency else 1 for frequency in set(frequencies))


def _check_rank(job: Computation, draw: int) -> Iterator[Row]:
    for index, operators in enumerate(OPERATORS):
        rng = np.random.default_rng([draw, index])
        teacher = draw_teacher(cast(Frequencies, job.variant), operators, job, rng)
        expected = expected_rank(teacher.frequencies.tolist())
        case: Row = {"draw": draw, "frequencies": job.variant, "operators": operators}
        rounded = _singular_values(teacher.scores(job.positions).float().double())
        error = abs(numerical_rank(rounded, "float64") - expected)
        yield case | {"metric": "rounded_error", "value": error}
        for arithmetic in ARITHMETICS:
            values = spectrum(teacher, job.positions, arithmetic)
            rank = numerical_rank(values, arithmetic)
            metrics = {
                "rank": rank,
                "rank_defect": abs(rank - D),
                "rank_error": abs(rank - expected),
                "gap": _gap(values, rank),
                "least_error": math.hypot(*values[D - 1 :]) / math.hypot(*values),
            }
            row = case | {"arithmetic": arithmetic}
            yield from (row | {"metric": name, "value": x} for name, x in metrics.items())
            for i, value in enumerate(values, start=1):
                yield row | {"metric": "singular_value", "i": i, "value": value}


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
    rng = np.random.default_rng([draw, len(OPERATORS)])
    for heads in HEADS:
        shares = FORMS[job.variant].join(*_draw_tables(job, heads, rng)).softmax(-1)
        change = float((shares - shares[0]).abs().max())
        yield {"draw": draw, "metric": "cancellation", "H": heads, "value": change}


def _check_fewer(job: Computation, draw: int) -> Iterator[Row]:
    tables = _draw_tables(job, D, np.random.default_rng([draw, len(OPERATORS) + 1]))
    join = FORMS[job.variant].join
    scores = join(*tables)
    best = {heads: approximation for heads, _, approximation in truncations(scores)}
    for heads in HEADS[:-1]:
        fewer = best[heads] if job.variant == "separable" else join(*_merge(tables, heads))
        lost = float((fewer.argmax(-1) != scores.argmax(-1)).double().mean())
        yield {"draw": draw, "metric": "lost_accuracy", "H": heads, "value": lost}


def _draw_tables(job: Computation, heads: int, rng: np.random.Generator) -> list[Tensor]:
    shapes = FORMS[job.variant].shapes(heads, job.positions, job.roles, job.entities)
    return [torch.from_numpy(rng.standard_normal(shape)) for shape in shapes]


def _merge(tables: list[Tensor], heads: int) -> list[Tensor]:
    """Tables of ``heads`` heads; the last head has the sum of all that are left."""
    return [torch.cat((x[: heads - 1], x[heads - 1 :].sum(0, keepdim=True))) for x in tables]
