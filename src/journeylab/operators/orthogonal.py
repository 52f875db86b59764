"""Orthogonal operators from free parameters, and which orthogonal operators each one reaches.

O(d) has two components: the rotations SO(d), of determinant 1, and the rest, of determinant −1.
No parametrisation that is continuous on a connected space reaches both.

- `exponential` reaches all of SO(d) and nothing else.
- `cayley` reaches the operators of SO(d) without eigenvalue −1. It approaches a rotation by π only
  as its parameters go to infinity, where the gradient vanishes.
- `householder` with k vectors, none of them zero, has determinant (−1)^k. With d vectors it reaches
  every operator of that determinant, with d − 1 every operator of the other, eigenvalue −1
  included. A zero vector is no reflection, so d vectors, some of them zero, reach all of O(d); but
  gradients never switch a reflection on or off.

All take leading batch dimensions, are differentiable, and work under `torch.func.vmap`.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

SQUARINGS, DEGREE = 7, 8
"""Of the exponential's series: if |A|/2⁷ ≤ ¼, the remainder before squaring is 10⁻¹¹."""


def exponential(
    square: Float[Tensor, "*batch rows columns"],
) -> Float[Tensor, "*batch rows columns"]:
    """Return exp(S − Sᵀ) for any S of size d×d; S = 0 gives the identity.

    On CUDA a series of fixed length replaces `torch.matrix_exp`; it is inaccurate for a spectral
    norm |S − Sᵀ| above 30. Raises ValueError if S is not square. Source: Lezcano-Casado and
    Martínez-Rubio, Cheap orthogonal constraints in neural networks, 2019, section 3.
    """
    generator = _antisymmetric(square)
    return _exponential(generator) if generator.is_cuda else torch.matrix_exp(generator)


def cayley(square: Float[Tensor, "*batch rows columns"]) -> Float[Tensor, "*batch rows columns"]:
    """Return (I − A)(I + A)⁻¹ with A = S − Sᵀ, for any S of size d×d; S = 0 gives the identity.

    A rotation by φ has |A| = tan(φ/2) in its plane. Raises ValueError if S is not square. Source:
    Helfrich, Willmott and Ye, Orthogonal recurrent networks with scaled Cayley transform, 2018.
    """
    A = _antisymmetric(square)
    identity = torch.eye(A.shape[-1], dtype=A.dtype, device=A.device)
    # The two factors commute, so one linear solve replaces the inverse.
    operator: Tensor = torch.linalg.solve(identity + A, identity - A)
    return operator


def householder(
    vectors: Float[Tensor, "*batch count width"],
) -> Float[Tensor, "*batch width width"]:
    """Return H_1 H_2 ⋯ H_k, H_i = I − 2 v_i v_iᵀ / v_iᵀv_i, for k vectors of d coordinates.

    The factor of a zero vector is I, and its gradient is 0. The product is computed at once as
    I − Vᵀ T⁻¹ V, where the rows of V are the v_i and T is the upper triangle of V Vᵀ with its
    diagonal halved. Source: Joffrain and others, Accumulating Householder transformations,
    revisited, 2006.
    """
    gram = vectors @ vectors.mT
    squares = gram.diagonal(dim1=-2, dim2=-1)
    # Any nonzero diagonal will do for a zero vector, whose row of V is 0.
    halves = torch.where(squares > 0, squares / 2, torch.ones_like(squares))
    triangle = gram.triu(1) + torch.diag_embed(halves)
    identity = torch.eye(vectors.shape[-1], dtype=vectors.dtype, device=vectors.device)
    solved: Tensor = torch.linalg.solve_triangular(triangle, vectors, upper=True)
    return identity - vectors.mT @ solved


def _exponential(A: Tensor) -> Tensor:
    """Return exp(A) for |A| ≤ 30: a truncated series of A/2⁷, squared 7 times.

    `torch.matrix_exp` chooses its degree from the norm of A, which it copies to the host; a
    captured CUDA graph cannot do that.
    """

    identity = torch.eye(A.shape[-1], dtype=A.dtype, device=A.device)
    small, power = A / 2**SQUARINGS, identity
    for k in range(DEGREE, 0, -1):
        power = identity + small @ power / k
    for _ in range(SQUARINGS):
        power = power @ power
    return power


def _antisymmetric(square: Tensor) -> Tensor:
    rows, columns = square.shape[-2:]
    if rows != columns:
        raise ValueError(f"the parameters are not square: {rows} rows, {columns} columns")
    return square - square.mT
