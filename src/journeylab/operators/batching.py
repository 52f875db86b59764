"""Moves the mapped dimension of every input to the front, for handwritten `vmap` rules."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Shaped
from torch import Tensor


def transforming() -> bool:
    """Return whether a transform of `torch.func`, such as `vmap`, is active.

    A `torch.autograd.Function` that supports transforms costs about 0.1 ms more per call, so an
    operation of small models has a plain one as well; callers choose between them by this answer.
    """
    active: bool = torch._C._are_functorch_transforms_active()
    return active


def batch_first(
    info: Any,
    in_dims: tuple[int | None, ...],
    inputs: tuple[Shaped[Tensor, ...] | None, ...],
) -> list[Shaped[Tensor, "seeds ..."] | None]:
    """Return the inputs of a `vmap` rule with the mapped dimension, of `info.batch_size`, first.

    An input that is not mapped (its entry in `in_dims` is None) is expanded without a copy; an
    input that is None stays None.
    """
    return [
        None
        if tensor is None
        else tensor.expand(info.batch_size, *tensor.shape)
        if dim is None
        else tensor.movedim(dim, 0)
        for tensor, dim in zip(inputs, in_dims, strict=True)
    ]
