"""Selective RoPE: rotation angles that depend on content; all rotations share their planes."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

from journeylab.models.mixers.mixer import ShortConvolution, join_heads, split_heads, unit
from journeylab.models.mixers.softmax import SoftmaxAttention
from journeylab.models.transformer import Affine
from journeylab.operators.journey import accumulate
from journeylab.operators.rotary import rotate, standard_frequencies, unit_circle

TAPS = 4


class SelectiveRotaryAttention(SoftmaxAttention):
    """s_ij = ⟨R(φ_i) q_i, R(φ_j) k_j⟩/√e with φ_i = Σ_{t≤i} a_t, the angles of every head's planes:

        a_t = ω ⊙ g_t (C ∗ W x̂ + e^b)_t,   g_t = σ(U x̂_t + c),   x̂ = x, each head's part normalised.

    ω_k = 10000^(−2k/e) as in RoPE, C a causal convolution of 4 taps per plane, g a gate per head, b
    an offset per plane that starts at 0. W = 0 and g = 1 give RoPE. The rotations commute, so φ
    depends on the order of the tokens through C only. W is drawn from N(0, 1/d); U = 0, c = 2 at
    the start. Source: Movahedi et al., Selective rotary position embedding, 2025, section 4.
    """

    rotates = True
    operator_weights = ("steer",)
    frequencies: Tensor

    def __init__(self, width: int, heads: int, *, generator: torch.Generator) -> None:
        super().__init__(width, heads, generator=generator)
        planes = width // 2
        self.steer = nn.Parameter(torch.randn(planes, width, generator=generator) * width**-0.5)
        self.convolution = ShortConvolution(planes, TAPS, generator=generator)
        self.offset = nn.Parameter(torch.zeros(planes))
        self.gate = Affine(width, heads, 0.0, generator)
        nn.init.constant_(self.gate.bias, 2.0)
        self.register_buffer("frequencies", standard_frequencies(self.head_width))

    def angles(
        self, x: Float[Tensor, "rows length width"]
    ) -> Float[Tensor, "rows heads length planes"]:
        """Return φ in radians."""
        directions = join_heads(unit(split_heads(x, self.heads)))
        steps = self.convolution(linear(directions, self.steer)) + self.offset.exp()
        gates = self.gate(directions).sigmoid().mT.unsqueeze(-1)
        return accumulate(self.frequencies * gates * split_heads(steps, self.heads))

    def scores(
        self,
        q: Float[Tensor, "rows heads length head_width"],
        k: Float[Tensor, "rows heads length head_width"],
        x: Float[Tensor, "rows length width"],
    ) -> Float[Tensor, "rows heads length length"]:
        """Return ⟨R(φ_i) q_i, R(φ_j) k_j⟩; q is scaled already."""
        turn = unit_circle(self.angles(x))
        return rotate(q, turn) @ rotate(k, turn).mT

    def multiply_adds(self, length: int) -> int:
        """Those of softmax attention, d²/2 for the angles and Hd for the gates."""
        own = self.width**2 // 2 + self.heads * self.width
        return super().multiply_adds(length) + own


MECHANISMS = {"selective-rope": SelectiveRotaryAttention}
