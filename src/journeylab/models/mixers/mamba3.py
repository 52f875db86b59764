"""A selective state space with a complex diagonal, as in Mamba-3 (one input, one output)."""

from __future__ import annotations

import math
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import pad, rms_norm, silu, softplus

from journeylab.models.attention import causal_mask
from journeylab.models.mixers.mixer import check_heads, join_heads, split_heads
from journeylab.models.mixers.softmax import spans
from journeylab.models.transformer import Affine
from journeylab.operators.journey import accumulate
from journeylab.operators.rotary import rotate, unit_circle

SLOWEST, FASTEST = 1e-3, 0.1
"""Range of the step sizes Δ at the start."""
DECAY_FLOOR = 1e-4
EPSILON = 1e-5


class ComplexStateSpace(nn.Module):
    """States H of size e×e per head, a decay and a rotation of their planes per token:

        H_t = α_t H_{t−1} + (1 − λ_t) Δ_t α_t k̃_{t−1} v_{t−1}ᵀ + λ_t Δ_t k̃_t v_tᵀ,
        α_t = e^{Δ_t A_t},  q̃_t = R(φ_t) q_t,  k̃_t = R(φ_t) k_t,  φ_t = Σ_{s≤t} Δ_s π tanh θ_s,
        y = W_O [(H_tᵀ q̃_t + D v_t) ⊙ SiLU(z_t)]_heads.

    q and k are RMS-normalised per head, with a learned scale and an added bias that starts at 1;
    Δ = softplus(·) > 0, A = −softplus(·) ≤ −10⁻⁴, λ = σ(·), θ, v and z are affine in x. In complex
    numbers the transition of R(−φ_t) H_t is diagonal with entries α_t e^{−iΔ_t π tanh θ_t}, so the
    operators commute; λ = 1 is the usual discretisation and λ = ½ the trapezoidal rule. Without
    `rotating`, θ = 0 and all entries are real, in (0, 1), as in Mamba-2.
    Here every head has its own q and k, the inner width is d, and Δ is multiplied by a constant
    pace, 1 in the paper: all logarithms of operators are multiples of Δ. Source: Lahoti et al.,
    Mamba-3, 2026, sections 3.1 and 3.2. At the start the bias of Δ is softplus⁻¹ of values
    drawn log-uniformly from (0.001, 0.1). Raises ValueError if the width is not a multiple of
    `heads`, and for an odd head width.
    """

    operator_weights = ("pace",)
    pace: Tensor

    def __init__(
        self, width: int, heads: int, *, rotating: bool = True, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.head_width = check_heads(width, heads, even=True)
        self.width, self.heads = width, heads
        self.scalars = (heads, heads, heads, self.head_width // 2 if rotating else 0)
        self.project = Affine(width, 4 * width, width**-0.5, generator)
        self.output = Affine(width, width, width**-0.5, generator)
        self.control = Affine(width, sum(self.scalars), width**-0.5, generator)
        spread = torch.rand(heads, generator=generator)
        steps = SLOWEST * (FASTEST / SLOWEST) ** spread
        with torch.no_grad():
            self.control.bias[:heads] = steps + torch.log(-torch.expm1(-steps))  # softplus⁻¹
        self.register_buffer("pace", torch.ones(()))
        self.scale = nn.Parameter(torch.ones(2, self.head_width))
        self.bias = nn.Parameter(torch.ones(2, heads, 1, self.head_width))
        self.skip = nn.Parameter(torch.ones(heads, 1, 1))

    def forward(self, x: Float[Tensor, "rows length width"]) -> Float[Tensor, "rows length width"]:
        """Return y."""
        q, k, v, z = (split_heads(part, self.heads) for part in self.project(x).chunk(4, -1))
        q, k = (
            rms_norm(part, (self.head_width,), self.scale[i], EPSILON) + self.bias[i]
            for i, part in enumerate((q, k))
        )
        step, decay, mix, angles = self.control(x).split(self.scalars, -1)
        step = self.pace * softplus(step).mT
        decay = -softplus(decay).mT.clamp(min=DECAY_FLOOR)
        rates = math.pi * angles.tanh().unsqueeze(-3)
        turn = step[..., None] * rates if angles.shape[-1] else None
        read = state_space(q, k, v, step * decay, step, mix.sigmoid().mT, turn)
        out: Tensor = self.output(join_heads((read + self.skip * v) * silu(z)))
        return out

    def multiply_adds(self, length: int) -> int:
        """5d² + (3H + e/2)d for the maps; 2Td, as the recurrence is computed as attention."""
        return self.width * (5 * self.width + sum(self.scalars) + 2 * length)


def state_space(
    q: Float[Tensor, "*batch length width"],
    k: Float[Tensor, "*batch length width"],
    v: Float[Tensor, "*batch length columns"],
    log_decay: Float[Tensor, "*batch length"],
    step: Float[Tensor, "*batch length"],
    mix: Float[Tensor, "*batch length"],
    angles: Float[Tensor, "*batch length planes"] | None,
) -> Float[Tensor, "*batch length columns"]:
    """Return H_tᵀ q̃_t of `ComplexStateSpace`, given log α, Δ, λ and the rotation of each step.

    Without `angles` nothing is rotated. Token j enters twice, at its own step and at the next. Its
    weight in the output of token i is
    α_i ⋯ α_{j+1} (λ_j Δ_j + [j < i] (1 − λ_{j+1}) Δ_{j+1}) ⟨q̃_i, k̃_j⟩.
    """
    entered = mix * step
    later = pad((1.0 - mix[..., 1:]) * step[..., 1:], (0, 1))
    earlier = causal_mask(q.shape[-2], q.device)[0].tril(-1)
    weights = entered.unsqueeze(-2) + earlier * later.unsqueeze(-2)
    # Above the diagonal the exponent is positive and may overflow: it is cut before exp.
    decays = spans(log_decay).tril().exp()
    if angles is not None:
        turn = unit_circle(accumulate(angles))
        q, k = rotate(q, turn), rotate(k, turn)
    return ((q @ k.mT) * weights * decays).tril() @ v


MECHANISMS = {
    "mamba3": ComplexStateSpace,
    "mamba3-real": partial(ComplexStateSpace, rotating=False),
}
