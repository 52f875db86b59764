"""Slow, direct implementations: references in tests of the fast ones, baselines in benchmarks."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor


def block_matrices(
    angles: Float[Tensor, "*batch planes"],
) -> Float[Tensor, "*batch planes 2 2"]:
    """Return the 2×2 rotation matrix [[cos φ, −sin φ], [sin φ, cos φ]] of every plane."""
    cos, sin = angles.cos(), angles.sin()
    return torch.stack((torch.stack((cos, -sin), -1), torch.stack((sin, cos), -1)), -2)


def rotation_matrix(angles: Float[Tensor, " planes"]) -> Float[Tensor, "width width"]:
    """Return the d×d block-diagonal matrix R of one position, one 2×2 rotation per plane."""
    matrix: Tensor = torch.block_diag(*block_matrices(angles))
    return matrix


def rotate_by_blocks(
    x: Float[Tensor, "*batch width"], blocks: Float[Tensor, "*#batch planes 2 2"]
) -> Float[Tensor, "*batch width"]:
    """Multiply the coordinate pair (2k, 2k + 1) of x by block k."""
    pairs = x.unflatten(-1, (-1, 2))
    return torch.einsum("...kij,...kj->...ki", blocks, pairs).flatten(-2)


class BlockTurn(NamedTuple):
    """Reference for `rotary.Rotation`: every application builds its explicit 2×2 matrices."""

    angles: Float[Tensor, "*batch planes"]
    factor: float = 1.0

    @classmethod
    def by(cls, angles: Float[Tensor, "*batch planes"]) -> BlockTurn:
        """Keep the angles of the planes, in radians."""
        return cls(angles)

    def scaled(self, factor: float) -> BlockTurn:
        """Return factor · R."""
        return self._replace(factor=self.factor * factor)

    def apply(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        """Return R x."""
        return self.factor * rotate_by_blocks(x, block_matrices(self.angles))

    def undo(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        """Return Rᵀ x."""
        return rotate_by_blocks(x, block_matrices(self.angles).transpose(-1, -2))


def accumulate(
    steps: Float[Tensor, "length planes"], direction: Literal["prefix", "suffix"] = "prefix"
) -> Float[Tensor, "length planes"]:
    """Return prefix sums Σ_{t≤i} a_t, or suffix sums Σ_{t≥i} a_t, one addition at a time."""
    rows = list(steps) if direction == "prefix" else list(steps.flip(0))
    total = torch.zeros_like(rows[0])
    sums = []
    for row in rows:
        total = total + row
        sums.append(total)
    stacked = torch.stack(sums)
    return stacked if direction == "prefix" else stacked.flip(0)


def attend(
    q: Float[Tensor, "length width"],
    k: Float[Tensor, "length width"],
    v: Float[Tensor, "length width"],
    angles: Float[Tensor, "length planes"],
    mask: Bool[Tensor, "length length"],
    weighting: Literal["softmax", "softplus"] = "softmax",
    transport: bool = False,
) -> Float[Tensor, "length width"]:
    """Return the attention of one sequence, one pair of positions at a time, with d×d matrices.

    Scores s_ij = ⟨R_i q_i, R_j k_j⟩/√d; weights a_ij = softmax over the j that `mask` allows, or
    softplus(s_ij) without normalisation; output Σ_j a_ij v_j, or Σ_j a_ij R_i⁻¹ R_j v_j with
    `transport`. Angles are in radians.
    """
    length, width = q.shape
    matrices = [rotation_matrix(row) for row in angles]
    outputs = []
    for i in range(length):
        allowed = [j for j in range(length) if bool(mask[i, j])]
        scores = torch.stack(
            [(matrices[i] @ q[i]) @ (matrices[j] @ k[j]) / math.sqrt(width) for j in allowed]
        )
        if weighting == "softmax":
            weights = scores.exp() / scores.exp().sum()
        else:
            weights = (1 + scores.exp()).log()
        carried = [matrices[i].T @ matrices[j] @ v[j] if transport else v[j] for j in allowed]
        outputs.append(sum(w * c for w, c in zip(weights, carried, strict=True)))
    return torch.stack([torch.as_tensor(row) for row in outputs])


def chain_states(
    operators: Float[Tensor, "letters width width"],
    start: Float[Tensor, " width"],
    words: Integer[Tensor, "length strings"],
    inputs: Float[Tensor, "letters width"] | None = None,
) -> Float[Tensor, "width length strings"]:
    """Return h_t = R_{x_t} h_{t−1} + v_{x_t}, h_0 = `start`, one string and one letter at a time.

    A number ≥ L is padding: its state is 0. See `chain.chain_states`, for which negative numbers
    are padding as well; here they count from the last letter.
    """
    columns = []
    for word in words.T.tolist():
        state, states = start, []
        for letter in word:
            in_alphabet = letter < len(operators)
            state = operators[letter] @ state if in_alphabet else 0.0 * state
            if in_alphabet and inputs is not None:
                state = state + inputs[letter]
            states.append(state)
        columns.append(torch.stack(states, -1))
    return torch.stack(columns, -1)
