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
    predicted: int | float | None = None,
) -> float:
    """Return the operations of one training step's matrix products, 3 × those of the forward pass.

    The forward pass takes, per token and layer, 12d² multiply-adds (projections 4d², MLP 8d²) and
    2Td for attention in rows of length T, and dV per predicted token. A multiply-add counts as two
    operations. `groups` are (rows, length) pairs.

    `present` is the number of tokens that are not padding and `predicted` the number of tokens
    whose logits are computed; None means all tokens, and a mean over steps may be fractional. The
    output projection (d²) and the MLP are computed for present tokens only, in the last layer for
    predicted tokens only.
    """
    tokens = sum(rows * length for rows, length in groups)
    attention = sum(2 * rows * length**2 * width for rows, length in groups)
    present, predicted = (tokens if count is None else count for count in (present, predicted))
    multiply_adds = layers * (3 * width**2 * tokens + attention) + predicted * width * vocabulary
    multiply_adds += 9 * width**2 * ((layers - 1) * present + predicted)
    return 3.0 * 2.0 * multiply_adds
