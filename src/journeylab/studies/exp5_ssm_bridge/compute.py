"""prop:ssm-bridge, checked by construction: h_N = R^{N−1} Σ_t α_t R^{−(t−1)} v_t.

The operator, the weights and the values of a case are rounded to its precision and are then *exact*
inputs. From them come the recurrence, the journey form and the scan, computed in that precision,
and the truth, computed in arbitrary precision. In exact arithmetic all are equal, so whatever
differs is rounding.

| metric | meaning (‖·‖ Euclidean, h the truth, r the recurrence, j the journey form) |
| --- | --- |
| relative_error | ‖j − h‖ / ‖h‖, the primary metric |
| recurrence_error | ‖r − h‖ / ‖h‖ |
| disagreement | ‖j − r‖ / ‖h‖ |
| scan_error | ‖s − h‖ / ‖h‖, s the scan |
| one_minus_cosine | 1 − cos(j, r) |
| state_lost | relative_error up to 1, where recurrence_error ≤ 1e-10; else 0 |
| error_over_rounding | the largest of the first three / (4·d·N·u), u the unit roundoff |
| growth | max over k < N of ‖R^k‖ and ‖R^{−k}‖ (spectral norm) |
| bound | 100·u·N·growth² |
| error_over_bound | the largest of the first three / bound, of cases whose bound is below 1 |
| identity_error | distance of the two forms when both are computed in arbitrary precision |
| negative_control_error | ‖R·j − h‖ / ‖h‖, one power of R too many in arbitrary precision |
| negative_control_cosine | cos(R·j, h) of the same |

A result that is not finite in its precision is recorded as an error of +∞.
"""

from __future__ import annotations

import math
import statistics
import time
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from mpmath import mp, mpf
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor

from journeylab.operators import ssm
from journeylab.studies.exp5_ssm_bridge.settings import (
    OPERATORS,
    Cases,
    Computation,
    Operator,
    Precision,
)

if TYPE_CHECKING:
    from journeylab.streams import Streams

Exact = list["mpf"]
"""A vector in arbitrary precision (the type is mpmath's, which ships no annotations)."""

Row = dict[str, str | int | float]

SPARE_BITS = 160
"""Bits of the truth beyond what the growth of the powers can destroy."""

RIGHT = 1e-10
"""An error of the recurrence up to which what is lost is lost by the journey form alone."""

FORMS = {"recurrent": ssm.recurrent, "parallel": ssm.parallel, "scan": ssm.scan}
TIMINGS = 15


def compute(job: Computation, streams: Streams | None) -> pd.DataFrame:
    """All cases of one operator as tidy rows: draw, metric, operator, precision, N, value.

    The first N inputs of a draw are the same at every length.
    """
    del streams  # nothing depends on a seed: draws have numbers of their own
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
    """Median CPU time of every form at every length, in milliseconds: ``form.N``, in float64.

    Forms take turns, so that a busy machine slows all alike.
    """
    matrix, inputs = _draw(job, job.first_draw)
    found: dict[str, float] = {}
    for length in job.lengths:
        spent: dict[str, list[float]] = {name: [] for name in FORMS}
        for _ in range(TIMINGS):
            for name, form in FORMS.items():
                began = time.process_time()
                form(matrix, inputs[:length])
                spent[name].append(1e3 * (time.process_time() - began))
        found |= {f"{name}.{length}": statistics.median(times) for name, times in spent.items()}
    return found


def draw_operator(cases: Cases, operator: Operator, rng: Generator) -> Tensor:
    """A random operator ``(d, d)`` in float64.

    rotation: d/2 plane rotations, angles uniform on (−π, π). orthogonal: Haar. contracted: the
    contraction times Haar. nonnormal: plane rotations, coupled by a standard normal strictly upper
    block triangle, in a Haar basis — eigenvalues on the unit circle, so that only the departure
    from normality sets it apart from orthogonal. growing: Gaussian/√d, scaled to the spectral
    radius — its powers grow along one eigenvector, those of its inverse along another.
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


def compare(operator: Tensor, inputs: Tensor) -> dict[str, float]:
    """Every metric of one case: ``operator`` (d, d) and ``inputs`` α_t·v_t (N, d) of one dtype."""
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
        once_more = _step(_rows(operator), transported, [mpf(0)] * dimension)
        found = errors | {
            "scan_error": distance(s, truth),
            "state_lost": (
                min(1.0, errors["relative_error"]) if errors["recurrence_error"] <= RIGHT else 0.0
            ),
            "one_minus_cosine": float(1 - _cosine(j, r)),
            "error_over_rounding": largest / (4 * dimension * length * unit),
            "growth": growth,
            "bound": bound,
            "identity_error": distance(transported, truth),
            "negative_control_error": distance(once_more, truth),
            "negative_control_cosine": float(_cosine(once_more, truth)),
        }
    return found | ({"error_over_bound": largest / bound} if bound < 1 else {})


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
        here = slice(2 * block, 2 * block + 2)
        matrix[here, here] = [[cos, -sin], [sin, cos]]
    return matrix


def _log2_growth(operator: Tensor, length: int) -> float:
    """log₂ of the growth; powers are scaled by the spectral radius, so that none overflows."""
    both = torch.stack((operator, torch.linalg.inv(operator)))
    radii = torch.linalg.eigvals(both).abs().amax(-1)
    norms = torch.linalg.matrix_norm(ssm.powers(both / radii[:, None, None], length), 2)
    exponents = torch.arange(length, dtype=torch.float64)
    return float((norms.log2() + exponents * radii.log2()[:, None]).max())


def _truth(operator: Tensor, inputs: Tensor) -> tuple[Exact, Exact]:
    """h_N by the recurrence and by the journey form, in the working precision of mpmath.

    The journey form is summed by Horner's rule from the last input backwards, which needs powers of
    R⁻¹ only implicitly, and is then carried forward by N − 1 applications of R.
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
    nothing = [mpf(0)] * len(matrix)
    for _ in steps[1:]:
        journey = _step(matrix, journey, nothing)
    return state, journey


def _step(matrix: list[Exact], state: Exact, step: Exact) -> Exact:
    return [mp.fdot(zip(row, state, strict=True)) + x for row, x in zip(matrix, step, strict=True)]


def _exact(vector: Tensor) -> Exact | None:
    """The same numbers in arbitrary precision; None if they are not all finite."""
    return [mpf(x) for x in vector.tolist()] if vector.isfinite().all() else None


def _cosine(first: Exact | None, second: Exact | None) -> mpf:
    if first is None or second is None or not any(first) or not any(second):
        return mpf("-inf")
    return mp.fdot(zip(first, second, strict=True)) / (mp.norm(first) * mp.norm(second))


def _rows(matrix: Tensor) -> list[Exact]:
    return [[mpf(x) for x in row] for row in matrix.tolist()]
