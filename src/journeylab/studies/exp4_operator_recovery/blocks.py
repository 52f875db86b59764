"""Joint block-diagonalisation: one basis in which many operators are nearly 2×2 block-diagonal.

Operators A_s share their invariant planes if S⁻¹A_sS is 2×2 block-diagonal for all s; consecutive
pairs of columns of S span the planes. The model's gauge freedom leaves S free, so S need not be
orthogonal.

1. A linear combination Σ c_s A_s keeps every common invariant plane. For almost all c it has no
   other plane that is spanned by a pair of conjugate eigenvectors. Each of several random
   combinations proposes planes: one per conjugate pair, then its real eigenvectors, sorted by
   eigenvalue and taken two by two.
2. Each plane gets an orthonormal basis. S is then unique up to rotations within the planes, which
   do not change the mass outside the blocks.
3. L-BFGS on S improves the proposal with the least mass outside the blocks.

If the operators have common planes, step 1 finds them exactly; steps 2 and 3 handle noise. S has d²
free numbers, so the mass must be reported on operators that were not used in the fit.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Matrices = NDArray[np.float64]
"""Operators ``[s, d, d]`` unless a docstring says otherwise."""

PROPOSALS, STEPS = 24, 60
FULL_RANK = 1e-8


def outside(d: int) -> Matrices:
    """A mask ``[d, d]``: 1 outside the 2×2 diagonal blocks, 0 inside."""
    plane = np.arange(d) // 2
    mask: Matrices = (plane[:, None] != plane).astype(np.float64)
    return mask


def off_block_mass(operators: Matrices, basis: Matrices) -> float:
    """√(Σ‖outside of S⁻¹A_sS‖² / Σ‖S⁻¹A_sS‖²): 0 if all are block-diagonal, at most 1.

    ``operators`` are ``[s, d, d]``, ``basis`` is S ``[d, d]``; its columns span the planes.
    """
    return float(_mass(torch.from_numpy(operators), torch.from_numpy(basis)).sqrt())


def common_basis(operators: Matrices, generator: np.random.Generator) -> Matrices:
    """The best basis S ``[d, d]`` for ``operators`` ``[s, d, d]``, by the steps above.

    Consecutive pairs of its columns are orthonormal and span the planes.
    """
    count = len(operators)
    mixtures = [np.full(count, 1.0 / count), *generator.normal(size=(PROPOSALS - 1, count))]
    proposals = [_planes(np.tensordot(mixture, operators, 1)) for mixture in mixtures]
    usable = [basis for basis in proposals if np.linalg.svd(basis)[1][-1] > FULL_RANK]
    identity = np.eye(operators.shape[-1])
    best = min([*usable, identity], key=lambda basis: off_block_mass(operators, basis))
    improved = _improve(operators, best)
    return min([best, improved], key=lambda basis: off_block_mass(operators, basis))


def _planes(matrix: Matrices) -> Matrices:
    values, vectors = np.linalg.eig(matrix)
    paired = [
        (v.real, v.imag) for value, v in zip(values, vectors.T, strict=True) if value.imag > 0
    ]
    real = sorted((value.real, index) for index, value in enumerate(values) if value.imag == 0)
    unpaired = [vectors[:, index].real for _, index in real]
    columns = [*paired, *zip(unpaired[::2], unpaired[1::2], strict=True)]
    return np.column_stack([np.linalg.qr(np.column_stack(pair))[0] for pair in columns])


def _improve(operators: Matrices, basis: Matrices) -> Matrices:
    fitted, s = torch.from_numpy(operators), torch.from_numpy(basis).clone().requires_grad_()
    optimiser = torch.optim.LBFGS([s], max_iter=STEPS, line_search_fn="strong_wolfe")

    def mass() -> Tensor:
        optimiser.zero_grad()
        loss = _mass(fitted, _orthonormal(s))
        loss.backward()
        return loss

    optimiser.step(mass)
    improved: Matrices = _orthonormal(s.detach()).numpy()
    return improved if np.isfinite(improved).all() else basis


def _mass(operators: Tensor, basis: Tensor) -> Tensor:
    changed = torch.linalg.solve(basis, operators @ basis)  # S⁻¹A_sS
    mask = torch.from_numpy(outside(basis.shape[-1]))
    mass: Tensor = (changed * mask).square().sum() / changed.square().sum()
    return mass


def _orthonormal(basis: Tensor) -> Tensor:
    """Make every pair of columns orthonormal (Gram–Schmidt)."""
    first, second = basis[:, ::2], basis[:, 1::2]
    first = first / first.norm(dim=0)
    second = second - first * (first * second).sum(0)
    second = second / second.norm(dim=0)
    return torch.stack((first, second), 2).flatten(1)
