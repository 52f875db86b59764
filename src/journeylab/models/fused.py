"""A pre-LN transformer block as a single operation with a closed-form backward pass.

    m = x + D₁ ∘ (W_o attention(W_p norm(x) + b_p) + b_o)
    y = m + D₂ ∘ (W₂ gelu(W₁ norm(m) + b₁) + b₂)                                             (1)

If only some tokens are selected, attention still reads all tokens, but m and y are computed for the
selected ones only.

The reference is `transformer.TransformerBlock.compute`, which computes the same with autograd. The
closed form saves time and memory:

- Queries, keys and values are rotated as complex numbers in one product. For y = e^{iφ}x the
  gradient of φ is Im(ȳ ∂y), so neither x nor a gradient of e^{iφ} is needed.
- With o the output and a the weights of attention, softmax has ∂s = a ∘ (∂a − ⟨∂o, o⟩), and
  softplus, a = log(1 + e^s), has ∂s = (1 − e^{−a}) ∘ ∂a, which is 0 where a mask made a = 0.

Every tensor may have a leading axis of seeds, which the rule for `torch.func.vmap` adds.

Source: Dao, FlashAttention-2 (2023), section 3.1, for ∂s of softmax.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Complex, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import gelu, softplus

from journeylab.models.attention import Weighting
from journeylab.operators.affine import product, weight_gradient
from journeylab.operators.batching import batch_first

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


class RotationGroup(NamedTuple):
    """Positions of a group: angles φ, e^{iφ} and e^{−iφ} (None: no positions), and its mask.

    `mask` comes from `mask_scores`.
    """

    angles: Float[Tensor, "#rows length planes"] | None
    unit: Complex[Tensor, "#rows length planes"] | None
    inverse: Complex[Tensor, "#rows length planes"] | None
    mask: Float[Tensor, "#rows #length length"] | None


@dataclass(frozen=True)
class Layout:
    """The constants of a block: (rows, length) of every group, and its kind of attention."""

    shapes: tuple[tuple[int, int], ...]
    weighting: Weighting
    transport: bool


def fused_block(
    layout: Layout,
    x: Float[Tensor, "tokens width"],
    dropout: Float[Tensor, "2 selected width"] | None,
    weights: BlockWeights,
    groups: Sequence[RotationGroup],
    selected: Int[Tensor, " selected"] | None = None,
) -> Float[Tensor, "selected width"]:
    """Return y of equation (1) for the concatenated tokens of all groups, or the selected ones.

    `selected` holds distinct indices into these tokens; under `vmap` all seeds share it. `dropout`
    holds D₁ and D₂ of the selected tokens. Differentiable once, with respect to x, the weights and
    the angles; a second derivative raises RuntimeError. Works on any device, in any floating-point
    dtype, and under `torch.func.vmap`.
    """
    flat = [tensor for group in groups for tensor in group]
    y: Tensor = _Block.apply(  # type: ignore[no-untyped-call]
        layout, x, dropout, *weights, selected, *flat
    )[0]
    return y


def pick(
    x: Float[Tensor, "*batch tokens width"], selected: Int[Tensor, " selected"] | None
) -> Float[Tensor, "*batch selected width"]:
    """Return the selected tokens; all of them if `selected` is None."""
    return x if selected is None else x.index_select(-2, selected)


class _Kept(NamedTuple):
    """Tensors that the backward pass needs; (turned, weights) of each group follow them."""

    normal: Tensor
    mean: Tensor
    deviation: Tensor
    mixed: Tensor
    middle: Tensor
    mlp_normal: Tensor
    mlp_mean: Tensor
    mlp_deviation: Tensor
    inner: Tensor
    active: Tensor


INPUTS = 4 + len(BlockWeights._fields)


class _Block(torch.autograd.Function):
    """Returns the tensors to keep as well, because `vmap` lets it save only inputs and outputs."""

    @staticmethod
    def forward(
        layout: Layout, x: Tensor, dropout: Tensor | None, *tensors: Tensor | None
    ) -> tuple[Tensor, ...]:
        w, selected, groups = _sort(tensors)
        first, second = (None, None) if dropout is None else dropout.unbind(-3)
        normal, mean, deviation = _normalise(x, w.attention_scale, w.attention_shift)
        mixed, attended = _attend(layout, product(normal, w.project, w.project_bias), groups)
        branch = product(pick(mixed, selected), w.output, w.output_bias)
        middle = _add(pick(x, selected), branch, first)
        mlp_normal, mlp_mean, mlp_deviation = _normalise(middle, w.mlp_scale, w.mlp_shift)
        inner = product(mlp_normal, w.expand, w.expand_bias)
        active = gelu(inner)
        y = _add(middle, product(active, w.contract, w.contract_bias), second)
        kept = _Kept(
            normal,
            mean,
            deviation,
            mixed,
            middle,
            mlp_normal,
            mlp_mean,
            mlp_deviation,
            inner,
            active,
        )
        return y, *kept, *attended

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.layout, *tensors = inputs
        ctx.count = len(tensors)
        # No gradient arrives at the kept tensors, and no zeros are allocated in its place.
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors, *output[1:])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *unused: None) -> tuple[Tensor | None, ...]:
        saved, end = ctx.saved_tensors, ctx.count + len(_Kept._fields)
        x, dropout, *tensors = saved[: ctx.count]
        w, selected, groups = _sort(tensors)
        kept, attended = _Kept(*saved[ctx.count : end]), saved[end:]
        first, second = (None, None) if dropout is None else dropout.unbind(-3)
        grad = grad.contiguous()

        fed = grad if second is None else grad * second
        grad_contract = weight_gradient(fed, kept.active)
        inner = product(fed, w.contract.mT)
        gelu_backward(inner, kept.inner, grad_input=inner)
        grad_expand = weight_gradient(inner, kept.mlp_normal)
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
        grad_output = weight_gradient(gathered, pick(kept.mixed, selected))
        mixed = _scatter(product(gathered, w.output.mT), selected, x)
        projected, grads_angles = _attend_backward(
            ctx.layout, mixed, kept.mixed, attended, groups, ctx.needs_input_grad[INPUTS::4]
        )
        grad_project = weight_gradient(projected, kept.normal)
        below, *grads_norm = _normalise_backward(
            product(projected, w.project.mT),
            x,
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
            grad_project,
            projected.sum(-2),
            grad_output,
            gathered.sum(-2),
            *grads_mlp_norm,
            grad_expand,
            inner.sum(-2),
            grad_contract,
            fed.sum(-2),
        )
        per_group = [part for grad in grads_angles for part in (grad, None, None, None)]
        return None, below, None, *grads, None, *per_group

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], layout: Layout, *tensors: Tensor | None
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        own = INPUTS - 2
        stacked = batch_first(info, in_dims[1 : 1 + own], tensors[:own])
        # Indices, positions and masks that all seeds share are not expanded: they broadcast.
        shared = [
            tensor if tensor is None or dim is None else tensor.movedim(dim, 0)
            for tensor, dim in zip(tensors[own:], in_dims[1 + own :], strict=True)
        ]
        outputs = _Block.apply(layout, *stacked, *shared)  # type: ignore[no-untyped-call]
        return outputs, (0,) * len(outputs)


def _sort(tensors: Sequence[Any]) -> tuple[BlockWeights, Tensor | None, list[RotationGroup]]:
    """Return the weights, the selected tokens and the groups from the flat list of inputs."""
    count, each = len(BlockWeights._fields), len(RotationGroup._fields)
    selected, *rest = tensors[count:]
    groups = [RotationGroup(*rest[start : start + each]) for start in range(0, len(rest), each)]
    return BlockWeights(*tensors[:count]), selected, groups


def _scatter(grad: Tensor, selected: Tensor | None, like: Tensor) -> Tensor:
    return grad if selected is None else torch.zeros_like(like).index_copy_(-2, selected, grad)


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


def _attend(
    layout: Layout, projected: Tensor, groups: Sequence[RotationGroup]
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return attention within the rows of every group, and (turned, weights) of each group."""
    *seeds, _, threefold = projected.shape
    mixed, kept = [], []
    for part, shape, group in zip(_cut(projected, layout), layout.shapes, groups, strict=True):
        turned = _turn(part.reshape(*seeds, *shape, 3, -1), group.unit, layout.transport)
        q, k, v = _merge(turned).unbind(-2)
        weights = _weigh(q, k, _stretch(group.mask, turned), layout.weighting)
        out = torch.bmm(weights, v).view(*seeds, *shape, -1)
        if layout.transport and group.inverse is not None:
            _planes(out).mul_(group.inverse)
        mixed.append(out.view(*seeds, -1, threefold // 3))
        kept += [turned, weights]
    return _join(mixed), tuple(kept)


def _attend_backward(
    layout: Layout,
    grad: Tensor,
    mixed: Tensor,
    kept: Sequence[Tensor],
    groups: Sequence[RotationGroup],
    wanted: Sequence[bool],
) -> tuple[Tensor, list[Tensor | None]]:
    """Return the gradients of the projection and of every group's angles."""
    *seeds, _, width = mixed.shape
    projected, angles = [], []
    cuts = zip(_cut(grad, layout), _cut(mixed, layout), layout.shapes, strict=True)
    for index, (arriving, out, shape) in enumerate(cuts):
        group, turned, weights = groups[index], kept[2 * index], kept[2 * index + 1]
        unit = group.unit if layout.transport else None
        arriving, out = (x.reshape(*seeds, *shape, width) for x in (arriving, out))
        inner = arriving if unit is None else _reals(_planes(arriving) * unit)
        delta = (arriving * out).sum(-1, keepdim=True)
        grads_turned = _weigh_backward(
            _merge(inner, 2), _merge(delta, 2), _merge(turned), weights, layout.weighting
        )
        planes = [_planes(grad.view(*seeds, *shape, width)) for grad in grads_turned]
        projected.append(
            _turn_back(planes, group.inverse, layout.transport).view(*seeds, -1, 3 * width)
        )
        grad_angles = None
        if group.angles is not None and wanted[index]:
            # `planes` and `arriving` are used up above, so their memory may be overwritten here.
            pairs = list(zip(planes, _planes(turned).unbind(-2), strict=True))
            products = _conjugate_products(pairs[:2] if unit is None else pairs)
            if unit is not None:
                # The output is rotated back by R_i⁻¹, so its angles enter with the other sign.
                products.sub_(_conjugate_products([(_planes(arriving), _planes(out))]))
            grad_angles = products.imag.neg().sum_to_size(group.angles.shape)
        angles.append(grad_angles)
    return _join(projected), angles


def _turn_back(planes: Sequence[Tensor], inverse: Tensor | None, transport: bool) -> Tensor:
    """Return the gradient of the projection from those of rotated queries, keys and values."""
    shape = (*planes[0].shape[:-1], 3, planes[0].shape[-1])
    raw = torch.empty(shape, dtype=planes[0].dtype, device=planes[0].device)
    for index, (grad, part) in enumerate(zip(planes, raw.unbind(-2), strict=True)):
        if inverse is None or (index == 2 and not transport):
            part.copy_(grad)
        else:
            torch.mul(grad, inverse, out=part)
    return _reals(raw)


def _conjugate_products(pairs: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """Return Σ y conj(∂y); ∂φ is minus its imaginary part. Overwrites every ∂y."""
    (grad, y), *rest = pairs
    total = grad.conj_physical_().mul_(y)
    for grad, y in rest:
        total.addcmul_(grad.conj_physical_(), y)
    return total


def _merge(rows: Tensor, inner: int = 3) -> Tensor:
    """Merge the axes of seeds and rows."""
    return rows if rows.ndim == inner + 1 else rows.flatten(0, 1)


def _weigh(q: Tensor, k: Tensor, mask: Tensor | None, weighting: Weighting) -> Tensor:
    scale = q.shape[-1] ** -0.5
    if weighting == "softmax" and mask is not None:
        return torch.softmax(torch.baddbmm(mask, q, k.mT, alpha=scale), -1)
    scores = torch.bmm(q, k.mT).mul_(scale)
    if weighting == "softmax":
        return torch.softmax(scores, -1)
    weights = softplus(scores)
    return weights if mask is None else weights.mul_(mask)


def _weigh_backward(
    inner: Tensor, delta: Tensor, turned: Tensor, weights: Tensor, weighting: Weighting
) -> tuple[Tensor, Tensor, Tensor]:
    """Return gradients of rotated queries, keys and values; ``delta`` is ⟨∂o, o⟩ of every query."""
    q, k, v = turned.unbind(-2)
    if weighting == "softmax":
        grad_scores = torch.baddbmm(delta, inner, v.mT, beta=-1).mul_(weights)
    else:
        grad_scores = torch.bmm(inner, v.mT).mul_(torch.expm1(-weights).neg_())
    grad_scores *= q.shape[-1] ** -0.5
    return torch.bmm(grad_scores, k), torch.bmm(grad_scores.mT, q), torch.bmm(weights.mT, inner)


def _turn(threefold: Tensor, unit: Tensor | None, transport: bool) -> Tensor:
    """Rotate queries, keys and, with ``transport``, values; the shape stays [… length 3 width]."""
    if unit is None:
        return threefold.contiguous()
    if transport:
        return _reals(_planes(threefold) * unit.unsqueeze(-2))
    turned = torch.empty(threefold.shape, dtype=threefold.dtype, device=threefold.device)
    torch.mul(_planes(threefold[..., :2, :]), unit.unsqueeze(-2), out=_planes(turned[..., :2, :]))
    turned[..., 2, :] = threefold[..., 2, :]
    return turned


def _stretch(mask: Tensor | None, turned: Tensor) -> Tensor | None:
    """Expand a mask to the merged axis of seeds and rows."""
    if mask is None or (mask.ndim == 3 and (len(mask) == 1 or turned.ndim == 4)):
        return mask
    return mask.expand(*turned.shape[:-3], *mask.shape[-2:]).flatten(0, -3)


def _cut(tokens: Tensor, layout: Layout) -> Sequence[Tensor]:
    if len(layout.shapes) == 1:
        return (tokens,)
    return torch.split(tokens, [rows * length for rows, length in layout.shapes], -2)


def _join(parts: Sequence[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(tuple(parts), -2)


def _planes(x: Tensor) -> Tensor:
    return x.view(x.dtype.to_complex())


def _reals(x: Tensor) -> Tensor:
    return x.view(x.dtype.to_real())
