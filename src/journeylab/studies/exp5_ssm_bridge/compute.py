"""prop:ssm-bridge, checked by construction: h_N = R^{N−1} Σ_t α_t R^{−(t−1)} v_t.

The operator, the weights and the values of a case are rounded to its precision and are then *exact*
inputs. From them come three answers: the recurrence and the journey form, both computed in that
precision, and the truth, computed in arbitrary precision. In exact arithmetic all three are equal,
so whatever differs is rounding.

| metric | meaning (‖·‖ Euclidean, h the truth, r the recurrence, j the journey form) |
| --- | --- |
| relative_error | ‖j − h‖ / ‖h‖, the primary metric |
| recurrence_error | ‖r − h‖ / ‖h‖ |
| disagreement | ‖j − r‖ / ‖h‖ |
| one_minus_cosine | 1 − cos(j, r) |
| growth | max over k < N of ‖R^k‖ and ‖R^{−k}‖ (spectral norm) |
| bound | 100·u·N·growth², u the unit roundoff |
| error_over_bound | relative_error / bound |
| identity_error | distance of the two forms when both are computed in arbitrary precision |
| negative_control_error | ‖R·j − h‖ / ‖h‖: one power of R too many; must be far from zero |

A result that is not finite in its precision is recorded as an error of +∞.
"""

from __future__ import annotations

import math
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


def compute(job: Computation, streams: Streams | None) -> pd.DataFrame:
    """All cases of one operator as tidy rows: draw, metric, operator, precision, N, value.

    The first N inputs of a draw are the same at every length.
    """
    del streams  # nothing depends on a seed: draws count from 0
    rows: list[Row] = []
    for draw in range(job.draws):
        drawn = _draw(job, draw)
        for precision in job.precisions:
            for length in job.lengths:
                case: Row = {"draw": draw, "operator": job.variant}
                case |= {"precision": precision, "N": length}
                values = compare(*_round(*drawn, length, precision))
                rows += [case | {"metric": name, "value": x} for name, x in values.items()]
    columns = ["draw", "metric", "operator", "precision", "N", "value"]
    return pd.DataFrame(rows, columns=columns)


def draw_operator(operator: Operator, dimension: int, contraction: float, rng: Generator) -> Tensor:
    """A random operator ``(d, d)`` in float64.

    rotation: d/2 plane rotations, angles uniform on (−π, π). orthogonal: Haar. contracted: the
    contraction times Haar. nonnormal: plane rotations, coupled by a standard normal strictly upper
    block triangle, in a Haar basis — eigenvalues on the unit circle, so that only the departure
    from normality sets it apart from orthogonal.
    """
    rotation = _rotation(rng.uniform(-math.pi, math.pi, dimension // 2))
    basis, triangle = np.linalg.qr(rng.standard_normal((dimension, dimension)))
    haar = basis * np.sign(np.diag(triangle))
    blocks = np.repeat(np.arange(dimension // 2), 2)
    coupling = rng.standard_normal((dimension, dimension)) * (blocks[:, None] < blocks[None, :])
    drawn = {
        "rotation": rotation,
        "orthogonal": haar,
        "contracted": contraction * haar,
        "nonnormal": haar @ (rotation + coupling) @ haar.T,
    }
    return torch.from_numpy(np.ascontiguousarray(drawn[operator]))


def compare(operator: Tensor, inputs: Tensor) -> dict[str, float]:
    """Every metric of one case: ``operator`` (d, d) and ``inputs`` α_t·v_t (N, d) of one dtype."""
    length = len(inputs)
    recurrence = ssm.recurrent(operator, inputs)[-1]
    journey = ssm.parallel(operator, inputs)[-1]
    growth = _growth(operator.double(), length)
    bound = 100 * torch.finfo(operator.dtype).eps / 2 * length * growth**2
    with mp.workprec(SPARE_BITS + 2 * math.ceil(math.log2(growth * length))):
        truth, transported = _truth(operator, inputs)
        scale = mp.norm(truth)

        def distance(first: Exact | None, second: Exact | None) -> float:
            if first is None or second is None:
                return math.inf
            return float(mp.norm([a - b for a, b in zip(first, second, strict=True)]) / scale)

        j, r = _exact(journey), _exact(recurrence)
        error = distance(j, truth)
        return {
            "relative_error": error,
            "recurrence_error": distance(r, truth),
            "disagreement": distance(j, r),
            "one_minus_cosine": _one_minus_cosine(j, r),
            "error_over_bound": error / bound,
            "bound": bound,
            "growth": growth,
            "identity_error": distance(transported, truth),
            "negative_control_error": distance(_exact(operator @ journey), truth),
        }


def _draw(job: Computation, draw: int) -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng([draw, OPERATORS.index(job.variant)])
    dimension, longest = job.dimension, max(job.lengths)
    matrix = draw_operator(job.variant, dimension, job.contraction, rng)
    steps = [rng.uniform() * rng.standard_normal(dimension) for _ in range(longest)]
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


def _growth(operator: Tensor, length: int) -> float:
    both = torch.stack((operator, torch.linalg.inv(operator)))
    return float(torch.linalg.matrix_norm(ssm.powers(both, length), 2).max())


def _truth(operator: Tensor, inputs: Tensor) -> tuple[Exact, Exact]:
    """h_N by the recurrence and by the journey form, in the working precision of mpmath.

    The journey form is summed by Horner's rule from the last input backwards, which needs powers of
    R⁻¹ only implicitly, and is then carried forward by N − 1 applications of R.
    """
    matrix = [[mpf(x) for x in row] for row in operator.tolist()]
    inverse = (mp.matrix(matrix) ** -1).tolist()
    steps = [[mpf(x) for x in row] for row in inputs.tolist()]
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


def _one_minus_cosine(first: Exact | None, second: Exact | None) -> float:
    if first is None or second is None or not any(first) or not any(second):
        return math.inf
    cosine = mp.fdot(zip(first, second, strict=True)) / (mp.norm(first) * mp.norm(second))
    return float(1 - cosine)
