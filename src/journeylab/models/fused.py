"""The blocks of a pre-LN transformer as a single operation with a closed-form backward pass.

A block computes

    m = x + D₁ ∘ (W_o attention(W_p norm(x) + b_p) + b_o)
    y = m + D₂ ∘ (W₂ gelu(W₁ norm(m) + b₁) + b₂)                                             (1)

and the first block reads x = D₀ ∘ (the embeddings). If only some tokens are selected, attention
still reads all tokens, but m and y are computed for the selected ones only.

The reference is `transformer.TransformerBlock`, which computes the same with autograd. The closed
form keeps only the tensors it needs, and calls a third of the operations: at the sizes of the
studies, calling them takes as long as their arithmetic.

Every tensor may have a leading axis of seeds, which the rule for `torch.func.vmap` adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import gelu

from journeylab.models.fused_attention import (
    Attended,
    Factors,
    Layout,
    RotationGroup,
    attend,
    attend_backward,
    factors_of,
)
from journeylab.operators.affine import product, weight_gradient
from journeylab.operators.batching import batch_first, transforming

EPSILON = 1e-5
gelu_backward = torch.ops.aten.gelu_backward.grad_input
layer_norm_backward = torch.ops.aten.native_layer_norm_backward.default


class BlockWeights(NamedTuple):
    """The parameters of a block, in the order of its computation."""

    attention_scale: Float[Tensor, " width"]
    attention_shift: Float[Tensor, " width"]
    project: Float[Tensor, "threefold width"]
    project_bias: Float[Tensor, " threefold"]
    output: Float[Tensor, "width width"]
    output_bias: Float[Tensor, " width"]
    mlp_scale: Float[Tensor, " width"]
    mlp_shift: Float[Tensor, " width"]
    expand: Float[Tensor, "inner width"]
    expand_bias: Float[Tensor, " inner"]
    contract: Float[Tensor, "width inner"]
    contract_bias: Float[Tensor, " width"]


EACH = len(BlockWeights._fields)


def fused_blocks(
    layout: Layout,
    x: Float[Tensor, "tokens width"],
    dropout: Float[Tensor, "sites tokens width"] | None,
    weights: Sequence[BlockWeights],
    groups: Sequence[RotationGroup],
    present: Int[Tensor, " present"] | None = None,
    predicted: Int[Tensor, " predicted"] | None = None,
) -> Float[Tensor, "predicted width"]:
    """Return y of the last block for the concatenated tokens of all groups, or the predicted ones.

    `present` and `predicted` hold distinct indices into these tokens: those selected in all blocks
    but the last, and in the last; under `vmap` all seeds share them. `dropout` holds D₀, then D₁
    and D₂ of every block. Differentiable once, with respect to x, the weights and the angles; a
    second derivative raises RuntimeError. Works on any device, in any floating-point dtype, and
    under `torch.func.vmap`; other transforms, such as `torch.func.grad`, raise NotImplementedError.
    """
    flat: list[Tensor | None] = [tensor for block in weights for tensor in block]
    flat += [tensor for group in groups for tensor in group]
    function = _Mapped if transforming() else _Blocks
    y: Tensor = function.apply(  # type: ignore[no-untyped-call]
        layout, len(weights), x, dropout, present, predicted, *flat
    )
    return y


def pick(
    x: Float[Tensor, "*batch tokens width"], selected: Int[Tensor, " selected"] | None
) -> Float[Tensor, "*batch selected width"]:
    """Return the selected tokens; all of them if `selected` is None."""
    return x if selected is None else x.index_select(-2, selected)


class _Kept(NamedTuple):
    """What the backward pass needs of a block."""

    x: Tensor
    normal: Tensor
    mean: Tensor
    deviation: Tensor
    mixed: Tensor
    picked: Tensor
    middle: Tensor
    mlp_normal: Tensor
    mlp_mean: Tensor
    mlp_deviation: Tensor
    inner: Tensor
    active: Tensor
    dropout: Tensor | None
    attended: list[Attended]


class _Blocks(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        layout: Layout,
        depth: int,
        x: Tensor,
        dropout: Tensor | None,
        present: Tensor | None,
        predicted: Tensor | None,
        *tensors: Tensor | None,
    ) -> Tensor:
        weights, groups = _sort(depth, tensors)
        ctx.layout, ctx.depth, ctx.kept = layout, depth, []
        ctx.factors = [
            factors_of(group, (*x.shape[:-2], *shape))
            for group, shape in zip(groups, layout.shapes, strict=True)
        ]
        ctx.save_for_backward(dropout, present, predicted, *tensors)
        if dropout is not None:
            x = x * dropout.select(-3, 0)
        for layer, block in enumerate(weights):
            last = layer == depth - 1
            selected = predicted if last else present
            pair = None
            if dropout is not None:
                pair = pick(dropout.narrow(-3, 1 + 2 * layer, 2), selected)
            y, kept = _block(layout, x, pair, block, ctx.factors, selected)
            ctx.kept.append(kept)
            # absent tokens become 0, not NaN, so a mask can still exclude them
            x = y if last or present is None else _scatter(y, present, x)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        dropout, present, predicted, *tensors = ctx.saved_tensors
        weights, groups = _sort(ctx.depth, tensors)
        first = 6 + EACH * ctx.depth
        wanted = [
            group.angles if needed else None
            for group, needed in zip(groups, ctx.needs_input_grad[first::2], strict=True)
        ]
        grads: list[Tensor] = []
        of_angles: list[Tensor | None] = [None] * len(groups)
        for layer in reversed(range(ctx.depth)):
            last = layer == ctx.depth - 1
            selected = predicted if last else present
            if not last:
                grad = pick(grad, present)
            grad, of_block, added = _block_backward(
                ctx.layout, grad, ctx.kept[layer], weights[layer], ctx.factors, selected, wanted
            )
            grads = [*of_block, *grads]
            of_angles = [_sum(*pair) for pair in zip(of_angles, added, strict=True)]
        if dropout is not None:
            grad.mul_(dropout.select(-3, 0))
        per_group = [part for angles in of_angles for part in (angles, None)]
        return None, None, grad, None, None, None, *grads, *per_group


class _Mapped(torch.autograd.Function):
    """Only there for its rule, which adds the axis of seeds: `vmap` demands this form."""

    @staticmethod
    def forward(*inputs: Any) -> Tensor:
        raise NotImplementedError("the fused blocks support no transform but torch.func.vmap")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        pass

    @staticmethod
    def vmap(
        info: Any,
        in_dims: tuple[int | None, ...],
        layout: Layout,
        depth: int,
        *tensors: Tensor | None,
    ) -> tuple[Tensor, int]:
        x, dropout, present, predicted, *rest = tensors
        dims = in_dims[2:]
        end = 4 + EACH * depth
        own, own_dims = (x, dropout, *rest[: end - 4]), (*dims[:2], *dims[4:end])
        x, dropout, *weights = batch_first(info, own_dims, own)
        # indices, angles and masks that all seeds share are not expanded: they broadcast
        groups = [
            tensor if tensor is None or dim is None else tensor.movedim(dim, 0)
            for tensor, dim in zip(rest[end - 4 :], dims[end:], strict=True)
        ]
        y: Tensor = _Blocks.apply(  # type: ignore[no-untyped-call]
            layout, depth, x, dropout, present, predicted, *weights, *groups
        )
        return y, 0


def _block(
    layout: Layout,
    x: Tensor,
    dropout: Tensor | None,
    w: BlockWeights,
    factors: Sequence[Factors],
    selected: Tensor | None,
) -> tuple[Tensor, _Kept]:
    first, second = (None, None) if dropout is None else dropout.unbind(-3)
    normal, mean, deviation = _normalise(x, w.attention_scale, w.attention_shift)
    mixed, attended = attend(layout, product(normal, w.project, w.project_bias), factors)
    picked = pick(mixed, selected)
    middle = _add(pick(x, selected), product(picked, w.output, w.output_bias), first)
    mlp_normal, mlp_mean, mlp_deviation = _normalise(middle, w.mlp_scale, w.mlp_shift)
    inner = product(mlp_normal, w.expand, w.expand_bias)
    active = gelu(inner)
    y = _add(middle, product(active, w.contract, w.contract_bias), second)
    kept = _Kept(
        x,
        normal,
        mean,
        deviation,
        mixed,
        picked,
        middle,
        mlp_normal,
        mlp_mean,
        mlp_deviation,
        inner,
        active,
        dropout,
        attended,
    )
    return y, kept


def _block_backward(
    layout: Layout,
    grad: Tensor,
    kept: _Kept,
    w: BlockWeights,
    factors: Sequence[Factors],
    selected: Tensor | None,
    wanted: Sequence[Tensor | None],
) -> tuple[Tensor, BlockWeights, list[Tensor | None]]:
    """Return the gradients of x, of the weights and of the angles."""
    first, second = (None, None) if kept.dropout is None else kept.dropout.unbind(-3)
    grad = grad.contiguous()

    fed = grad if second is None else grad * second
    inner = product(fed, w.contract.mT)
    gelu_backward(inner, kept.inner, grad_input=inner)
    middle, *grads_mlp_norm = _normalise_backward(
        product(inner, w.expand.mT),
        kept.middle,
        kept.mlp_mean,
        kept.mlp_deviation,
        w.mlp_scale,
        w.mlp_shift,
    )
    middle += grad

    gathered = middle if first is None else middle * first
    mixed = product(gathered, w.output.mT)
    if selected is not None:
        mixed = _scatter(mixed, selected, kept.x)
    projected, grads_angles = attend_backward(
        layout, mixed, kept.mixed, kept.attended, factors, wanted
    )
    below, *grads_norm = _normalise_backward(
        product(projected, w.project.mT),
        kept.x,
        kept.mean,
        kept.deviation,
        w.attention_scale,
        w.attention_shift,
    )
    if selected is None:
        below += middle
    else:
        below.index_add_(-2, selected, middle)
    grads = (
        *grads_norm,
        weight_gradient(projected, kept.normal),
        projected.sum(-2),
        weight_gradient(gathered, kept.picked),
        gathered.sum(-2),
        *grads_mlp_norm,
        weight_gradient(inner, kept.mlp_normal),
        inner.sum(-2),
        weight_gradient(fed, kept.active),
        fed.sum(-2),
    )
    return below, BlockWeights._make(grads), grads_angles


def _sort(depth: int, tensors: Sequence[Any]) -> tuple[list[BlockWeights], list[RotationGroup]]:
    """Return the weights of every block and the groups from the flat list of inputs."""
    end = EACH * depth
    weights = [BlockWeights(*tensors[start : start + EACH]) for start in range(0, end, EACH)]
    groups = [RotationGroup(*tensors[at : at + 2]) for at in range(end, len(tensors), 2)]
    return weights, groups


def _sum(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    return first if second is None else second if first is None else first + second


def _scatter(y: Tensor, selected: Tensor, like: Tensor) -> Tensor:
    return torch.zeros_like(like).index_copy_(-2, selected, y)


def _add(x: Tensor, branch: Tensor, mask: Tensor | None) -> Tensor:
    return branch.add_(x) if mask is None else torch.addcmul(x, branch, mask, out=branch)


def _normalise(x: Tensor, scale: Tensor, shift: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    if scale.ndim == 1:
        return torch.native_layer_norm(x, scale.shape, scale, shift, EPSILON)
    # With seeds, γ and β have a seed axis, which the library's layer norm does not support.
    normal, mean, deviation = torch.native_layer_norm(x, x.shape[-1:], None, None, EPSILON)
    return _scale(normal, scale).add_(shift.unsqueeze(-2)), mean, deviation


def _normalise_backward(
    grad: Tensor, x: Tensor, mean: Tensor, deviation: Tensor, scale: Tensor, shift: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return gradients of the input, γ and β; ``deviation`` is 1/(standard deviation)."""
    if scale.ndim == 1:
        below: tuple[Tensor, Tensor, Tensor] = layer_norm_backward(
            grad, x, scale.shape, mean, deviation, scale, shift, [True, True, True]
        )
        return below
    normal = (x - mean).mul_(deviation)
    grad_scale, grad_shift = normal.mul_(grad).sum(-2), grad.sum(-2)
    wanted = [True, False, False]
    grad_x, *_ = layer_norm_backward(
        _scale(grad, scale), x, x.shape[-1:], mean, deviation, None, None, wanted
    )
    return grad_x, grad_scale, grad_shift


def _scale(grad: Tensor, scale: Tensor) -> Tensor:
    return grad.mul_(scale.unsqueeze(-2))
