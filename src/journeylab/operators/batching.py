"""What a `vmap` rule of one's own needs: all inputs with the mapped dimension first."""

from __future__ import annotations

from typing import Any

from torch import Tensor


def batch_first(
    info: Any, in_dims: tuple[int | None, ...], inputs: tuple[Tensor | None, ...]
) -> list[Tensor | None]:
    """Return the inputs of a `vmap` rule with the mapped dimension first.

    An input that is not mapped is repeated, without a copy; None stays None.
    """
    return [
        None
        if tensor is None
        else tensor.expand(info.batch_size, *tensor.shape)
        if dim is None
        else tensor.movedim(dim, 0)
        for tensor, dim in zip(inputs, in_dims, strict=True)
    ]
