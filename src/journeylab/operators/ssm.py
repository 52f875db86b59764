"""One linear state-space recurrence, computed in four ways.

For a fixed operator R and inputs x_1 … x_N (x_t = α_t v_t in a journey head) the states are

    h_t = R h_{t−1} + x_t,   h_0 = 0.                                                        (1)

In exact arithmetic they equal the journey aggregate, transported to the last position:

    h_N = R^{N−1} Σ_t R^{−(t−1)} x_t                                        (prop:ssm-bridge).

Every form takes an operator ``(..., d, d)`` and inputs ``(..., N, d)`` of one dtype and returns all
states h_1 … h_N as ``(..., N, d)``. A mismatch of sizes raises ValueError with the two numbers.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from journeylab.operators.journey import accumulate

Operators = Float[Tensor, "*batch rows columns"]
Vectors = Float[Tensor, "*batch length width"]


def recurrent(operator: Operators, inputs: Vectors) -> Vectors:
    """The loop of equation (1): N steps, one after the other."""
    _check(operator, inputs)
    state = torch.zeros_like(inputs[..., 0, :])
    states = []
    for step in inputs.unbind(-2):
        state = _apply(operator, state) + step
        states.append(state)
    return torch.stack(states, -2)


def parallel(operator: Operators, inputs: Vectors) -> Vectors:
    """The journey form: h_t = R^{t−1} Σ_{s≤t} R^{−(s−1)} x_s, from cumulative powers.

    Needs R⁻¹, and its powers in full: where they overflow the dtype, so do the states.
    """
    _check(operator, inputs)
    length = inputs.shape[-2]
    carried = _apply(powers(torch.linalg.inv(operator), length), inputs)
    return _apply(powers(operator, length), accumulate(carried))


def scan(operator: Operators, inputs: Vectors) -> Vectors:
    """Recursive doubling: after step j, h_t holds the last 2^j inputs; ⌈log₂ N⌉ steps, no inverse.

    Source: Hillis and Steele, Data parallel algorithms, 1986.
    """
    _check(operator, inputs)
    states, leap, reach = inputs, operator, 1
    while reach < inputs.shape[-2]:
        earlier = _apply(leap.unsqueeze(-3), states[..., :-reach, :])
        states = torch.cat((states[..., :reach, :], states[..., reach:, :] + earlier), -2)
        leap, reach = leap @ leap, 2 * reach
    return states


def naive(operator: Operators, inputs: Vectors) -> Vectors:
    """The definition, term by term: h_t = Σ_{s≤t} R^{t−s} x_s. Slow and obvious."""
    _check(operator, inputs)
    states = []
    for t in range(inputs.shape[-2]):
        terms = [
            _apply(torch.linalg.matrix_power(operator, t - s), inputs[..., s, :])
            for s in range(t + 1)
        ]
        states.append(torch.stack(terms).sum(0))
    return torch.stack(states, -2)


def powers(
    operator: Float[Tensor, "*batch d d"], count: int
) -> Float[Tensor, "*batch {count} d d"]:
    """I, R, R², …, R^{count−1} as ``(..., count, d, d)``, by doubling the list."""
    identity = torch.eye(operator.shape[-1], dtype=operator.dtype, device=operator.device)
    known = identity.expand_as(operator).unsqueeze(-3)
    leap = operator
    while known.shape[-3] < count:
        known = torch.cat((known, leap.unsqueeze(-3) @ known), -3)
        leap = leap @ leap
    return known[..., :count, :, :]


def _apply(operator: Tensor, vector: Tensor) -> Tensor:
    return (operator @ vector.unsqueeze(-1)).squeeze(-1)


def _check(operator: Tensor, inputs: Tensor) -> None:
    rows, columns = operator.shape[-2:]
    if rows != columns:
        raise ValueError(f"the operator is not square: {rows} rows, {columns} columns")
    if columns != inputs.shape[-1]:
        raise ValueError(f"the operator has width {columns}, the inputs {inputs.shape[-1]}")
