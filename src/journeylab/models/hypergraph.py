"""Attention within timelines: a token goes to one of K, and attends to what came before it there.

All forms take queries, keys and values `[rows, n, d]`, queries scaled, and a route `[rows, n, K]`,
how much of a token belongs to a timeline. With scores s_ij = ⟨q_i, k_j⟩ they return

    out_i = Σ_k P_ik · Σ_{j≤i} P_jk exp(s_ij) v_j / Σ_{j≤i} P_jk exp(s_ij).

| form | routes | scores computed | derivative with respect to P |
| --- | --- | --- | --- |
| `attend_softly` | any | n² | of every entry |
| `attend_masked` | one-hot | n² | of entries that are one |
| `attend_sparsely` | one-hot | Σ_k n_k²: n_k tokens are in timeline k | of entries that are one |

At a one-hot route the three agree in value and in the derivatives with respect to q, k and v. The
derivative with respect to an entry that is zero asks what a token would find, and would be, in a
timeline where it is not: n² scores again, and weights exp(s_ij)/Σ that no softmax bounds. Blocks
cannot have it. A one-hot with a gradient path, a straight-through one for example, multiplies what
it lets through, and hands on what its ones get; its zeros get nothing.

Source: Gradient optimization for a HyperGraph router, sections 1 to 4 (one-hots that multiply, the
mixture over timelines) and its table of methods (block-diagonal masks). A gate that is one forward
and passes a gradient: Fedus, Zoph and Shazeer, Switch Transformers, 2022, section 2.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import one_hot

from journeylab.models.attention import causal_mask, mask_scores, weigh
from journeylab.models.transformer import Affine

Form = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
"""q, k, v and a route → what every token gathers."""

TILE = 16
"""Blocks whose lengths round up to the same multiple of this are attended to at once."""
CLOSE = 1e-3
"""How far from one-hot rounding may bring a route."""


def attend_softly(
    q: Float[Tensor, "rows n d"],
    k: Float[Tensor, "rows n d"],
    v: Float[Tensor, "rows n e"],
    route: Float[Tensor, "rows n timelines"],
) -> Float[Tensor, "rows n e"]:
    """Return Σ_k P_ik · Σ_{j≤i} P_jk exp(s_ij) v_j / Σ_{j≤i} P_jk exp(s_ij), for any route P ≥ 0.

    A timeline that nobody has been in yet holds zeros; so does one whose scores are all some 88
    below the token's largest (float32). Timelines share the scores, and are columns of one product.
    """
    n, e = v.shape[-2:]
    scores = q @ k.mT + mask_scores(causal_mask(n, q.device), "softmax", q.dtype)
    weights = (scores - scores.detach().amax(-1, keepdim=True)).exp()
    held = torch.cat((v, torch.ones_like(v[..., :1])), -1)
    shared = route[..., None] * held[..., None, :]
    gathered = (weights @ shared.flatten(-2)).unflatten(-1, (-1, e + 1))
    total = gathered[..., e:].clamp_min(torch.finfo(q.dtype).tiny)
    mixed: Tensor = (route[..., None] * gathered[..., :e] / total).sum(-2)
    return mixed


def attend_masked(
    q: Float[Tensor, "rows n d"],
    k: Float[Tensor, "rows n d"],
    v: Float[Tensor, "rows n e"],
    route: Float[Tensor, "rows n timelines"],
) -> Float[Tensor, "rows n e"]:
    """Return the same for one-hot routes, from all scores: the twin of `attend_sparsely`.

    With z_i the timeline that is taken and g_i = P_{i,z_i} = 1, which is what passes gradients on,

        out_i = g_i Σ_j a_ij v_j,   a_ij ∝ g_j exp(s_ij) where j ≤ i and z_j = z_i.

    Works under `torch.func.vmap`, and so cannot refuse a route that is not one-hot.
    """
    taken, gates, q, k = _enter(q, k, route)
    mask = causal_mask(q.shape[-2], q.device) & (taken[..., :, None] == taken[..., None, :])
    weights = weigh(q @ k.mT, mask_scores(mask, "softmax", q.dtype), "softmax")
    return gates * (weights @ v)


def attend_sparsely(
    q: Float[Tensor, "rows n d"],
    k: Float[Tensor, "rows n d"],
    v: Float[Tensor, "rows n e"],
    route: Float[Tensor, "rows n timelines"],
) -> Float[Tensor, "rows n e"]:
    """Return what `attend_masked` returns, from Σ_k n_k² scores: sort, attend in blocks, unsort.

    Blocks of like lengths are attended to at once, filled up to a multiple of TILE; what fills a
    block comes last in it, so that causality hides it. Raises ValueError for a route that is not
    one-hot.
    """
    taken, gates, q, k = _enter(q, k, route)
    if bool(((route.detach() - one_hot(taken, route.shape[-1])).abs() > CLOSE).any()):
        raise ValueError("a route is not one-hot: attend_softly takes soft ones")
    widths = (q.shape[-1], k.shape[-1], v.shape[-1])
    layout = _sort(taken, route.shape[-1])
    filled = torch.cat((q, k, v), -1).flatten(0, 1).index_select(0, layout.tokens)
    found = []
    for blocks, part in zip(layout.blocks, filled.split(layout.sizes), strict=True):
        own_q, own_k, own_v = part.unflatten(0, (blocks, -1)).split(widths, -1)
        mask = mask_scores(causal_mask(own_q.shape[1], q.device), "softmax", q.dtype)
        found.append((weigh(own_q @ own_k.mT, mask, "softmax") @ own_v).flatten(0, 1))
    return gates * torch.cat(found).index_select(0, layout.places).view_as(v)


def pair_share(route: Float[Tensor, "*rows n timelines"]) -> Float[Tensor, "*rows"]:
    """Return Σ_k n_k²/n² of the timelines that are taken: 1/K where all are of one size, 1 in one.

    It is the share of all pairs of tokens that attention within timelines scores.
    """
    taken = one_hot(route.argmax(-1), route.shape[-1]).to(route.dtype)
    return taken.mean(-2).square().sum(-1)


class HyperGraphAttention(nn.Module):
    """H heads of attention, each of which sends every token to one of K timelines.

    x [rows, n, width] → logits of routes [rows, H, n, K], x W_R + b; an estimator makes a route of
    them; head h attends as `form` says, with q, k, v of width d/H and scores divided by √(d/H); the
    output is [head_1 … head_H] W_O. Weights are drawn from N(0, 1/d), from `generator` only. Takes
    no positions: order is seen by causality only. Raises ValueError for a width that the heads do
    not divide, and for less than one timeline.

    ```
    attention = HyperGraphAttention(32, 4, 3, generator=torch.Generator())
    logits = attention.logits(x)
    mixed = attention(x, one_hot(logits.argmax(-1)).to(x.dtype))
    ```
    """

    def __init__(
        self, width: int, heads: int, timelines: int, *, generator: torch.Generator
    ) -> None:
        super().__init__()
        if heads < 1 or width % heads:
            raise ValueError(f"width {width} is not a multiple of {heads} heads")
        if timelines < 1:
            raise ValueError(f"{timelines} timelines: a token needs one to go to")
        self.heads, self.timelines = heads, timelines
        self.project = Affine(width, 3 * width, width**-0.5, generator)
        self.router = Affine(width, heads * timelines, width**-0.5, generator)
        self.output = Affine(width, width, width**-0.5, generator)

    def logits(self, x: Float[Tensor, "rows n width"]) -> Float[Tensor, "rows heads n timelines"]:
        """Return how much every head would have every token in every timeline."""
        asked: Tensor = self.router(x).unflatten(-1, (self.heads, self.timelines))
        return asked.transpose(1, 2)

    def forward(
        self,
        x: Float[Tensor, "rows n width"],
        route: Float[Tensor, "rows heads n timelines"],
        form: Form = attend_sparsely,
    ) -> Float[Tensor, "rows n width"]:
        """Return what every token gathers along its route."""
        q, k, v = (
            each.unflatten(-1, (self.heads, -1)).transpose(1, 2).flatten(0, 1)
            for each in self.project(x).chunk(3, -1)
        )
        mixed = form(q * q.shape[-1] ** -0.5, k, v, route.flatten(0, 1))
        heads: Tensor = mixed.unflatten(0, (-1, self.heads))
        out: Tensor = self.output(heads.transpose(1, 2).flatten(-2))
        return out


def _enter(
    q: Float[Tensor, "rows n d"],
    k: Float[Tensor, "rows n d"],
    route: Float[Tensor, "rows n timelines"],
) -> tuple[
    Int[Tensor, "rows n"],
    Float[Tensor, "rows n 1"],
    Float[Tensor, "rows n d+1"],
    Float[Tensor, "rows n d+1"],
]:
    """Return the timelines that are taken, gates, and q and k with ⟨q_i, k_j⟩ = s_ij + log g_j."""
    taken = route.detach().argmax(-1, keepdim=True)
    gates = route.gather(-1, taken)
    q = torch.cat((q, torch.ones_like(gates)), -1)
    return taken.squeeze(-1), gates, q, torch.cat((k, gates.log()), -1)


class _Layout(NamedTuple):
    """Tokens of all rows in blocks of one timeline of one row, blocks of one length together."""

    tokens: Int[Tensor, " filled"]
    """Which token stands at every place; token 0 fills what is left of a block."""
    places: Int[Tensor, " tokens"]
    """Where every token stands."""
    blocks: list[int]
    """How many blocks there are of each filled length …"""
    sizes: list[int]
    """… and how many places they take."""


def _sort(taken: Int[Tensor, "rows n"], timelines: int) -> _Layout:
    """Sort tokens by row and timeline, in their order within, and fill blocks up to tiles."""
    device, count = taken.device, taken.numel()
    rows = torch.arange(len(taken), device=device)[:, None]
    of_block = (rows * timelines + taken).flatten()
    lengths = of_block.bincount(minlength=len(taken) * timelines)
    filled = (lengths + TILE - 1) // TILE * TILE
    by_length = filled.argsort()
    begins = torch.empty_like(filled)
    begins[by_length] = filled[by_length].cumsum(0) - filled[by_length]
    order = of_block.argsort(stable=True)
    before = lengths.cumsum(0) - lengths
    shift = (begins - before).index_select(0, of_block[order])
    places = torch.empty_like(order)
    places[order] = torch.arange(count, device=device) + shift
    tokens = torch.zeros(int(filled.sum()), dtype=torch.long, device=device)
    tokens[places] = torch.arange(count, device=device)
    each, blocks = filled[filled > 0].unique(return_counts=True)
    return _Layout(tokens, places, blocks.tolist(), (each * blocks).tolist())
