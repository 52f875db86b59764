"""Floating-point operations of a transformer, counted from its shape."""

from __future__ import annotations

from collections.abc import Sequence


def training_flops(
    groups: Sequence[tuple[int, int]],
    *,
    width: int,
    layers: int,
    vocabulary: int,
    present: int | float | None = None,
    asked: int | float | None = None,
) -> float:
    """Return the operations of one training step's matrix products, 3 × those of the forward pass.

    Per token and layer 12d² multiply-adds (projections 4d², MLP 8d²) and 2Td for attention over
    rows of length T; per predicted token dV. A multiply-add counts as two operations. `groups` are
    (rows, length) pairs. Only tokens that are `present` need the output projection, d², and the
    MLP, in the last layer only those `asked` for, whose logits are computed (None: all).
    """
    tokens = sum(rows * length for rows, length in groups)
    attention = sum(2 * rows * length**2 * width for rows, length in groups)
    present, asked = (tokens if some is None else some for some in (present, asked))
    multiply_adds = layers * (3 * width**2 * tokens + attention) + asked * width * vocabulary
    multiply_adds += 9 * width**2 * ((layers - 1) * present + asked)
    return 3.0 * 2.0 * multiply_adds
