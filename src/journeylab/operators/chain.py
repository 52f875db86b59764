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

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Integer
from torch import Tensor
from torch.autograd.function import once_differentiable

from journeylab.operators.batching import batch_first

BLOCK = 8
"""Letters whose share of the operators' gradient is one product."""


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
    alone = [None if x is None else x.unsqueeze(0) for x in (operators, start, words, inputs)]
    states: Tensor = _Chain.apply(*alone)  # type: ignore[no-untyped-call]
    return states.squeeze(0)


def _choose(words: Tensor, letters: int, like: Tensor) -> Sequence[Tensor]:
    """e_{x_t} of every string as ``(chains, letters, 1, strings)``, for every t."""
    alphabet = torch.arange(letters, device=words.device, dtype=words.dtype)
    chosen = words.transpose(0, 1).unsqueeze(2) == alphabet[:, None]
    return chosen.to(like.dtype).unsqueeze(3).unbind()


def _side_by_side(operators: Tensor) -> Tensor:
    """[R_1 R_2 …] of ``(chains, letters, d, d)``."""
    return operators.transpose(1, 2).flatten(2)


class _Chain(torch.autograd.Function):
    """Operators ``(chains, letters, d, d)``, start ``(chains, d)``, words ``(chains, T, strings)``,
    inputs ``(chains, letters, d)`` or None; states ``(chains, d, T, strings)``.

    What a step writes to is made, and looked at, outside the loops: with operators this small, a
    call costs as much as its arithmetic.
    """

    @staticmethod
    def forward(operators: Tensor, start: Tensor, words: Tensor, inputs: Tensor | None) -> Tensor:
        chains, letters, width, _ = operators.shape
        length, strings = words.shape[1:]
        chosen, product = _choose(words, letters, operators), _side_by_side(operators)
        if inputs is not None:
            product = torch.cat([product, inputs.mT], 2)
        states = operators.new_empty(chains, width, length, strings)
        factor = operators.new_empty(chains, product.shape[2], strings)
        spread = factor[:, : letters * width].unflatten(1, (letters, width))
        added = factor[:, letters * width :].unsqueeze(2)
        state = start.unsqueeze(-1).repeat(1, 1, strings)
        of_all_letters = state.unsqueeze(1)
        for letter, place in zip(chosen, states.unbind(2), strict=True):
            torch.mul(of_all_letters, letter, out=spread)
            if inputs is not None:
                added.copy_(letter)
            torch.bmm(product, factor, out=state)
            place.copy_(state)
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
        grads = grad.unbind(2)
        of_operators = grad.new_zeros(chains, letters * width, width)
        of_inputs = grad.new_zeros(chains, letters * width)
        block = grad.new_empty(chains, letters, width, BLOCK, strings)
        spreads = block.unbind(3)
        side_by_side = [spread.flatten(1, 2) for spread in spreads]
        adjoint = grads[-1].clone()
        of_all_letters = adjoint.unsqueeze(1)
        for end in range(length, 0, -BLOCK):
            first = max(end - BLOCK, 0)
            for t in reversed(range(first, end)):
                torch.mul(of_all_letters, chosen[t], out=spreads[t - first])
                torch.bmm(product, side_by_side[t - first], out=adjoint)
                if t:
                    adjoint += grads[t - 1]
            charged = block[:, :, :, : end - first].flatten(3).flatten(1, 2)
            if ctx.has_inputs:
                of_inputs += charged.sum(-1)
            if not first:
                of_operators.baddbmm_(side_by_side[0].sum(-1, keepdim=True), start.unsqueeze(1))
                charged, first = charged[:, :, strings:], 1
            before = states[:, :, first - 1 : end - 1].flatten(2)
            of_operators.baddbmm_(charged, before.mT)
        return (
            of_operators.view_as(operators),
            adjoint.sum(-1),
            None,
            of_inputs.view(chains, letters, width) if ctx.has_inputs else None,
        )

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *inputs: Tensor | None
    ) -> tuple[Tensor, int]:
        stacked = batch_first(info, in_dims, inputs)
        flat = [None if tensor is None else tensor.flatten(0, 1) for tensor in stacked]
        states: Tensor = _Chain.apply(*flat)  # type: ignore[no-untyped-call]
        return states.unflatten(0, (info.batch_size, -1)), 0
