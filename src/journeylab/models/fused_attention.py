"""Attention within groups of rows and its closed-form backward pass, for `models.fused`.

With Q = R q, K = R k and V = R v (V = v without transport of values), attention is

    o_i = Σ_j a_ij V_j,  a_i = softmax(s_i + mask_i)  or  a_i = mask_i ∘ softplus(s_i),

with s_ij = ⟨Q_i, K_j⟩/√d; with transport, R_i⁻¹ o_i. As complex numbers Q = e^{iφ} q, and so on, so
queries, keys and values are rotated by one product.

- For y = e^{iφ} x the gradient of x is e^{−iφ} ∂y, and that of φ is Im(ȳ ∂y), so neither x nor a
  gradient of e^{iφ} is needed.
- softplus, a = log(1 + e^s), has ∂s = (1 − e^{−a}) ∘ ∂a, which is 0 where a mask made a = 0.

Every tensor may have a leading axis of seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Complex, Float
from torch import Tensor
from torch.nn.functional import softplus

from journeylab.models.attention import Weighting
from journeylab.operators.rotary import unit_circle

softmax_backward = torch.ops.aten._softmax_backward_data.default


@dataclass(frozen=True)
class Layout:
    """The constants of attention: (rows, length) of every group, and its kind."""

    shapes: tuple[tuple[int, int], ...]
    weighting: Weighting
    transport: bool

    @property
    def rotated(self) -> int:
        """How many of queries, keys and values are rotated."""
        return 3 if self.transport else 2


class RotationGroup(NamedTuple):
    """Angles φ of a group's positions (None: no positions), and its mask, from `mask_scores`."""

    angles: Float[Tensor, "*seeds #rows length planes"] | None
    mask: Float[Tensor, "*seeds #rows #length length"] | None


class Factors(NamedTuple):
    """Of a group: e^{iφ} and e^{−iφ} (None: no positions), and its mask."""

    unit: Complex[Tensor, "*seeds #rows length 1 planes"] | None
    inverse: Complex[Tensor, "*seeds #rows length 1 planes"] | None
    mask: Float[Tensor, "#merged #length length"] | None


class Attended(NamedTuple):
    """What the backward pass needs of a group: Q, K and V, and the weights a."""

    turned: Float[Tensor, "*seeds rows length 3 width"]
    weights: Float[Tensor, "merged length length"]


def factors_of(group: RotationGroup, shape: tuple[int, ...]) -> Factors:
    """Return the factors of a group; all layers share them. `shape`: (*seeds, rows, length)."""
    unit = inverse = None
    if group.angles is not None:
        unit = unit_circle(group.angles).unsqueeze(-2)
        inverse = unit.conj().resolve_conj()
    mask = group.mask
    if mask is not None and (mask.ndim > 3 or (len(mask) > 1 and len(shape) > 2)):
        mask = mask.expand(*shape, mask.shape[-1]).flatten(0, -3)
    return Factors(unit, inverse, mask)


def attend(
    layout: Layout,
    projected: Float[Tensor, "*seeds tokens threefold"],
    factors: Sequence[Factors],
) -> tuple[Float[Tensor, "*seeds tokens width"], list[Attended]]:
    """Return attention within the rows of every group. May overwrite `projected`."""
    *seeds, _, threefold = projected.shape
    mixed, kept = [], []
    for part, shape, group in zip(cut(projected, layout), layout.shapes, factors, strict=True):
        turned = part.reshape(*seeds, *shape, 3, threefold // 3)
        if group.unit is not None:
            planes(turned)[..., : layout.rotated, :].mul_(group.unit)
        q, k, v = merge(turned).unbind(-2)
        weights = weigh(q, k, group.mask, layout.weighting)
        out = torch.bmm(weights, v).view(*seeds, *shape, -1)
        if layout.transport and group.inverse is not None:
            planes(out).mul_(group.inverse.squeeze(-2))
        mixed.append(out.view(*seeds, -1, threefold // 3))
        kept.append(Attended(turned, weights))
    return mixed[0] if len(mixed) == 1 else torch.cat(mixed, -2), kept


def attend_backward(
    layout: Layout,
    grad: Float[Tensor, "*seeds tokens width"],
    mixed: Float[Tensor, "*seeds tokens width"],
    kept: Sequence[Attended],
    factors: Sequence[Factors],
    angles: Sequence[Tensor | None],
) -> tuple[Float[Tensor, "*seeds tokens threefold"], list[Tensor | None]]:
    """Return the gradients of the projection and of `angles` (None: not wanted)."""
    *seeds, tokens, width = mixed.shape
    projected = torch.empty(*seeds, tokens, 3 * width, dtype=grad.dtype, device=grad.device)
    grads_angles: list[Tensor | None] = []
    cuts = zip(*(cut(each, layout) for each in (projected, grad, mixed)), strict=True)
    for index, (raw, arriving, out) in enumerate(cuts):
        shape, (unit, inverse, _) = layout.shapes[index], factors[index]
        turned, weights = kept[index]
        inner = arriving.reshape(*seeds, *shape, width)
        if layout.transport and unit is not None:
            inner = reals(planes(inner) * unit.squeeze(-2))
        grads = _grads_of_turned(merge(inner, 2), merge(turned), weights, layout.weighting)
        grads = planes(grads.view(3, *seeds, *shape, width)).movedim(0, -2)
        rotated = 0 if inverse is None else layout.rotated
        below = planes(raw.view(*seeds, *shape, 3, width))
        if inverse is not None:
            torch.mul(grads[..., :rotated, :], inverse, out=below[..., :rotated, :])
        if rotated < 3:
            below[..., rotated:, :].copy_(grads[..., rotated:, :])
        wanted = angles[index]
        if wanted is None:
            grads_angles.append(None)
            continue
        # `grads` is used up above, so its memory may be overwritten here
        products = grads[..., :rotated, :].conj_physical_()
        total = products.mul_(planes(turned)[..., :rotated, :]).imag.sum(-2)
        if layout.transport:
            # the output is rotated back by R_i⁻¹, so its angles enter with the other sign
            leaving = planes(out.reshape(*seeds, *shape, width))
            total -= (planes(arriving.reshape(*seeds, *shape, width)).conj() * leaving).imag
        grads_angles.append(total.neg_().sum_to_size(wanted.shape))
    return projected, grads_angles


def _grads_of_turned(
    inner: Tensor, turned: Tensor, weights: Tensor, weighting: Weighting
) -> Float[Tensor, "3 merged length width"]:
    """Return the gradients of Q, K and V, given that of Σ_j a_ij V_j."""
    q, k, v = turned.unbind(-2)
    scores = weigh_backward(torch.bmm(inner, v.mT), weights, weighting)
    grads = torch.empty(3, *inner.shape, dtype=inner.dtype, device=inner.device)
    scale = q.shape[-1] ** -0.5
    # with β = 0 the former content is ignored, and the products are scaled at no cost
    torch.baddbmm(grads[0], scores, k, beta=0, alpha=scale, out=grads[0])
    torch.baddbmm(grads[1], scores.mT, q, beta=0, alpha=scale, out=grads[1])
    torch.bmm(weights.mT, inner, out=grads[2])
    return grads


def weigh(q: Tensor, k: Tensor, mask: Tensor | None, weighting: Weighting) -> Tensor:
    """Return the weights a of Q and K."""
    scale = q.shape[-1] ** -0.5
    if weighting == "softmax" and mask is not None:
        return torch.softmax(torch.baddbmm(mask, q, k.mT, alpha=scale), -1)
    scores = torch.bmm(q, k.mT).mul_(scale)
    if weighting == "softmax":
        return torch.softmax(scores, -1)
    weights = softplus(scores)
    return weights if mask is None else weights.mul_(mask)


def weigh_backward(grad: Tensor, weights: Tensor, weighting: Weighting) -> Tensor:
    """Return the gradient of the scores from that of the weights, which it may overwrite."""
    if weighting == "softmax":
        scores: Tensor = softmax_backward(grad, weights, -1, weights.dtype)
        return scores
    return grad.mul_(torch.expm1(-weights).neg_())


def cut(tokens: Tensor, layout: Layout) -> Sequence[Tensor]:
    """Split concatenated tokens into groups."""
    if len(layout.shapes) == 1:
        return (tokens,)
    return torch.split(tokens, [rows * length for rows, length in layout.shapes], -2)


def merge(rows: Tensor, inner: int = 3) -> Tensor:
    """Merge the axes of seeds and rows."""
    return rows if rows.ndim == inner + 1 else rows.flatten(0, 1)


def planes(x: Tensor) -> Tensor:
    """View the coordinates (2k, 2k + 1) as complex numbers."""
    return x.view(x.dtype.to_complex())


def reals(x: Tensor) -> Tensor:
    """Undo `planes`."""
    return x.view(x.dtype.to_real())
