"""States of many strings over a small alphabet: a few operators, applied in each string's order.

A letter x has an operator R_x of size d×d and, where given, a vector v_x. A string x_1 … x_T has
the states

    h_t = R_{x_t} h_{t−1} + v_{x_t},   h_0 = u.                                               (1)

States are columns and strings lie side by side, so that one step of all strings is one product

    h_t = [R_1 R_2 …] (e_{x_t} ⊗ h_{t−1}) + v_{x_t},

with e_x the unit vector of letter x: no operator is copied per string. The gradient is the same
recurrence backwards, λ_t = G_t + R_{x_{t+1}}ᵀ λ_{t+1}, where G_t is the gradient of the loss with
respect to h_t as it is read from outside; then

    dR_x = Σ_{t: x_t = x} λ_t h_{t−1}ᵀ,   dv_x = Σ_{t: x_t = x} λ_t,   du = R_{x_1}ᵀ λ_1.

Many chains of operators (seeds) under `torch.func.vmap` are one batched product per step. There
are first derivatives only. `naive.chain_states` is the same, one string and one step at a time.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Integer
from torch import Tensor
from torch.autograd.function import once_differentiable

from journeylab.operators.batching import batch_first


def chain_states(
    operators: Float[Tensor, "letters rows columns"],
    start: Float[Tensor, " width"],
    words: Integer[Tensor, "length strings"],
    inputs: Float[Tensor, "entries entry_width"] | None = None,
) -> Float[Tensor, "width length strings"]:
    """Return h_1 … h_T of equation (1) for every string; without inputs, v = 0.

    Words hold letters 0 … L − 1; any other number is padding, with R = 0 and v = 0. Raises
    ValueError where the operators are not square, fit no state, or there is not one input per
    letter.
    """
    letters, rows, columns = operators.shape
    if rows != columns:
        raise ValueError(f"the operators are not square: {rows} rows, {columns} columns")
    if columns != len(start):
        raise ValueError(f"the operators have width {columns}, the state {len(start)}")
    if inputs is not None and inputs.shape != (letters, columns):
        raise ValueError(f"{letters} letters of width {columns}, inputs {tuple(inputs.shape)}")
    expanded = None if inputs is None else inputs[None]
    states: Tensor = _Chain.apply(  # type: ignore[no-untyped-call]
        operators[None], start[None], words[None], expanded
    )
    return states[0]


def _choose(words: Tensor, letters: int, like: Tensor) -> Tensor:
    """e_{x_t} of every string as ``(chains, letters, length, strings)``."""
    alphabet = torch.arange(letters, device=words.device, dtype=words.dtype)
    return (words.unsqueeze(1) == alphabet[:, None, None]).to(like.dtype)


def _side_by_side(operators: Tensor) -> Tensor:
    """[R_1 R_2 …] of ``(chains, letters, d, d)``."""
    return operators.transpose(1, 2).flatten(2)


class _Chain(torch.autograd.Function):
    """Operators ``(chains, letters, d, d)``, start ``(chains, d)``, words ``(chains, T, strings)``,
    inputs ``(chains, letters, d)`` or None; states ``(chains, d, T, strings)``.
    """

    @staticmethod
    def forward(operators: Tensor, start: Tensor, words: Tensor, inputs: Tensor | None) -> Tensor:
        chains, letters, width, _ = operators.shape
        length, strings = words.shape[1:]
        chosen, product = _choose(words, letters, operators), _side_by_side(operators)
        spread = operators.new_empty(chains, letters, width, strings)
        if inputs is None:
            states = operators.new_empty(chains, width, length, strings)
        else:
            states = torch.bmm(inputs.mT, chosen.flatten(2)).unflatten(2, (length, strings))
        state = start.unsqueeze(-1)
        for t in range(length):
            torch.mul(state.unsqueeze(1), chosen[:, :, t].unsqueeze(2), out=spread)
            state = torch.bmm(product, spread.flatten(1, 2))
            if inputs is not None:
                state += states[:, :, t]
            states[:, :, t] = state
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
        chosen, product = _choose(words, letters, operators), _side_by_side(operators.mT)
        spread = grad.new_empty(chains, letters, width, strings)
        of_operators = grad.new_zeros(chains, letters * width, width)
        of_inputs = grad.new_zeros(chains, letters, width)
        adjoint = grad[:, :, -1]
        for t in reversed(range(length)):
            torch.mul(adjoint.unsqueeze(1), chosen[:, :, t].unsqueeze(2), out=spread)
            charged = spread.flatten(1, 2)
            before = states[:, :, t - 1] if t else start.unsqueeze(-1).expand(-1, -1, strings)
            of_operators.baddbmm_(charged, before.mT)
            if ctx.has_inputs:
                of_inputs += spread.sum(-1)
            adjoint = torch.bmm(product, charged)
            if t:
                adjoint += grad[:, :, t - 1]
        return (
            of_operators.view_as(operators),
            adjoint.sum(-1),
            None,
            of_inputs if ctx.has_inputs else None,
        )

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *inputs: Tensor | None
    ) -> tuple[Tensor, int]:
        stacked = batch_first(info, in_dims, inputs)
        flat = [None if tensor is None else tensor.flatten(0, 1) for tensor in stacked]
        states: Tensor = _Chain.apply(*flat)  # type: ignore[no-untyped-call]
        return states.unflatten(0, (info.batch_size, -1)), 0
