"""One basis in which many operators are as nearly block-diagonal as possible, in 2×2 blocks.

Operators A_s have common invariant planes where S⁻¹A_sS is block-diagonal for all s, the columns of
S spanning the planes two by two. The gauge of a model leaves S free, so S need not be orthogonal.

1. A linear combination Σ c_s A_s has every common invariant plane as well, and for almost all c no
   others that are spanned by a pair of conjugate eigenvectors. Each of several random combinations
   proposes its planes: those of its conjugate pairs, and its real eigenvectors in the order of
   their eigenvalues, two by two.
2. Planes get orthonormal bases: S is unique up to turns within them, which move no mass.
3. The proposal with the least mass outside the blocks is improved by L-BFGS on S.

For operators that do have common planes step 1 finds them exactly; steps 2 and 3 are for noise. The
mass of a fit is to be told on operators that it has not seen: S has d² numbers to fit with.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Matrices = NDArray[np.float64]

PROPOSALS, STEPS = 24, 60
FULL_RANK = 1e-8


def outside(d: int) -> Matrices:
    """1 outside the 2×2 blocks of a d×d matrix, 0 inside."""
    plane = np.arange(d) // 2
    apart: Matrices = (plane[:, None] != plane).astype(np.float64)
    return apart


def off_block_mass(operators: Matrices, basis: Matrices) -> float:
    """√(Σ‖outside of S⁻¹A_sS‖² / Σ‖S⁻¹A_sS‖²): 0 where all are block-diagonal, at most 1."""
    return float(_mass(torch.from_numpy(operators), torch.from_numpy(basis)).sqrt())


def common_basis(operators: Matrices, generator: np.random.Generator) -> Matrices:
    """S, its planes spanned by orthonormal pairs of columns; ``operators`` are ``[s, d, d]``."""
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
    real = sorted((value.real, place) for place, value in enumerate(values) if value.imag == 0)
    alone = [vectors[:, place].real for _, place in real]
    columns = [*paired, *zip(alone[::2], alone[1::2], strict=True)]
    return np.column_stack([np.linalg.qr(np.column_stack(pair))[0] for pair in columns])


def _improve(operators: Matrices, basis: Matrices) -> Matrices:
    seen, found = torch.from_numpy(operators), torch.from_numpy(basis).clone().requires_grad_()
    search = torch.optim.LBFGS([found], max_iter=STEPS, line_search_fn="strong_wolfe")

    def mass() -> Tensor:
        search.zero_grad()
        loss = _mass(seen, _orthonormal(found))
        loss.backward()
        return loss

    search.step(mass)
    improved: Matrices = _orthonormal(found.detach()).numpy()
    return improved if np.isfinite(improved).all() else basis


def _mass(operators: Tensor, basis: Tensor) -> Tensor:
    seen = torch.linalg.solve(basis, operators @ basis)
    mask = torch.from_numpy(outside(basis.shape[-1]))
    mass: Tensor = (seen * mask).square().sum() / seen.square().sum()
    return mass


def _orthonormal(basis: Tensor) -> Tensor:
    """Every pair of columns made orthonormal, by Gram and Schmidt."""
    first, second = basis[:, ::2], basis[:, 1::2]
    first = first / first.norm(dim=0)
    second = second - first * (first * second).sum(0)
    second = second / second.norm(dim=0)
    return torch.stack((first, second), 2).flatten(1)
