"""Angles of journeys: cumulative per-token steps, and slots with offsets.

A token that turns by a_t makes the operator between two positions the journey between them,
R_{i←j} = Π_{j<t≤i} R(a_t). All R(a) share their planes, so the operators commute and the product
is the rotation by a difference of running sums.
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
    """Sum steps along the sequence: prefix Σ_{t≤i} a_t, or suffix Σ_{t≥i} a_t.

    Attention sees differences only. Prefix sums give φ_i − φ_j = Σ_{j<t≤i} a_t for j < i, suffix
    sums −Σ_{j≤t<i} a_t: the same family of models, with the planes reflected and each token
    turning its successor instead of itself. Prefix sums of a causal model do not change when the
    sequence grows, which is what lets a decoder keep its turned keys.
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
    """Sum steps as a product with a triangle of ones.

    For GPUs, where a running sum of floats adds in an order of its own at every call, forwards and
    backwards, and is refused by deterministic algorithms; a product is not.
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
    """Return φ[i, k] = i·ω_k + θ[slot(i), k], with i counted inside the slot.

    Within a slot θ cancels in every difference; across slots it is the relation's own turn.
    """
    return rotary_angles(positions, frequencies) + offsets[slots]
