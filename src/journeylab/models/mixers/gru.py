"""The gated recurrent unit."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear


class GatedRecurrence(nn.Module):
    """h_t = (1 − z_t) ⊙ n_t + z_t ⊙ h_{t−1}, h_0 = 0, y = h, with

        r_t = σ(W_r x_t + b_r + U_r h_{t−1} + c_r),   z_t = σ(W_z x_t + b_z + U_z h_{t−1} + c_z),
        n_t = tanh(W_n x_t + b_n + r_t ⊙ (U_n h_{t−1} + c_n)).

    All parameters are drawn from U(−1/√d, 1/√d), as in PyTorch; rows of the stacked maps are in the
    order r, z, n. `heads` is ignored. The steps are taken in turn. Source: Cho et al., Learning
    phrase representations, 2014, in the form of `torch.nn.GRU`.
    """

    operator_weights = ("input_weight", "state_weight")

    def __init__(self, width: int, heads: int = 1, *, generator: torch.Generator) -> None:
        super().__init__()
        del heads

        def draw(*shape: int) -> nn.Parameter:
            uniform = torch.rand(shape, generator=generator)
            return nn.Parameter((2.0 * uniform - 1.0) * width**-0.5)

        self.width = width
        self.input_weight, self.state_weight = draw(3 * width, width), draw(3 * width, width)
        self.input_bias, self.state_bias = draw(3 * width), draw(3 * width)

    def forward(self, x: Float[Tensor, "rows length width"]) -> Float[Tensor, "rows length width"]:
        """Return h_1 … h_T."""
        state = torch.zeros_like(x[..., 0, :])
        states = []
        for inputs in linear(x, self.input_weight, self.input_bias).unbind(-2):
            moved = linear(state, self.state_weight, self.state_bias)
            x_gates, x_new = inputs.split((2 * self.width, self.width), -1)
            h_gates, h_new = moved.split((2 * self.width, self.width), -1)
            r, z = (x_gates + h_gates).sigmoid().chunk(2, -1)
            new = torch.tanh(x_new + r * h_new)
            state = new + z * (state - new)
            states.append(state)
        return torch.stack(states, -2)

    def multiply_adds(self, length: int) -> int:
        """6d² for the six maps."""
        del length
        return 6 * self.width**2


MECHANISMS = {"gru": GatedRecurrence}
