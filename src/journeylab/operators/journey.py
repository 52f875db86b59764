"""Rotation angles of journeys: sums of per-token steps, and offsets per slot.

If token t rotates by the angles a_t, the operator from position j to position i is the product
over the tokens between them, R_{i←j} = Π_{j<t≤i} R(a_t). All R(a) share their planes, so they
commute, and the product is the rotation by the difference of two running sums.
"""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Float, Int, Real
from torch import Tensor

from journeylab.operators.rotary import rotary_angles


def accumulate(
    steps: Float[Tensor, "*batch length planes"],
    direction: Literal["prefix", "suffix"] = "prefix",
) -> Float[Tensor, "*batch length planes"]:
    """Return running sums of steps: prefix Σ_{t≤i} a_t, or suffix Σ_{t≥i} a_t.

    Attention depends on differences only. Prefix sums give φ_i − φ_j = Σ_{j<t≤i} a_t for j < i,
    suffix sums −Σ_{j≤t<i} a_t: the same family of models, but with reflected planes, and each
    token rotates its successor instead of itself. Prefix sums do not change when the sequence
    grows, so a decoder can cache its rotated keys.
    """
    if steps.device.type != "cpu":
        return accumulate_by_product(steps, direction)
    if direction == "prefix":
        return steps.cumsum(-2)
    return steps.flip(-2).cumsum(-2).flip(-2)


def accumulate_by_product(
    steps: Float[Tensor, "*batch length planes"],
    direction: Literal["prefix", "suffix"] = "prefix",
) -> Float[Tensor, "*batch length planes"]:
    """Return the sums of `accumulate` as a product with a triangular matrix of ones.

    GPUs need it: there `cumsum` of floats is not deterministic, forward or backward, and
    `torch.use_deterministic_algorithms` refuses it; a matrix product is deterministic.
    """
    length = steps.shape[-2]
    ones = torch.ones(length, length, dtype=steps.dtype, device=steps.device)
    return (ones.tril() if direction == "prefix" else ones.triu()) @ steps


def slot_angles(
    positions: Real[Tensor, " length"],
    slots: Int[Tensor, " length"],
    frequencies: Float[Tensor, " planes"],
    offsets: Float[Tensor, "slot planes"],
) -> Float[Tensor, "length planes"]:
    """Return φ[i, k] = i·ω_k + θ[slot(i), k] in radians; positions i count within their slot.

    Within a slot, θ cancels in every difference of angles. Between slots, the difference of θ is
    the rotation that belongs to the relation.
    """

    return rotary_angles(positions, frequencies) + offsets[slots]
