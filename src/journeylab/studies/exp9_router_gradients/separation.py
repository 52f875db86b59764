"""Stream separation: a router sends tokens to timelines; a timeline averages its past values.

    type     c_i         uniform on 1 … K, hidden
    input    x_i         one-hot(c_i) + 0.5·N(0, I)
    value    v_i         N(0, 1)
    target   y_i         mean of v_j over j ≤ i with c_j = c_i
    output   out_i       Σ_k P_ik · Σ_{j≤i} P_jk v_j / Σ_{j≤i} P_jk

For one-hot P the output is uniform causal attention within the token's timeline. Routing by the
true types gives the targets, whatever the names of the timelines. An empty timeline holds 0.
"""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor
from torch.nn.functional import one_hot

from journeylab.models.estimators import harden
from journeylab.studies.exp9_router_gradients.settings import SPREAD, TYPES


class Sequences(NamedTuple):
    """Sequences of N tokens."""

    types: Int[Tensor, "rows n"]
    inputs: Float[Tensor, "rows n K"]
    values: Float[Tensor, "rows n"]
    targets: Float[Tensor, "rows n"]

    def split(self, rows: int) -> list[Sequences]:
        """Return parts of that many rows."""
        parts = (each.split(rows) for each in self)
        return [Sequences(*part) for part in zip(*parts, strict=True)]


def draw_sequences(
    rows: int, n: int, generator: Generator, dtype: torch.dtype = torch.float32
) -> Sequences:
    """Draw sequences of n tokens in double precision, then round to `dtype`."""
    types = torch.randint(TYPES, (rows, n), generator=generator)
    known = one_hot(types, TYPES).double()
    noise = torch.randn(rows, n, TYPES, generator=generator, dtype=torch.float64)
    values = torch.randn(rows, n, generator=generator, dtype=torch.float64)
    drawn = (known + SPREAD * noise, values, attend(known, values))
    return Sequences(types, *(each.to(dtype) for each in drawn))


def attend(
    route: Float[Tensor, "*rest n K"], values: Float[Tensor, "*rows n"]
) -> Float[Tensor, "*rest n"]:
    """Return out_i for any route P, hard or soft."""
    total = (route * values[..., None]).cumsum(-2)
    weight = route.cumsum(-2).clamp_min(torch.finfo(route.dtype).tiny)
    return (route * (total / weight)).sum(-1)


def weights(route: Float[Tensor, "*rest n K"]) -> Float[Tensor, "*rest n n"]:
    """Return the attention weights: how much of v_j is in out_i."""
    shared = route / route.cumsum(-2).clamp_min(torch.finfo(route.dtype).tiny)
    return (shared @ route.mT).tril()


def losses(route: Float[Tensor, "*rest n K"], data: Sequences) -> Float[Tensor, "*rest"]:
    """Return the mean squared error of every sequence."""
    return (attend(route, data.values) - data.targets).square().mean(-1)


def oracle(data: Sequences) -> Float[Tensor, "rows n K"]:
    """Route to the nearest type, the best possible guess of the type from the input."""
    return harden(data.inputs)


def matched_accuracy(route: Float[Tensor, "rows n K"], types: Int[Tensor, "rows n"]) -> float:
    """Share of tokens in the timeline of their type, under the best of all K! namings."""
    counts = torch.einsum("rnk,rnc->kc", route, one_hot(types, TYPES).to(route.dtype))
    named = [counts[range(TYPES), names].sum() for names in permutations(range(TYPES))]
    return float(torch.stack(named).max() / types.numel())
