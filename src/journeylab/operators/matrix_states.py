"""The recurrence of `scan` for states that are matrices: associative memories, stacked vectors."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from journeylab.operators.scan import _States


def matrix_states(
    operators: Float[Tensor, "*#batch length rows rows"],
    inputs: Float[Tensor, "*#batch length rows columns"],
) -> Float[Tensor, "*batch length rows columns"]:
    """Return H_1 … H_T of H_t = R_t H_{t−1} + B_t with H_0 = 0, by the scan of `scan`.

    The columns of H share the products of R, which `scan.affine_states` would compute for each
    vector anew. Operators need not commute or be invertible. Leading dimensions broadcast. Works
    under `torch.func.vmap`. Raises ValueError if there are no operators.
    """
    if operators.shape[-3] == 0:
        raise ValueError("a recurrence needs at least one operator, got none")
    batch = torch.broadcast_shapes(operators.shape[:-3], inputs.shape[:-3])
    states: Tensor = _States.apply(  # type: ignore[no-untyped-call]
        operators.expand(*batch, *operators.shape[-3:]), inputs.expand(*batch, *inputs.shape[-3:])
    )
    return states
