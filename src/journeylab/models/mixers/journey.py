"""Journeys: every token has an operator computed from its content; operators multiply on the way.

| class | output of a head |
| --- | --- |
| `JourneyState` | h_t = R_t h_{t−1} + J·v_t, h_0 = u; product state J = 0, aggregation J = 1 |
| `JourneyAttention` | Σ_{j≤i} softmax_j(⟨q_i, R_{i←j} k_j⟩/√e) v_j; `transport`: R_{i←j} v_j |

R_{i←j} = R_i ⋯ R_{j+1} is the product over the tokens between two positions. The families are those
of exp1, with free parameters that are affine in x_t instead of one set per letter:

| family | R_t | commute |
| --- | --- | --- |
| orthogonal | exp(S − Sᵀ) ∈ SO(e) | no |
| linear | I + S, any matrix | no |
| toral | rotations of e/2 planes, by a in states and by −a in attention, as in RoPE | yes |
"""

from __future__ import annotations

import math
from functools import partial
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from journeylab.models.mixers.mixer import check_heads, join_heads, split_heads
from journeylab.models.mixers.softmax import SoftmaxAttention, causal_weights
from journeylab.models.transformer import Affine
from journeylab.operators.journey import accumulate
from journeylab.operators.orthogonal import DEGREE, SQUARINGS, exponential
from journeylab.operators.rotary import Rotation, standard_frequencies
from journeylab.operators.scan import Method, affine_states, prefix_products

Family = Literal["orthogonal", "linear", "toral"]
METHODS: dict[Family, Method] = {"orthogonal": "orthogonal", "linear": "scan"}
OPERATOR_WEIGHTS: dict[Family, str] = {
    "orthogonal": "operators.free.weight",
    "linear": "operators.free.weight",
    "toral": "angles.weight",
}


class OperatorMap(nn.Module):
    """The operators R_t of every head as matrices: orthogonal or linear.

    The entries of S are affine in x, with weights from N(0, `scale`²/(de)) and bias 0: for entries
    of x with variance 1 they start as N(0, `scale`²/e).
    """

    def __init__(
        self, width: int, heads: int, family: Family, scale: float, *, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.head_width, self.family = check_heads(width, heads), family
        entries = width * self.head_width
        self.free = Affine(width, entries, scale * (width * self.head_width) ** -0.5, generator)
        self.heads = heads

    def forward(
        self, x: Float[Tensor, "rows length width"]
    ) -> Float[Tensor, "rows heads length e e"]:
        """Return R."""
        e = self.head_width
        square: Tensor = split_heads(self.free(x), self.heads).unflatten(-1, (e, e))
        if self.family == "orthogonal":
            return exponential(square.contiguous())  # `matrix_exp` needs that
        return torch.eye(e, dtype=x.dtype, device=x.device) + square

    def multiply_adds(self) -> int:
        """d²e per token for S, and the products of the exponential's series."""
        d, e = self.heads * self.head_width, self.head_width
        series = (SQUARINGS + DEGREE) * d * e**2 if self.family == "orthogonal" else 0
        return d**2 * e + series


class JourneyState(nn.Module):
    """The product state (J = 0) or the aggregation (J = 1) of a journey; y = W_O [h¹ … h^H].

    Toral angles have weights from N(0, π²/(3d)), the variance of U(−π, π), and the toral state is
    computed in closed form, others by scan. u is drawn from N(0, 1), v = W_V x. The state holds e
    numbers per head, whatever the length. Source: the reviewer plan on journey attention, theorem
    on DFA simulation. Raises ValueError if the width is not a multiple of `heads`, and for toral
    heads of odd width.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        family: Family = "orthogonal",
        aggregate: bool = False,
        scale: float = 1.0,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.head_width = check_heads(width, heads, even=family == "toral")
        self.width, self.heads, self.family = width, heads, family
        self.output = Affine(width, width, width**-0.5, generator)
        self.start = nn.Parameter(torch.randn(heads, self.head_width, generator=generator))
        self.value = Affine(width, width, width**-0.5, generator) if aggregate else None
        if family == "toral":
            self.angles = Affine(width, width // 2, math.pi * (3 * width) ** -0.5, generator)
        else:
            self.operators = OperatorMap(width, heads, family, scale, generator=generator)
        self.operator_weights = (OPERATOR_WEIGHTS[family],)

    def states(
        self, x: Float[Tensor, "rows length width"]
    ) -> Float[Tensor, "rows heads length head_width"]:
        """Return h_1 … h_T."""
        start = self.start.unsqueeze(-2)
        zeros = torch.zeros_like(x)
        values = split_heads(zeros if self.value is None else self.value(x), self.heads)
        if self.family == "toral":
            turn = Rotation.by(accumulate(split_heads(self.angles(x), self.heads)))
            return turn.apply(start + accumulate(turn.undo(values)))
        operators = self.operators(x)
        first = (operators[..., :1, :, :] @ start.unsqueeze(-1)).squeeze(-1)
        inputs = values + torch.cat((first, torch.zeros_like(values[..., 1:, :])), -2)
        return affine_states(operators, inputs, METHODS[self.family])

    def forward(self, x: Float[Tensor, "rows length width"]) -> Float[Tensor, "rows length width"]:
        """Return y."""
        out: Tensor = self.output(join_heads(self.states(x)))
        return out

    def multiply_adds(self, length: int) -> int:
        """d² for W_O and for W_V; d²/2 for toral angles, else R, the scan and 2de for the state."""
        del length
        d, e = self.width, self.head_width
        maps = d**2 * (1 if self.value is None else 2)
        if self.family == "toral":
            return maps + d**2 // 2
        scan = (2 if self.family == "orthogonal" else 1) * d * e**2
        return maps + self.operators.multiply_adds() + scan + 2 * d * e


class JourneyAttention(SoftmaxAttention):
    """Softmax attention whose keys, and with `transport` values, travel by orthogonal operators.

    For orthogonal operators R_{i←j} = P_i P_jᵀ with the prefix products P of the project's scan, so
    queries, keys and values are multiplied by Pᵀ once, and the output by P; the bias of S starts at
    the generator of RoPE, so that S has a small part from content beside it. Toral operators follow
    RoPE, ⟨R(φ_i) q_i, R(φ_j) k_j⟩ with φ = Σ a_t and a_t = ω ⊙ (1 + W x_t), W from N(0, 0.01/d) at
    the start; W = 0 is RoPE. Source: the reviewer plan on journey attention; the toral form is that
    of Selective RoPE without convolution and gate. Raises ValueError for the family `linear`, which
    has no inverse, and for an odd head width.
    """

    rotates = True
    frequencies: Tensor

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        family: Family = "orthogonal",
        transport: bool = False,
        scale: float = 0.1,
        generator: torch.Generator,
    ) -> None:
        super().__init__(width, heads, generator=generator)
        self.family, self.transport = family, transport
        if family == "linear":
            raise ValueError("attention needs inverses: write orthogonal or toral, not linear")
        if family == "toral":
            self.angles = Affine(width, width // 2, 0.1 * width**-0.5, generator)
            self.register_buffer("frequencies", standard_frequencies(self.head_width))
        else:
            self.operators = OperatorMap(width, heads, family, scale, generator=generator)
            with torch.no_grad():
                self.operators.free.bias.copy_(rotary_generator(self.head_width).repeat(heads))
        self.operator_weights = (OPERATOR_WEIGHTS[family],)

    def turn(self, x: Float[Tensor, "rows length width"]) -> Rotation | Products:
        """Return R_i of all heads and positions, with ⟨R_i q_i, R_j k_j⟩ = ⟨q_i, R_{i←j} k_j⟩."""
        if self.family == "toral":
            relative = 1.0 + split_heads(self.angles(x), self.heads)
            return Rotation.by(accumulate(self.frequencies * relative))
        return Products(prefix_products(self.operators(x), "orthogonal"))

    def forward(self, x: Float[Tensor, "rows length width"]) -> Float[Tensor, "rows length width"]:
        """Return y."""
        q, k, v = (split_heads(part, self.heads) for part in self.project(x).chunk(3, -1))
        turn = self.turn(x)
        q, k = turn.apply(q) * self.head_width**-0.5, turn.apply(k)
        weights = causal_weights(q @ k.mT)
        mixed = turn.undo(weights @ turn.apply(v)) if self.transport else weights @ v
        out: Tensor = self.output(join_heads(mixed))
        return out

    def multiply_adds(self, length: int) -> int:
        """Those of softmax attention; toral: d²/2; else R, 2de² to scan, 2de or 4de to turn."""
        d, e = self.width, self.head_width
        if self.family == "toral":
            return super().multiply_adds(length) + d**2 // 2
        moved = 2 * d * e**2 + (4 if self.transport else 2) * d * e
        return super().multiply_adds(length) + self.operators.multiply_adds() + moved


def rotary_generator(width: int) -> Float[Tensor, " entries"]:
    """Return the entries of S for which exp(S − Sᵀ) turns plane k back by the ω_k of RoPE."""
    square, even = torch.zeros(width, width), torch.arange(0, width, 2)
    square[even, even + 1] = standard_frequencies(width)
    return square.flatten()


class Products(NamedTuple):
    """Prefix products P of orthogonal operators; as a `Turn` of `rotary`, R_i = P_iᵀ."""

    products: Float[Tensor, "*batch length width width"]

    def apply(
        self, x: Float[Tensor, "*batch length width"]
    ) -> Float[Tensor, "*batch length width"]:
        """Return Pᵀ x."""
        return (x.unsqueeze(-2) @ self.products).squeeze(-2)

    def undo(self, x: Float[Tensor, "*batch length width"]) -> Float[Tensor, "*batch length width"]:
        """Return P x."""
        return (self.products @ x.unsqueeze(-1)).squeeze(-1)


MECHANISMS = {
    "orthogonal-product": JourneyState,
    "linear-product": partial(JourneyState, family="linear", scale=0.3),
    "toral-product": partial(JourneyState, family="toral"),
    "orthogonal-aggregation": partial(JourneyState, aggregate=True),
    "linear-aggregation": partial(JourneyState, family="linear", aggregate=True, scale=0.3),
    "toral-aggregation": partial(JourneyState, family="toral", aggregate=True),
    "orthogonal-attention": JourneyAttention,
    "orthogonal-transport": partial(JourneyAttention, transport=True),
    "toral-attention": partial(JourneyAttention, family="toral"),
    "toral-transport": partial(JourneyAttention, family="toral", transport=True),
}
