"""One head of attention over turned queries, keys and, if asked, values."""

from __future__ import annotations

from typing import Any, Literal, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import softplus

from journeylab.operators.rotary import Rotation

Weighting = Literal["softmax", "softplus"]
FORBIDDEN = -1e30


def causal_mask(length: int) -> Bool[Tensor, "1 length length"]:
    """Return the mask that lets position i attend to j ≤ i. True means: may attend."""
    return torch.ones(1, length, length, dtype=torch.bool).tril()


def padding_mask(lengths: Int[Tensor, " rows"], length: int) -> Bool[Tensor, "rows 1 length"]:
    """Return the mask that hides positions at or beyond each row's own length."""
    return (torch.arange(length) < lengths[:, None])[:, None, :]


def mask_scores(
    mask: Bool[Tensor, "#rows #queries #keys"], weighting: Weighting
) -> Float[Tensor, "#rows #queries #keys"]:
    """Turn a mask into what `attend` needs, once per forward pass.

    Softmax takes an addend (0 or a huge negative number, finite so that a row without any
    allowed key stays finite), softplus a factor (1 or 0).
    """
    allowed = mask.float()
    return allowed if weighting == "softplus" else (1.0 - allowed) * FORBIDDEN


def attend(
    q: Float[Tensor, "rows queries width"],
    k: Float[Tensor, "rows keys width"],
    v: Float[Tensor, "rows keys width"],
    mask: Float[Tensor, "#rows #queries #keys"] | None,
    weighting: Weighting,
) -> Float[Tensor, "rows queries width"]:
    """Return Σ_j a_ij v_j with a = softmax_j(⟨q_i, k_j⟩), or a_ij = softplus(⟨q_i, k_j⟩).

    Queries come scaled by 1/√d; `mask` comes from `mask_scores`. Explicit products beat the
    library's fused attention at these sizes on CPU, and they can be batched over seeds.
    """
    scores = q @ k.transpose(-2, -1)
    weights = weigh(scores, mask, weighting)
    return weights @ v


def turned_attention(
    projected: Float[Tensor, "rows length threefold"],
    turn: Rotation,
    mask: Float[Tensor, "#rows #queries #keys"] | None,
    weighting: Weighting,
    transport: bool,
) -> Float[Tensor, "rows length width"]:
    """Return the output of attention among the positions of each row, from fused q, k and v.

    out_i = Σ_j a_ij v_j, or with `transport` Σ_j a_ij R_i⁻¹ R_j v_j; a = softmax or softplus of
    ⟨R_i q_i, R_j k_j⟩/√d. Equals turning, `attend` and turning back, written as one operation with
    a closed-form backward pass that stores turned vectors only: for y = e^{iφ} x the gradient of φ
    is Im(ȳ · ∂y), so neither x nor a gradient of e^{iφ} is needed.
    """
    out, *_ = _TurnedAttention.apply(  # type: ignore[no-untyped-call]
        projected, turn.angles, turn.unit.detach(), mask, weighting, transport
    )
    return cast(Tensor, out)


class _TurnedAttention(torch.autograd.Function):
    """Turned q, k, v and weights are outputs too: the only way to keep them that vmap allows."""

    @staticmethod
    def forward(
        projected: Tensor,
        angles: Tensor,
        unit: Tensor,
        mask: Tensor | None,
        weighting: Weighting,
        transport: bool,
    ) -> tuple[Tensor, ...]:
        raw = _planes(projected.unflatten(-1, (3, -1)))
        scale = (projected.shape[-1] // 3) ** -0.5
        q, k = _reals(raw[:, :, 0] * (unit * scale)), _reals(raw[:, :, 1] * unit)
        v = _reals(raw[:, :, 2] * unit) if transport else projected.chunk(3, -1)[2]
        scores = torch.bmm(q, k.mT)
        weights = weigh(scores, mask, weighting)
        out = torch.bmm(weights, v)
        if transport:
            out = _reals(_planes(out) * unit.conj())
        return out, q, k, v.clone() if not transport else v, weights, scores

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        _, angles, unit, mask, ctx.weighting, ctx.transport = inputs
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(angles, unit, mask, *output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *unused: None) -> tuple[Tensor | None, ...]:
        angles, unit, mask, out, q, k, v, weights, scores = ctx.saved_tensors
        back = unit.conj().resolve_conj()
        grad_out = grad.contiguous()
        inner = _reals(_planes(grad_out) * unit) if ctx.transport else grad_out
        grad_weights = torch.bmm(inner, v.mT)
        if ctx.weighting == "softmax":
            grad_scores = torch.ops.aten._softmax_backward_data(
                grad_weights, weights, -1, weights.dtype
            )
        else:
            grad_scores = grad_weights * torch.sigmoid(scores)
            if mask is not None:
                grad_scores *= mask
        grad_q = _planes(torch.bmm(grad_scores, k))
        grad_k = _planes(torch.bmm(grad_scores.mT, q))
        grad_v = torch.bmm(weights.mT, inner)
        rows, length, width = q.shape
        projected = torch.empty(rows, length, 3, width // 2, dtype=unit.dtype, device=unit.device)
        torch.mul(grad_q, back * width**-0.5, out=projected[:, :, 0])
        torch.mul(grad_k, back, out=projected[:, :, 1])
        if ctx.transport:
            torch.mul(_planes(grad_v), back, out=projected[:, :, 2])
        else:
            projected[:, :, 2] = _planes(grad_v)
        grad_angles = None
        if ctx.needs_input_grad[1]:
            turned = grad_q * _planes(q).conj() + grad_k * _planes(k).conj()
            if ctx.transport:
                turned += _planes(grad_v) * _planes(v).conj()
                turned -= _planes(grad_out) * _planes(out).conj()
            grad_angles = turned.imag.sum_to_size(angles.shape)
        return _reals(projected).flatten(-2), grad_angles, None, None, None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], *inputs: Any
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        # Attention has no weights: seeds are more rows.
        seeds = info.batch_size
        projected, dim = inputs[0], in_dims[0]
        rows = projected.shape[0] if dim is None else projected.movedim(dim, 0).shape[1]

        def fold(tensor: Tensor | None, dim: int | None) -> Tensor | None:
            if tensor is None:
                return None
            stacked = tensor[None] if dim is None else tensor.movedim(dim, 0)
            return stacked.expand(seeds, rows, *stacked.shape[2:]).flatten(0, 1)

        folded = map(fold, inputs[:4], in_dims[:4])
        outputs = _TurnedAttention.apply(*folded, *inputs[4:])  # type: ignore[no-untyped-call]
        return tuple(y.unflatten(0, (seeds, rows)) for y in outputs), (0,) * len(outputs)


def _planes(x: Tensor) -> Tensor:
    return torch.view_as_complex(x.unflatten(-1, (-1, 2)))


def _reals(x: Tensor) -> Tensor:
    return torch.view_as_real(x).flatten(-2)


def weigh(
    scores: Float[Tensor, "*rows queries keys"],
    mask: Float[Tensor, "*#rows #queries #keys"] | None,
    weighting: Weighting,
) -> Float[Tensor, "*rows queries keys"]:
    """Turn scores into attention weights: normalised softmax, or un-normalised softplus."""
    if weighting == "softmax":
        return torch.softmax(scores if mask is None else scores + mask, dim=-1)
    weights = softplus(scores)
    return weights if mask is None else weights * mask
