"""Prefix products of operators, and the recurrence that they solve, in logarithmic depth.

For operators R_1 … R_T of size d×d, which need not commute, and vectors b_1 … b_T, this computes

    P_t = R_t P_{t−1},        P_0 = I:  P_t = R_t R_{t−1} ⋯ R_1,                              (1)
    h_t = R_t h_{t−1} + b_t,  h_0 = 0.                                                        (2)

The methods differ only in speed:

- "loop": the definition, one step after the other.
- "scan": any operators. The sequence is cut into blocks. First the products within all blocks are
  computed at once, then the prefix products of the blocks in the same way, and one more product
  combines the two: 2T products in O(log T) steps, for any T. The gradient is the recurrence run
  backwards, λ_t = G_t + R_{t+1}ᵀ λ_{t+1}, where G_t is the gradient of the loss with respect to the
  returned P_t (h_t); then dR_t = λ_t P_{t−1}ᵀ (λ_t h_{t−1}ᵀ) and db_t = λ_t.
- "orthogonal": operators with R Rᵀ = I, which is not checked. The products are scanned; the rest
  has a closed form, because R_s ⋯ R_{t+1} = P_s P_tᵀ:

      λ_t = Σ_{s≥t} (R_s ⋯ R_{t+1})ᵀ G_s = P_t Σ_{s≥t} P_sᵀ G_s,     h_t = P_t Σ_{s≤t} P_sᵀ b_s.

  Values and first derivatives equal those of the loop. Second derivatives equal them along
  directions that keep R orthogonal, hence for every parametrisation of orthogonal operators.

All methods work under `torch.func.vmap` and `torch.func.grad`.

Source: Blelloch, Prefix sums and their applications, 1990: sections 1.2 (scan) and 1.4 (2).
"""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from journeylab.operators.batching import batch_first
from journeylab.operators.journey import accumulate

Method = Literal["scan", "loop", "orthogonal"]
BLOCK = 8
"""Operators per block; blocks make fewer and larger calls than the usual pairs would."""


def prefix_products(
    operators: Float[Tensor, "*batch length rows columns"], method: Method = "scan"
) -> Float[Tensor, "*batch length rows columns"]:
    """Return P_1 … P_T of equation (1), the latest operator on the left.

    Raises ValueError if the operators are not square, if there are none, or if the method is
    unknown.

    >>> quarter = torch.tensor([[0.0, -1.0], [1.0, 0.0]])
    >>> prefix_products(quarter.expand(4, 2, 2), "orthogonal")[-1]
    tensor([[1., 0.],
            [0., 1.]])
    """
    _check(method, operators)
    match method:
        case "scan":
            products: Tensor = _Products.apply(operators)  # type: ignore[no-untyped-call]
        case "orthogonal":
            products = _OrthogonalProducts.apply(operators)  # type: ignore[no-untyped-call]
        case "loop":
            products = _multiply_in_turn(operators)
    return products


def affine_states(
    operators: Float[Tensor, "*#batch length rows columns"],
    inputs: Float[Tensor, "*#batch length width"],
    method: Method = "scan",
) -> Float[Tensor, "*batch length width"]:
    """Return h_1 … h_T of equation (2), with `inputs` b_1 … b_T.

    For a start state h_0 ≠ 0, add R_1 h_0 to b_1. Leading dimensions broadcast. Raises ValueError
    if the operators are not square, if there are none, if the inputs have another length or width,
    or if the method is unknown.
    """
    _check(method, operators, inputs)
    batch = torch.broadcast_shapes(operators.shape[:-3], inputs.shape[:-2])
    operators = operators.expand(*batch, *operators.shape[-3:])
    columns = inputs.expand(*batch, *inputs.shape[-2:]).unsqueeze(-1)
    match method:
        case "scan":
            states: Tensor = _States.apply(operators, columns)  # type: ignore[no-untyped-call]
        case "orthogonal":
            products = prefix_products(operators, "orthogonal")
            states = _OrthogonalStates.apply(  # type: ignore[no-untyped-call]
                operators, columns, products
            )
        case "loop":
            states = _advance_in_turn(operators, columns)
    return states.squeeze(-1)


def _multiply_in_turn(operators: Tensor) -> Tensor:
    first, *rest = operators.unbind(-3)
    products = [first]
    for operator in rest:
        products.append(operator @ products[-1])
    return torch.stack(products, -3)


def _advance_in_turn(operators: Tensor, inputs: Tensor) -> Tensor:
    state = torch.zeros_like(inputs[..., 0, :, :])
    states = []
    for operator, step in zip(operators.unbind(-3), inputs.unbind(-3), strict=True):
        state = operator @ state + step
        states.append(state)
    return torch.stack(states, -3)


def _scan_products(chains: Tensor) -> Tensor:
    """Prefix products of ``(chains, length, d, d)``: within blocks, of blocks, then combined."""
    count, length = chains.shape[:2]
    if length <= 2 * BLOCK:
        return _multiply_block(chains)
    inner = _multiply_block(_cut(chains))
    ends = _scan_products(_ends(inner, count, length))
    before = torch.cat((_identity(ends).expand(count, 1, -1, -1), ends[:, :-1]), 1)
    # All entries of a block share the right factor, the product up to the block; stacking their
    # rows makes one large product per block.
    products = torch.bmm(inner.flatten(1, 2), before.flatten(0, 1))
    return _join(products, chains)


def _multiply_block(chains: Tensor) -> Tensor:
    first, *rest = chains.unbind(1)
    products = [first]
    for operator in rest:
        products.append(torch.bmm(operator, products[-1]))
    return torch.stack(products, 1)


def _scan_states(chains: Tensor, inputs: Tensor) -> Tensor:
    """States of operators ``(chains, length, d, d)`` and inputs ``(chains, length, d, m)``.

    The blocks are those of `_scan_products`. Within a block, its product and its state from zero
    are the columns of one d×(d + m) matrix.
    """
    count, length, width, columns = inputs.shape
    if length <= 2 * BLOCK:
        return _advance_block(chains, inputs)
    cut = _cut(chains)
    # [R_1 | b_1], then R_t [P | h] + [0 | b_t]: only the columns of the state have an addend.
    starts = torch.nn.functional.pad(cut[:, :1], (0, 0, 0, 0, 0, BLOCK - 1))
    inner = _advance_block(cut, torch.cat((starts, _cut(inputs)), -1))
    ends = _ends(inner, count, length)
    carried = _scan_states(ends[..., :width], ends[..., width:])
    before = torch.cat((carried.new_zeros(count, 1, width, columns), carried[:, :-1]), 1)
    products, states = inner.flatten(1, 2).split((width, columns), -1)
    return _join(torch.baddbmm(states, products, before.flatten(0, 1)), inputs)


def _advance_block(chains: Tensor, inputs: Tensor) -> Tensor:
    first, *rest = inputs.unbind(1)
    states = [first]
    for operator, step in zip(chains.unbind(1)[1:], rest, strict=True):
        states.append(torch.baddbmm(step, operator, states[-1]))
    return torch.stack(states, 1)


def _cut(chains: Tensor) -> Tensor:
    """Cut into blocks ``(chains · blocks, BLOCK, …)``; copies of the last entry fill the last.

    `_join` drops these copies.
    """
    spare = -chains.shape[1] % BLOCK
    if spare:
        chains = torch.cat((chains, chains[:, -1:].expand(-1, spare, -1, -1)), 1)
    blocks: Tensor = chains.unflatten(1, (-1, BLOCK)).flatten(0, 1)
    return blocks


def _ends(blocks: Tensor, count: int, length: int) -> Tensor:
    """Return the last entry of every block as ``(chains, blocks, …)``."""
    ends: Tensor = blocks[:, -1].unflatten(0, (count, -(-length // BLOCK)))
    return ends


def _join(blocks: Tensor, like: Tensor) -> Tensor:
    """Join the blocks of each chain and drop the copies that `_cut` added."""
    count, length = like.shape[:2]
    spare = -length % BLOCK
    return blocks.view(count, length + spare, *like.shape[2:])[:, :length]


def _chain(x: Tensor) -> Tensor:
    """Flatten the leading dimensions: ``(chains, length, d, m)``."""
    return x.reshape(math.prod(x.shape[:-3]), *x.shape[-3:])


def _carry_back(products: Tensor, grad: Tensor) -> Tensor:
    """Return λ_t = P_t Σ_{s≥t} P_sᵀ G_s."""
    return products @ _accumulate(products.mT @ grad, "suffix")


def _accumulate(terms: Tensor, direction: Literal["prefix", "suffix"]) -> Tensor:
    """Return running sums of matrices ``(…, length, d, m)``."""
    return accumulate(terms.flatten(-2), direction).view_as(terms)


def _run_back(operators: Tensor, grad: Tensor) -> Tensor:
    """Return λ_t = G_t + R_{t+1}ᵀ λ_{t+1}.

    `roll` puts R_1 in the last place, where it has no effect because λ_{T+1} = 0.
    """
    following = operators.roll(-1, -3).flip(-3).mT
    adjoint: Tensor = _States.apply(following, grad.flip(-3))  # type: ignore[no-untyped-call]
    return adjoint.flip(-3)


def _operator_gradient(adjoint: Tensor, states: Tensor, initial: Tensor) -> Tensor:
    """Return dR_t = λ_t h_{t−1}ᵀ."""
    before = torch.cat((initial.expand_as(states[..., :1, :, :]), states[..., :-1, :, :]), -3)
    return adjoint @ before.mT


def _identity(operators: Tensor) -> Tensor:
    return torch.eye(operators.shape[-1], dtype=operators.dtype, device=operators.device)


class _Products(torch.autograd.Function):
    @staticmethod
    def forward(operators: Tensor) -> Tensor:
        return _scan_products(_chain(operators)).reshape(operators.shape)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        operators, products = ctx.saved_tensors
        return _operator_gradient(_run_back(operators, grad), products, _identity(operators))

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int], operators: Tensor) -> tuple[Tensor, int]:
        return _Products.apply(operators.movedim(in_dims[0], 0)), 0  # type: ignore[no-untyped-call]


class _OrthogonalProducts(torch.autograd.Function):
    @staticmethod
    def forward(operators: Tensor) -> Tensor:
        return _scan_products(_chain(operators)).reshape(operators.shape)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (products,) = ctx.saved_tensors
        return _operator_gradient(_carry_back(products, grad), products, _identity(products))

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int], operators: Tensor) -> tuple[Tensor, int]:
        moved = operators.movedim(in_dims[0], 0)
        return _OrthogonalProducts.apply(moved), 0  # type: ignore[no-untyped-call]


class _States(torch.autograd.Function):
    @staticmethod
    def forward(operators: Tensor, inputs: Tensor) -> Tensor:
        return _scan_states(_chain(operators), _chain(inputs)).reshape(inputs.shape)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        operators, states = ctx.saved_tensors
        adjoint = _run_back(operators, grad)
        return _operator_gradient(adjoint, states, states.new_zeros(())), adjoint

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Tensor) -> tuple[Tensor, int]:
        return _States.apply(*batch_first(info, in_dims, inputs)), 0  # type: ignore[no-untyped-call]


class _OrthogonalStates(torch.autograd.Function):
    """Takes the products P for speed only; the gradient with respect to R includes theirs."""

    @staticmethod
    def forward(operators: Tensor, inputs: Tensor, products: Tensor) -> Tensor:
        return products @ _accumulate(products.mT @ inputs, "prefix")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[2], output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        products, states = ctx.saved_tensors
        adjoint = _carry_back(products, grad)
        return _operator_gradient(adjoint, states, states.new_zeros(())), adjoint, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Tensor) -> tuple[Tensor, int]:
        stacked = batch_first(info, in_dims, inputs)
        return _OrthogonalStates.apply(*stacked), 0  # type: ignore[no-untyped-call]


def _check(method: str, operators: Tensor, inputs: Tensor | None = None) -> None:
    if method not in get_args(Method):
        raise ValueError(f"unknown method {method!r}; write one of {', '.join(get_args(Method))}")

    length, rows, columns = operators.shape[-3:]
    if rows != columns:
        raise ValueError(f"the operators are not square: {rows} rows, {columns} columns")
    if length == 0:
        raise ValueError("a prefix product needs at least one operator, got none")
    if inputs is None:
        return
    if inputs.shape[-2] != length:
        raise ValueError(f"there are {length} operators and {inputs.shape[-2]} inputs")
    if inputs.shape[-1] != columns:
        raise ValueError(f"the operators have width {columns}, the inputs {inputs.shape[-1]}")
