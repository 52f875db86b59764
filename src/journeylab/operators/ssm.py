"""A linear state-space recurrence, computed by four methods.

For a fixed operator R and inputs x_1 … x_N (x_t = α_t v_t in a journey head) the states are

    h_t = R h_{t−1} + x_t,   h_0 = 0.                                                        (1)

In exact arithmetic, the last state equals the journey aggregate transported to the last position:

    h_N = R^{N−1} Σ_t R^{−(t−1)} x_t                                        (prop:ssm-bridge).

Every method takes an operator ``(..., d, d)`` and inputs ``(..., N, d)`` of one dtype and returns
all states h_1 … h_N as ``(..., N, d)``. It raises ValueError if the operator is not square or its
width is not that of the inputs.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from journeylab.operators.journey import accumulate

Operators = Float[Tensor, "*batch rows columns"]
Vectors = Float[Tensor, "*batch length width"]


def recurrent(operator: Operators, inputs: Vectors) -> Vectors:
    """Return the states by equation (1): N steps, one after the other."""
    _check(operator, inputs)
    state = torch.zeros_like(inputs[..., 0, :])
    states = []
    for step in inputs.unbind(-2):
        state = _apply(operator, state) + step
        states.append(state)
    return torch.stack(states, -2)


def parallel(operator: Operators, inputs: Vectors) -> Vectors:
    """Return h_t = R^{t−1} Σ_{s≤t} R^{−(s−1)} x_s, the journey form, from powers of R and R⁻¹.

    A singular R raises `torch.linalg.LinAlgError`. If a power overflows the dtype, the states are
    not finite.
    """
    _check(operator, inputs)
    length = inputs.shape[-2]
    carried = _apply(powers(torch.linalg.inv(operator), length), inputs)
    return _apply(powers(operator, length), accumulate(carried))


def scan(operator: Operators, inputs: Vectors) -> Vectors:
    """Return the states by recursive doubling: ⌈log₂ N⌉ steps, without R⁻¹.

    After step j, h_t is the sum over the last 2^j inputs. Source: Hillis and Steele, Data parallel
    algorithms, 1986.
    """
    _check(operator, inputs)
    states, power, shift = inputs, operator, 1
    while shift < inputs.shape[-2]:
        earlier = _apply(power.unsqueeze(-3), states[..., :-shift, :])
        states = torch.cat((states[..., :shift, :], states[..., shift:, :] + earlier), -2)
        power, shift = power @ power, 2 * shift
    return states


def naive(operator: Operators, inputs: Vectors) -> Vectors:
    """Return h_t = Σ_{s≤t} R^{t−s} x_s term by term: the slow reference for the other methods."""
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
    """Return I, R, R², …, R^{count−1}; each step doubles the number of powers."""
    identity = torch.eye(operator.shape[-1], dtype=operator.dtype, device=operator.device)
    result = identity.expand_as(operator).unsqueeze(-3)
    square = operator  # R^n, where `result` holds the first n powers
    while result.shape[-3] < count:
        result = torch.cat((result, square.unsqueeze(-3) @ result), -3)
        square = square @ square
    return result[..., :count, :, :]


def _apply(operator: Tensor, vector: Tensor) -> Tensor:
    return (operator @ vector.unsqueeze(-1)).squeeze(-1)


def _check(operator: Tensor, inputs: Tensor) -> None:
    rows, columns = operator.shape[-2:]
    if rows != columns:
        raise ValueError(f"the operator is not square: {rows} rows, {columns} columns")
    if columns != inputs.shape[-1]:
        raise ValueError(f"the operator has width {columns}, the inputs {inputs.shape[-1]}")
