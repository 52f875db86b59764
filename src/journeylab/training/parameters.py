"""The trainable parameters of one or several seeds as two matrices, and their optimiser.

A small step spends most of its time in calling operations. Clipping and AdamW over two matrices
take a few calls; over the dozens of parameters of a module they take hundreds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils import vector_to_parameters

from journeylab.config import TrainingSettings

NORM_EPSILON = 1e-6
"""Added to a gradient's norm before dividing by it, as in `torch.nn.utils.clip_grad_norm_`."""


class Stack(nn.Module):
    """The trainable parameters of several models of one shape: two matrices, one row per seed.

    `decayed` and `free` [seeds, numbers] hold the parameters with and without weight decay; every
    parameter is a view of some columns. Raises ValueError if the models differ in the names or
    shapes of their parameters.
    """

    def __init__(self, models: Sequence[nn.Module]) -> None:
        super().__init__()
        split = [split_decayed(model) for model in models]
        shapes = [[{n: p.shape for n, p in part.items()} for part in parts] for parts in split]
        if any(others != shapes[0] for others in shapes):
            raise ValueError("seeds are trained at once only if their models have the same shapes")
        self.shapes = shapes[0]
        self.decayed, self.free = (
            nn.Parameter(torch.stack([_flatten(part.values()) for part in parts]))
            for parts in zip(*split, strict=True)
        )

    @property
    def matrices(self) -> list[nn.Parameter]:
        """The matrices that are not empty."""
        return [matrix for matrix in (self.decayed, self.free) if matrix.numel()]

    def views(self) -> dict[str, Float[Tensor, "seeds ..."]]:
        """Return the parameters of all seeds by name."""
        named: dict[str, Tensor] = {}
        for matrix, shapes in zip((self.decayed, self.free), self.shapes, strict=True):
            parts = matrix.split([shape.numel() for shape in shapes.values()], 1)
            for (name, shape), part in zip(shapes.items(), parts, strict=True):
                named[name] = part.unflatten(1, tuple(shape)) if shape else part[:, 0]
        return named

    def attach(self, model: nn.Module) -> list[list[nn.Parameter]]:
        """Let the parameters of the model share the memory of the only row.

        Returns them in the order of `matrices` and of their columns.
        """
        parts = [list(part.values()) for part in split_decayed(model) if part]
        for matrix, part in zip(self.matrices, parts, strict=True):
            vector_to_parameters(matrix.detach()[0], part)
        return parts


def flat_gradients(
    loss: Float[Tensor, ""], parts: Sequence[Sequence[nn.Parameter]]
) -> list[Float[Tensor, "1 _"]]:
    """Return the gradients with respect to the parameters of each part, in one row.

    A parameter that the loss does not depend on has the gradient 0.
    """
    wanted = [parameter for part in parts for parameter in part]
    gradients = iter(torch.autograd.grad(loss, wanted, materialize_grads=True))
    return [torch.cat([next(gradients).flatten() for _ in part])[None] for part in parts]


def norms_of(gradients: Sequence[Float[Tensor, "seeds _"]]) -> Float[Tensor, " seeds"]:
    """Return the norm of every seed's gradient, over all matrices."""
    norms: Tensor = torch.stack([gradient.norm(dim=1) for gradient in gradients]).norm(dim=0)
    return norms


def split_decayed(
    model: nn.Module,
) -> tuple[dict[str, nn.Parameter], dict[str, nn.Parameter]]:
    """Return the trainable parameters with weight decay, and those without, by name.

    Two-dimensional parameters named `weight` decay: those of `Affine` and `nn.Linear`, but also of
    an `nn.Embedding`, which the models here do without. Parameters of other names do not, matrices
    included: embeddings, biases, norms and angle tables, whose scale has a meaning.
    """
    decayed: dict[str, nn.Parameter] = {}
    free: dict[str, nn.Parameter] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            in_affine_map = name.rpartition(".")[2] == "weight" and parameter.ndim == 2
            (decayed if in_affine_map else free)[name] = parameter
    return decayed, free


def build_optimizer(
    stack: Stack, settings: TrainingSettings, rate: float | Tensor = 0.0
) -> torch.optim.AdamW:
    """Return fused AdamW (β = 0.9, 0.999), with weight decay on `stack.decayed` only.

    If `rate` is a tensor, its value may change between the replays of a captured step.
    """
    decay = {id(stack.decayed): settings.weight_decay}
    return torch.optim.AdamW(
        [{"params": [m], "weight_decay": decay.get(id(m), 0.0)} for m in stack.matrices],
        lr=rate,
        fused=True,
        capturable=isinstance(rate, Tensor),
    )


def _flatten(parameters: Iterable[nn.Parameter]) -> Tensor:
    flat = [parameter.detach().flatten() for parameter in parameters]
    return torch.cat(flat) if flat else torch.empty(0)
