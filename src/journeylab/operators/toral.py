"""Rotations of planes, optionally scaled. All share their planes, and therefore commute.

Plane k of a vector consists of the coordinates (2k, 2k + 1), as in `rotary`.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def plane_turns(
    angles: Float[Tensor, "*batch planes"], radii: Float[Tensor, "*#batch planes"] | None = None
) -> Float[Tensor, "*batch width width"]:
    """Return the d×d matrix of blocks r_k [[cos φ_k, −sin φ_k], [sin φ_k, cos φ_k]], d = 2·planes.

    Angles φ are in radians. Without radii, r = 1 and the operator is toral. As a complex number,
    plane k is multiplied by r_k e^{iφ_k}: a complex diagonal operator.
    """
    cos, sin = angles.cos(), angles.sin()
    if radii is not None:
        cos, sin = radii * cos, radii * sin
    # The first subdiagonal: sin within a block, 0 between two blocks.

    coupling = torch.stack((sin, torch.zeros_like(sin)), -1).flatten(-2)[..., :-1]
    return (
        torch.diag_embed(cos.repeat_interleave(2, -1))
        + torch.diag_embed(coupling, -1)
        - torch.diag_embed(coupling, 1)
    )
