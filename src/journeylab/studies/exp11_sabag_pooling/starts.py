"""The training example of the document as a drawn start: one string, queries and a readout.

One string of n different symbols, k targets (symbol j mod n), logits (S H) W with
S = softmax(Q Hᵀ / τ). W is drawn from N(0, 1/d), embeddings H and queries Q from N(0, scale²).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from journeylab.studies.exp11_sabag_pooling.settings import D, Precision

SYMBOLS = 12

Row = dict[str, str | int | float]


class Start(NamedTuple):
    """Embeddings of the inputs, queries, readout and targets; ``*c`` stands for stacked starts."""

    h: Float[Tensor, "*c n d"]
    q: Float[Tensor, "*c k d"]
    w: Float[Tensor, "*c d V"]
    targets: Int[Tensor, " k"]

    def loss(self, temperature: float = 1.0) -> Float[Tensor, "*c"]:
        """Mean cross-entropy of the k outputs, in nats."""
        weights = torch.softmax(self.q @ self.h.mT / temperature, -1)
        logs = torch.log_softmax(weights @ self.h @ self.w, -1)
        return -logs[..., torch.arange(len(self.targets)), self.targets].mean(-1)


def draw_start(
    shape: tuple[int, int],
    scale: float,
    generator: Generator,
    precision: Precision = "float64",
    queries: float | None = None,
) -> Start:
    """Draw a start of shape (n, k) in float64, then round to ``precision``.

    Embeddings have standard deviation ``scale``, queries ``queries`` (default: ``scale``).
    """
    n, k = shape
    query_scale = scale if queries is None else queries
    h, q, w = (
        torch.randn(size, generator=generator, dtype=torch.float64) * spread
        for size, spread in (((n, D), scale), ((k, D), query_scale), ((D, SYMBOLS), D**-0.5))
    )
    dtype = torch.float32 if precision == "float32" else torch.float64
    h, q, w = (x.to(dtype).requires_grad_() for x in (h, q, w))
    return Start(h, q, w, torch.arange(k) % n)


def stack(starts: Sequence[Start]) -> Start:
    """Starts of one shape along a new first axis, as leaves of their own."""
    h = torch.stack([start.h for start in starts]).detach().requires_grad_()
    q = torch.stack([start.q for start in starts]).detach().requires_grad_()
    w = torch.stack([start.w for start in starts]).detach().requires_grad_()
    return Start(h, q, w, starts[0].targets)


def name_shape(shape: tuple[int, int]) -> str:
    """``3 → 2`` for (3, 2): three inputs and two outputs."""
    return f"{shape[0]} → {shape[1]}"


def norms(start: Start, temperature: float = 1.0) -> tuple[float, float]:
    """‖∂L/∂H‖ and ‖∂L/∂Q‖."""
    h, q = torch.autograd.grad(start.loss(temperature), (start.h, start.q))
    return float(h.norm()), float(q.norm())
