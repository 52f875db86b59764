"""States of many strings over a small alphabet, each letter of which applies one operator.

A letter x has an operator R_x of size d×d and, optionally, a vector v_x. A string x_1 … x_T has
the states

    h_t = R_{x_t} h_{t−1} + v_{x_t},   h_0 = u.                                               (1)

A state is a column, and the strings are the columns of one matrix. One step of all strings is then
one product

    h_t = [R_1 R_2 …] (e_{x_t} ⊗ h_{t−1}) + v_{x_t},

with e_x the unit vector of letter x, and no operator is copied per string. The gradient is the same
recurrence run backwards, λ_t = G_t + R_{x_{t+1}}ᵀ λ_{t+1}, where G_t is the gradient of the loss
with respect to the returned h_t; then

    dR_x = Σ_{t: x_t = x} λ_t h_{t−1}ᵀ,   dv_x = Σ_{t: x_t = x} λ_t,   du = R_{x_1}ᵀ λ_1.

Under `torch.func.vmap`, all chains (seeds) share one batched product per step. Only first
derivatives are available. `naive.chain_states` computes the same one string and one step at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Integer
from torch import Tensor
from torch.autograd.function import once_differentiable

from journeylab.operators.batching import batch_first

BLOCK = 8
"""Steps of the backward pass whose contributions to dR_x are summed by one product."""


def chain_states(
    operators: Float[Tensor, "letters rows columns"],
    start: Float[Tensor, " width"],
    words: Integer[Tensor, "length strings"],
    inputs: Float[Tensor, "entries entry_width"] | None = None,
) -> Float[Tensor, "width length strings"]:
    """Return h_1 … h_T of equation (1) for every string; v_x is `inputs[x]`, or 0 without inputs.

    Letters are the numbers 0 … L − 1. Any other number in `words` is padding: R = 0 and v = 0.
    Raises ValueError if the operators are not square, if their width is not that of the start
    state, or if `inputs` does not hold one vector per letter.
    """
    letters, rows, columns = operators.shape
    if rows != columns:
        raise ValueError(f"the operators are not square: {rows} rows, {columns} columns")
    if columns != len(start):
        raise ValueError(f"the operators have width {columns}, the state {len(start)}")
    if inputs is not None and inputs.shape != (letters, columns):
        raise ValueError(f"{letters} letters of width {columns}, inputs {tuple(inputs.shape)}")
    chains = [None if x is None else x.unsqueeze(0) for x in (operators, start, words, inputs)]
    states: Tensor = _Chain.apply(*chains)  # type: ignore[no-untyped-call]
    return states.squeeze(0)


def _unit_vectors(words: Tensor, letters: int, like: Tensor) -> Sequence[Tensor]:
    """Return, for every t, e_{x_t} of every string as ``(chains, letters, 1, strings)``."""
    alphabet = torch.arange(letters, device=words.device, dtype=words.dtype)
    units = words.transpose(0, 1).unsqueeze(2) == alphabet[:, None]
    return units.to(like.dtype).unsqueeze(3).unbind()


def _side_by_side(operators: Tensor) -> Tensor:
    """Return [R_1 R_2 …] of operators ``(chains, letters, d, d)``."""
    return operators.transpose(1, 2).flatten(2)


class _Chain(torch.autograd.Function):
    """Operators ``(chains, letters, d, d)``, start ``(chains, d)``, words ``(chains, T, strings)``,
    inputs ``(chains, letters, d)`` or None; states ``(chains, d, T, strings)``.

    Buffers and their views are made outside the loops: with operators this small, a call costs as
    much as its arithmetic.
    """

    @staticmethod
    def forward(operators: Tensor, start: Tensor, words: Tensor, inputs: Tensor | None) -> Tensor:
        chains, letters, width, _ = operators.shape
        length, strings = words.shape[1:]
        units, product = _unit_vectors(words, letters, operators), _side_by_side(operators)
        if inputs is not None:
            product = torch.cat([product, inputs.mT], 2)
        states = operators.new_empty(chains, width, length, strings)
        factor = operators.new_empty(chains, product.shape[2], strings)
        spread = factor[:, : letters * width].unflatten(1, (letters, width))
        added = factor[:, letters * width :].unsqueeze(2)
        state = start.unsqueeze(-1).repeat(1, 1, strings)
        # `spread` and `added` are views of `factor`, and this is a view of `state`: each step
        # rewrites the same memory.
        state_per_letter = state.unsqueeze(1)
        for unit, output in zip(units, states.unbind(2), strict=True):
            torch.mul(state_per_letter, unit, out=spread)
            if inputs is not None:
                added.copy_(unit)
            torch.bmm(product, factor, out=state)
            output.copy_(state)
        return states

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor | None, ...], output: Tensor) -> None:
        *saved, added = inputs
        ctx.has_inputs = added is not None
        ctx.save_for_backward(*saved, output)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        operators, start, words, states = ctx.saved_tensors
        chains, letters, width, _ = operators.shape
        length, strings = words.shape[1:]
        units, product = _unit_vectors(words, letters, operators), _side_by_side(operators.mT)
        grads = grad.unbind(2)
        grad_operators = grad.new_zeros(chains, letters * width, width)
        grad_inputs = grad.new_zeros(chains, letters * width)
        block = grad.new_empty(chains, letters, width, BLOCK, strings)
        spreads = block.unbind(3)
        side_by_side = [spread.flatten(1, 2) for spread in spreads]
        adjoint = grads[-1].clone()
        adjoint_per_letter = adjoint.unsqueeze(1)
        for end in range(length, 0, -BLOCK):
            first = max(end - BLOCK, 0)
            for t in reversed(range(first, end)):
                torch.mul(adjoint_per_letter, units[t], out=spreads[t - first])
                torch.bmm(product, side_by_side[t - first], out=adjoint)
                if t:
                    adjoint += grads[t - 1]
            adjoints = block[:, :, :, : end - first].flatten(3).flatten(1, 2)
            if ctx.has_inputs:
                grad_inputs += adjoints.sum(-1)
            if not first:
                # All strings start from the same h_0, which `states` does not hold.
                grad_operators.baddbmm_(side_by_side[0].sum(-1, keepdim=True), start.unsqueeze(1))
                adjoints, first = adjoints[:, :, strings:], 1
            previous = states[:, :, first - 1 : end - 1].flatten(2)
            grad_operators.baddbmm_(adjoints, previous.mT)
        return (
            grad_operators.view_as(operators),
            adjoint.sum(-1),
            None,
            grad_inputs.view(chains, letters, width) if ctx.has_inputs else None,
        )

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *inputs: Tensor | None
    ) -> tuple[Tensor, int]:
        stacked = batch_first(info, in_dims, inputs)
        flat = [None if tensor is None else tensor.flatten(0, 1) for tensor in stacked]
        states: Tensor = _Chain.apply(*flat)  # type: ignore[no-untyped-call]
        return states.unflatten(0, (info.batch_size, -1)), 0
