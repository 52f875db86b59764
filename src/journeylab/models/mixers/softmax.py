"""Causal softmax attention of H heads, and the forms of it that change its scores.

    o_i = Σ_{j≤i} a_ij v_j,  a_i = softmax_j(s_ij),  y = W_O [o¹ … o^H],
    q, k, v = W_Q x, W_K x, W_V x, all maps d×d with a bias.

| class | s_ij |
| --- | --- |
| `SoftmaxAttention` | ⟨q_i, k_j⟩/√e: no position (NoPE) |
| `RotaryAttention` | ⟨R(iω) q_i, R(jω) k_j⟩/√e |
| `LinearBiasAttention` | ⟨q_i, k_j⟩/√e − m_h (i − j) |
| `ForgettingAttention` | ⟨q_i, k_j⟩/√e + Σ_{j<t≤i} log f_t |
| `LieAttention` | ⟨exp(iA) q_i, exp(jA) k_j⟩/√e |

Subclasses draw the four maps first, so variants of a seed begin with the same maps.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from journeylab.models.attention import causal_mask, mask_scores, weigh
from journeylab.models.mixers.mixer import check_heads, join_heads, split_heads
from journeylab.models.transformer import Affine
from journeylab.operators.journey import accumulate
from journeylab.operators.orthogonal import exponential
from journeylab.operators.rotary import rotary_angles, rotate, standard_frequencies, unit_circle
from journeylab.operators.ssm import powers


class SoftmaxAttention(nn.Module):
    """Softmax attention without positions; a subclass changes `scores`.

    Weights are drawn from N(0, 1/d). Source: Vaswani et al., Attention is all you need, 2017,
    section 3.2.2. Raises ValueError if the width is not a multiple of `heads`, and, in subclasses
    that rotate, for an odd head width.
    """

    rotates = False
    operator_weights: tuple[str, ...] = ()

    def __init__(self, width: int, heads: int, *, generator: torch.Generator) -> None:
        super().__init__()
        self.head_width = check_heads(width, heads, even=self.rotates)
        self.width, self.heads = width, heads
        self.project = Affine(width, 3 * width, width**-0.5, generator)
        self.output = Affine(width, width, width**-0.5, generator)

    def scores(
        self,
        q: Float[Tensor, "rows heads length head_width"],
        k: Float[Tensor, "rows heads length head_width"],
        x: Float[Tensor, "rows length width"],
    ) -> Float[Tensor, "rows heads length length"]:
        """Return s_ij; q is scaled by 1/√e, x is the mixer's input, entries j > i are ignored."""
        return q @ k.mT

    def forward(self, x: Float[Tensor, "rows length width"]) -> Float[Tensor, "rows length width"]:
        """Return y."""
        q, k, v = (split_heads(part, self.heads) for part in self.project(x).chunk(3, -1))
        weights = causal_weights(self.scores(q * self.head_width**-0.5, k, x))
        out: Tensor = self.output(join_heads(weights @ v))
        return out

    def multiply_adds(self, length: int) -> int:
        """4d² for the maps and 2Td for scores and values."""
        return 4 * self.width**2 + 2 * length * self.width


class RotaryAttention(SoftmaxAttention):
    """RoPE: queries and keys are rotated by i·ω_k in plane k, with ω_k = 10000^(−2k/e).

    Source: Su et al., RoFormer, 2021, section 3.2.
    """

    rotates = True
    frequencies: Tensor

    def __init__(self, width: int, heads: int, *, generator: torch.Generator) -> None:
        super().__init__(width, heads, generator=generator)
        self.register_buffer("frequencies", standard_frequencies(self.head_width))

    def scores(
        self,
        q: Float[Tensor, "rows heads length head_width"],
        k: Float[Tensor, "rows heads length head_width"],
        x: Float[Tensor, "rows length width"],
    ) -> Float[Tensor, "rows heads length length"]:
        """Return ⟨R(iω) q_i, R(jω) k_j⟩; q is scaled already."""
        positions = torch.arange(q.shape[-2], device=q.device)
        turn = unit_circle(rotary_angles(positions, self.frequencies))
        return rotate(q, turn) @ rotate(k, turn).mT


class LinearBiasAttention(SoftmaxAttention):
    """ALiBi: s_ij = ⟨q_i, k_j⟩/√e − m_h (i − j) with slopes m_h = 2^(−8h/H), h = 1 … H.

    Slopes 0 give `SoftmaxAttention`. `ForgettingAttention` with constant gates f = e^(−m_h) is the
    same. Source: Press, Smith and Lewis, Train short, test long, 2022, section 3.
    """

    slopes: Tensor

    def __init__(self, width: int, heads: int, *, generator: torch.Generator) -> None:
        super().__init__(width, heads, generator=generator)
        self.register_buffer("slopes", 2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads))

    def scores(
        self,
        q: Float[Tensor, "rows heads length head_width"],
        k: Float[Tensor, "rows heads length head_width"],
        x: Float[Tensor, "rows length width"],
    ) -> Float[Tensor, "rows heads length length"]:
        """Return ⟨q_i, k_j⟩ − m_h (i − j); q is scaled already."""
        steps = torch.arange(q.shape[-2], device=q.device)
        distances = (steps[:, None] - steps).to(q.dtype)
        return q @ k.mT - self.slopes[:, None, None] * distances


class ForgettingAttention(SoftmaxAttention):
    """FoX: a forget gate f_t = σ(w_h·x_t + b_h) per head; s_ij = ⟨q_i, k_j⟩/√e + Σ_{j<t≤i} log f_t.

    Gates 1 give `SoftmaxAttention`. w is drawn from N(0, 1/d); b starts at `bias`. Source: Lin,
    Nikishin, He and Courville, Forgetting transformer, 2025, section 3.
    """

    operator_weights: tuple[str, ...] = ("gate.weight",)

    def __init__(
        self, width: int, heads: int, *, bias: float = 0.0, generator: torch.Generator
    ) -> None:
        super().__init__(width, heads, generator=generator)
        self.gate = Affine(width, heads, width**-0.5, generator)
        nn.init.constant_(self.gate.bias, bias)

    def scores(
        self,
        q: Float[Tensor, "rows heads length head_width"],
        k: Float[Tensor, "rows heads length head_width"],
        x: Float[Tensor, "rows length width"],
    ) -> Float[Tensor, "rows heads length length"]:
        """Return ⟨q_i, k_j⟩ + Σ_{j<t≤i} log f_t; q is scaled already."""
        return q @ k.mT + spans(logsigmoid(self.gate(x)).mT)

    def multiply_adds(self, length: int) -> int:
        """Those of softmax attention, and Hd for the gates."""
        return super().multiply_adds(length) + self.heads * self.width


class LieAttention(SoftmaxAttention):
    """LieRE for sequences: s_ij = ⟨Q^i q_i, Q^j k_j⟩/√e, one Q = exp(S − Sᵀ) ∈ SO(e) per head.

    Positions of a sequence are numbers, so all operators are powers of one Q and commute: RoPE with
    learned frequencies in a learned basis. RoPE is the S of its planes. S is drawn from
    N(0, `scale`²/e). Source: Ostmeier et al., LieRE, 2024, section 3.
    """

    rotates = True
    operator_weights: tuple[str, ...] = ("square",)

    def __init__(
        self, width: int, heads: int, *, scale: float = 1.0, generator: torch.Generator
    ) -> None:
        super().__init__(width, heads, generator=generator)
        e = self.head_width
        normal = torch.randn(heads, e, e, generator=generator)
        self.square = nn.Parameter(scale * normal / math.sqrt(e))

    def scores(
        self,
        q: Float[Tensor, "rows heads length head_width"],
        k: Float[Tensor, "rows heads length head_width"],
        x: Float[Tensor, "rows length width"],
    ) -> Float[Tensor, "rows heads length length"]:
        """Return ⟨Q^i q_i, Q^j k_j⟩; q is scaled already."""
        operators = powers(exponential(self.square), q.shape[-2])
        q, k = ((operators @ z.unsqueeze(-1)).squeeze(-1) for z in (q, k))
        return q @ k.mT

    def multiply_adds(self, length: int) -> int:
        """Those of softmax attention, and 2de for the rotations; powers are shared by all rows."""
        return super().multiply_adds(length) + 2 * self.width * self.head_width


def causal_weights(
    scores: Float[Tensor, "rows heads length length"],
) -> Float[Tensor, "rows heads length length"]:
    """Return softmax_j(s_ij) over j ≤ i, and 0 for j > i."""
    allowed = causal_mask(scores.shape[-1], scores.device)
    return weigh(scores, mask_scores(allowed, "softmax", scores.dtype), "softmax")


def spans(
    steps: Float[Tensor, "*batch length"],
) -> Float[Tensor, "*batch length length"]:
    """Return Σ_{j<t≤i} a_t as entry (i, j), the difference of two running sums.

    For j > i it is −Σ_{i<t≤j} a_t, which a causal mask removes. The sums are float64: in float32,
    the differences of long sums of large steps would keep few digits.
    """
    total = accumulate(steps.double().unsqueeze(-1))
    return (total - total.mT).to(steps.dtype)


MECHANISMS = {
    "none": SoftmaxAttention,
    "rope": RotaryAttention,
    "alibi": LinearBiasAttention,
    "liere": LieAttention,
    "fox": ForgettingAttention,
}
