"""The identity h_N = R^{N−1} Σ_t α_t R^{−(t−1)} v_t (prop:ssm-bridge), checked numerically.

The operator, the weights and the values of a case are rounded to the precision of the case and are
*exact* inputs from then on. The recurrence, the journey form and the scan are computed from them in
that precision, the truth in arbitrary precision. In exact arithmetic all four are equal, so every
difference between them is a rounding error.

| metric | meaning (‖·‖ Euclidean, h the truth, r the recurrence, j the journey form) |
| --- | --- |
| relative_error | ‖j − h‖ / ‖h‖, the primary metric |
| recurrence_error | ‖r − h‖ / ‖h‖ |
| disagreement | ‖j − r‖ / ‖h‖ |
| scan_error | ‖s − h‖ / ‖h‖, s the scan |
| one_minus_cosine | 1 − cos(j, r) |
| state_lost | min(1, relative_error) if recurrence_error ≤ 1e-10, else 0 |
| error_over_rounding | the largest of the first three / (4·d·N·u), u the unit roundoff |
| growth | max over k < N of ‖R^k‖ and ‖R^{−k}‖ (spectral norm) |
| bound | 100·u·N·growth² |
| error_over_bound | the largest of the first three / bound, only for cases with bound < 1 |
| identity_error | ‖j − h‖ / ‖h‖ with both forms in arbitrary precision |
| negative_control_error | ‖R·j − h‖ / ‖h‖, one power of R too many in arbitrary precision |
| negative_control_cosine | cos(R·j, h), one power of R too many in arbitrary precision |

If a result is not finite in its precision, its error is +∞.
"""

from __future__ import annotations

import math
import statistics
import time
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from mpmath import mp, mpf
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor

from journeylab.operators import ssm
from journeylab.studies.exp5_ssm_bridge.settings import (
    OPERATORS,
    BridgeCases,
    Computation,
    Operator,
    Precision,
)

if TYPE_CHECKING:
    from journeylab.streams import Streams

Exact = list["mpf"]
"""A vector in arbitrary precision. The type is quoted because mpmath has no annotations."""

Row = dict[str, str | int | float]

SPARE_BITS = 160
"""Bits of the truth in addition to those that the growth of the powers can destroy."""

ACCURATE = 1e-10
"""An error of the recurrence up to this is small: a larger error is due to the journey form."""

FORMS = {"recurrent": ssm.recurrent, "parallel": ssm.parallel, "scan": ssm.scan}
TIMINGS = 15


def compute(job: Computation, streams: Streams | None) -> pd.DataFrame:
    """All cases of one operator as tidy rows: draw, metric, operator, precision, N, value.

    Within a draw, shorter sequences are prefixes of longer ones.
    """
    del streams  # draws are numbered and do not depend on a seed
    rows: list[Row] = []
    for draw in range(job.first_draw, job.first_draw + job.draws):
        drawn = _draw(job, draw)
        for precision in job.precisions:
            for length in job.lengths:
                case: Row = {"draw": draw, "operator": job.variant}
                case |= {"precision": precision, "N": length}
                values = compare(*_round(*drawn, length, precision))
                rows += [case | {"metric": name, "value": x} for name, x in values.items()]
    columns = ["draw", "metric", "operator", "precision", "N", "value"]
    return pd.DataFrame(rows, columns=columns)


def time_forms(job: Computation) -> dict[str, float]:
    """Median CPU time in milliseconds of every form at every length, in float64, by ``form.N``.

    The forms are timed in turns, so that a busy machine slows all of them equally.
    """
    matrix, inputs = _draw(job, job.first_draw)
    medians: dict[str, float] = {}
    for length in job.lengths:
        spent: dict[str, list[float]] = {name: [] for name in FORMS}
        for _ in range(TIMINGS):
            for name, form in FORMS.items():
                began = time.process_time()
                form(matrix, inputs[:length])
                spent[name].append(1e3 * (time.process_time() - began))
        medians |= {f"{name}.{length}": statistics.median(times) for name, times in spent.items()}
    return medians


def draw_operator(cases: BridgeCases, operator: Operator, rng: Generator) -> Float[Tensor, "d d"]:
    """A random operator R in float64.

    - rotation: d/2 plane rotations with angles uniform on (−π, π) radians.
    - orthogonal: Haar-distributed.
    - contracted: a Haar-distributed matrix times ``contraction``.
    - nonnormal: Q (D + T) Qᵀ with Haar-distributed Q, plane rotations D and a standard normal,
      strictly upper block triangular T. Its eigenvalues have modulus 1, so that it differs from
      orthogonal only by its departure from normality.
    - growing: standard normal entries, scaled to ``spectral_radius`` > 1. Its powers grow along one
      eigenvector, the powers of its inverse along another.
    """
    dimension = cases.dimension
    rotation = _rotation(rng.uniform(-math.pi, math.pi, dimension // 2))
    basis, triangle = np.linalg.qr(rng.standard_normal((dimension, dimension)))
    haar = basis * np.sign(np.diag(triangle))
    blocks = np.repeat(np.arange(dimension // 2), 2)
    coupling = rng.standard_normal((dimension, dimension)) * (blocks[:, None] < blocks[None, :])
    gaussian = rng.standard_normal((dimension, dimension)) / math.sqrt(dimension)
    radius = np.abs(np.linalg.eigvals(gaussian)).max()
    drawn = {
        "rotation": rotation,
        "orthogonal": haar,
        "contracted": cases.contraction * haar,
        "nonnormal": haar @ (rotation + coupling) @ haar.T,
        "growing": gaussian * (cases.spectral_radius / radius),
    }
    return torch.from_numpy(np.ascontiguousarray(drawn[operator]))


def compare(operator: Float[Tensor, "d d"], inputs: Float[Tensor, "length d"]) -> dict[str, float]:
    """Every metric of one case, by name (see the table of this module).

    ``operator`` is R, and row t of ``inputs`` is α_t·v_t. Both have one dtype, in which the three
    forms are computed.
    """
    dimension, length = inputs.shape[1], len(inputs)
    unit = torch.finfo(operator.dtype).eps / 2
    log_growth = _log2_growth(operator.double(), length)
    growth = math.inf if log_growth > 1000 else 2.0**log_growth
    bound = 100 * unit * length * growth * growth
    r, j, s = (_exact(form(operator, inputs)[-1]) for form in FORMS.values())
    with mp.workprec(SPARE_BITS + 2 * math.ceil(log_growth + math.log2(length))):
        truth, transported = _truth(operator, inputs)
        scale = mp.norm(truth)

        def distance(first: Exact | None, second: Exact | None) -> float:
            if first is None or second is None:
                return math.inf
            return float(mp.norm([a - b for a, b in zip(first, second, strict=True)]) / scale)

        errors = {
            "relative_error": distance(j, truth),
            "recurrence_error": distance(r, truth),
            "disagreement": distance(j, r),
        }
        largest = max(errors.values())
        accurate = errors["recurrence_error"] <= ACCURATE
        once_more = _step(_rows(operator), transported, [mpf(0)] * dimension)
        metrics = errors | {
            "scan_error": distance(s, truth),
            "state_lost": min(1.0, errors["relative_error"]) if accurate else 0.0,
            "one_minus_cosine": float(1 - _cosine(j, r)),
            "error_over_rounding": largest / (4 * dimension * length * unit),
            "growth": growth,
            "bound": bound,
            "identity_error": distance(transported, truth),
            "negative_control_error": distance(once_more, truth),
            "negative_control_cosine": float(_cosine(once_more, truth)),
        }
    return metrics | ({"error_over_bound": largest / bound} if bound < 1 else {})


def _draw(job: Computation, draw: int) -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng([draw, OPERATORS.index(job.variant)])
    matrix = draw_operator(job, job.variant, rng)
    steps = [rng.uniform() * rng.standard_normal(job.dimension) for _ in range(max(job.lengths))]
    return matrix, torch.from_numpy(np.stack(steps))


def _round(matrix: Tensor, inputs: Tensor, length: int, to: Precision) -> tuple[Tensor, Tensor]:
    dtype = getattr(torch, to)
    return matrix.to(dtype), inputs[:length].to(dtype)


def _rotation(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    matrix = np.zeros((2 * len(angles), 2 * len(angles)))
    for block, (cos, sin) in enumerate(zip(np.cos(angles), np.sin(angles), strict=True)):
        plane = slice(2 * block, 2 * block + 2)
        matrix[plane, plane] = [[cos, -sin], [sin, cos]]
    return matrix


def _log2_growth(operator: Tensor, length: int) -> float:
    """log₂ of the growth. The powers are scaled by the spectral radius, so that none overflows."""
    both = torch.stack((operator, torch.linalg.inv(operator)))
    radii = torch.linalg.eigvals(both).abs().amax(-1)
    norms = torch.linalg.matrix_norm(ssm.powers(both / radii[:, None, None], length), 2)
    exponents = torch.arange(length, dtype=torch.float64)
    return float((norms.log2() + exponents * radii.log2()[:, None]).max())


def _truth(operator: Tensor, inputs: Tensor) -> tuple[Exact, Exact]:
    """h_N by the recurrence and by the journey form, in the working precision of mpmath.

    Horner's rule sums the journey form from the last input backwards, without explicit powers of
    R⁻¹. Then R is applied N − 1 times.
    """
    matrix = _rows(operator)
    inverse = (mp.matrix(matrix) ** -1).tolist()
    steps = _rows(inputs)
    state = steps[0]
    for step in steps[1:]:
        state = _step(matrix, state, step)
    journey = steps[-1]
    for step in reversed(steps[:-1]):
        journey = _step(inverse, journey, step)
    zero = [mpf(0)] * len(matrix)
    for _ in steps[1:]:
        journey = _step(matrix, journey, zero)
    return state, journey


def _step(matrix: list[Exact], state: Exact, step: Exact) -> Exact:
    return [mp.fdot(zip(row, state, strict=True)) + x for row, x in zip(matrix, step, strict=True)]


def _exact(vector: Tensor) -> Exact | None:
    """The same numbers in arbitrary precision, or None if any of them is not finite."""
    return [mpf(x) for x in vector.tolist()] if vector.isfinite().all() else None


def _cosine(first: Exact | None, second: Exact | None) -> mpf:
    if first is None or second is None or not any(first) or not any(second):
        return mpf("-inf")
    return mp.fdot(zip(first, second, strict=True)) / (mp.norm(first) * mp.norm(second))


def _rows(matrix: Tensor) -> list[Exact]:
    return [[mpf(x) for x in row] for row in matrix.tolist()]
