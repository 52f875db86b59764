"""Metrics of operators: how far they are from block-diagonal rotations, and from commuting.

λ are eigenvalues, σ singular values, ‖·‖ is the Frobenius norm. With one operator per position,
the metrics of a single operator are averaged over positions.

| metric | definition | value for block-diagonal rotations |
| --- | --- | --- |
| off_block | ‖outside of the 2×2 blocks‖/‖R‖, in the standard basis | 0 |
| off_block_away | the same for R − I | 0 |
| block_defect | mean of |σ − 1| over the 2×2 blocks on the diagonal | 0 |
| modulus_spread | standard deviation of |λ| | 0 |
| real_share | share of real λ | – |
| orthogonality_defect | ‖RᵀR − I‖/√d | 0 |
| henrici | √(‖R‖² − Σ|λ|²)/‖R‖, Henrici's departure from normality | 0 |
| singular_spread | standard deviation of σ | 0 |
| angle_linearity | R² of the d/2 sorted eigen-angles against their rank | 1 if equally spaced |
| commutator | √ of ``models.commutator`` | 0 |
| joint_off_block | off-block mass in the best common basis (``blocks``) | 0 |
| linearity | R² against s of the angle of R_s in the leading plane | 0 if all R_s are equal |
| transport_linearity | R² against s of the angle of T_{i,i−s}, mean over i | 1 if all are equal |

Only the metrics of eigenvalues and of common planes do not depend on the basis. The leading plane
is the plane that the mean of all R_s turns fastest. Take the eigenvalue of the mean with the
largest |arg λ|, and its left and right eigenvectors u, w with uᴴw = 1: the angle of R_s is
arg uᴴR_sw, unwrapped along s. That of T_{i,i−s} = R_i ⋯ R_{i−s+1}, s = 1 … i, is arg uᴴT_{i,i−s}w,
and R² is averaged over the positions i in the second half of the window. The common basis is fitted
to the operators of even positions, and its off-block mass is measured on those of odd positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import torch

from journeylab.studies.exp4_operator_recovery.blocks import (
    Matrices,
    common_basis,
    off_block_mass,
    outside,
)
from journeylab.studies.exp4_operator_recovery.models import commutator
from journeylab.studies.exp4_operator_recovery.transport import random_rotations


def describe(operators: Matrices, generator: np.random.Generator) -> dict[str, float]:
    """Every metric of one operator ``[1, d, d]``, or of one operator per position ``[s, d, d]``.

    ``generator`` draws the random combinations of :func:`blocks.common_basis`.
    """
    separate = [dict(_of_operator(operator)) for operator in operators]
    metrics = {name: float(np.mean([each[name] for each in separate])) for name in separate[0]}
    if len(operators) > 1:
        metrics |= dict(_of_family(operators, generator))
    return metrics


def eigen_angles(operators: Matrices) -> Matrices:
    """The ascending angles |arg λ| of the d/2 planes, ``[…, d, d]`` → ``[…, d/2]``, in radians.

    Sorted angles are averaged in pairs, so two real eigenvalues share one plane.
    """
    angles = np.sort(np.abs(np.angle(np.linalg.eigvals(operators))), -1)
    means: Matrices = (angles[..., ::2] + angles[..., 1::2]) / 2
    return means


def linearity(values: Matrices) -> Matrices:
    """R² of a linear fit of the last axis against its index, ``[…, n]`` → ``[…]``.

    Constant values have R² = 0.
    """
    index = np.arange(values.shape[-1], dtype=float)
    index -= index.mean()
    away = values - values.mean(-1, keepdims=True)
    total = np.square(away).sum(-1)
    explained = np.square(away @ index) / np.square(index).sum()
    varies = total > 1e-12
    shares: Matrices = np.where(varies, explained / np.where(varies, total, 1.0), 0.0)
    return shares


def null_share(observed: float, d: int, draws: int) -> float:
    """Share of random d×d rotations whose sorted eigen-angles have an R² ≥ ``observed``."""
    return float((_null_linearity(d, draws) >= observed).mean())


def leading_angles(operators: Matrices, along: Matrices) -> Matrices:
    """The angle of each operator in the plane that the mean of ``along`` turns fastest.

    Both are ``[s, d, d]``; returns ``[s]``, radians, unwrapped along s.
    """
    values, right = np.linalg.eig(along.mean(0))
    leading = int(np.argmax(np.angle(values)))
    left = np.linalg.inv(right)[leading]
    unwrapped: Matrices = np.unwrap(np.angle(left @ operators @ right[:, leading]))
    return unwrapped


def transports_to(operators: Matrices, position: int) -> Matrices:
    """T_{i,i−s} = R_i ⋯ R_{i−s+1} for i = ``position`` and s = 1 … i: ``[i, d, d]``."""
    carried = [operators[position - 1]]
    for operator in operators[: position - 1][::-1]:
        carried.append(carried[-1] @ operator)
    return np.stack(carried)


def transport_linearity(operators: Matrices) -> float:
    """R² against s of the leading angle of T_{i,i−s}, mean over the second half of positions i."""
    count = len(operators)
    return float(
        np.mean(
            [
                linearity(leading_angles(transports_to(operators, position), operators))
                for position in range((count + 1) // 2, count + 1)
            ]
        )
    )


@cache
def _null_linearity(d: int, draws: int) -> Matrices:
    # The generator is fixed, so that all runs are compared with the same null distribution.
    rotations = random_rotations(draws, d, torch.Generator().manual_seed(d))
    return linearity(eigen_angles(rotations.double().numpy()))


def _of_operator(operator: Matrices) -> Iterator[tuple[str, float]]:
    d = len(operator)
    size, mask, identity = np.linalg.norm(operator), outside(d), np.eye(d)
    values = np.linalg.eigvals(operator)
    singular = np.linalg.svd(operator, compute_uv=False)
    blocks = np.stack([operator[i : i + 2, i : i + 2] for i in range(0, d, 2)])
    away = float(np.linalg.norm(operator - identity))
    yield "off_block", float(np.linalg.norm(operator * mask) / size)
    if away > 0.0:
        yield "off_block_away", float(np.linalg.norm(operator * mask)) / away
    yield "block_defect", float(np.abs(np.linalg.svd(blocks, compute_uv=False) - 1.0).mean())
    yield "modulus_spread", float(np.abs(values).std())
    yield "real_share", float((values.imag == 0).mean())
    defect = np.linalg.norm(operator.T @ operator - identity)
    yield "orthogonality_defect", float(defect / np.sqrt(d))
    rest = max(float(size**2 - np.square(np.abs(values)).sum()), 0.0)
    yield "henrici", float(np.sqrt(rest) / size)
    yield "singular_spread", float(singular.std())
    yield "angle_linearity", float(linearity(eigen_angles(operator)))


def _of_family(operators: Matrices, generator: np.random.Generator) -> Iterator[tuple[str, float]]:
    yield "commutator", float(commutator(torch.from_numpy(operators)).sqrt())
    away = operators - np.eye(operators.shape[-1])
    basis = common_basis(away[1::2], generator)  # operators[0] belongs to position 1
    yield "joint_off_block", off_block_mass(away[::2], basis)
    yield "linearity", float(linearity(leading_angles(operators, operators)))
    yield "transport_linearity", transport_linearity(operators)
