"""Attention within timelines: a token joins one of K timelines and attends to its earlier tokens.

All forms take scaled queries, keys and values `[rows, n, d]`, and a route `[rows, n, K]`: the share
P_ik of token i that belongs to timeline k. With scores s_ij = ⟨q_i, k_j⟩ they return

    out_i = Σ_k P_ik · Σ_{j≤i} P_jk exp(s_ij) v_j / Σ_{j≤i} P_jk exp(s_ij).

| form | routes | scores computed | derivative with respect to P |
| --- | --- | --- | --- |
| `attend_softly` | any | n² | of every entry |
| `attend_masked` | one-hot | n² | of entries equal to 1 |
| `attend_sparsely` | one-hot | Σ_k n_k²: n_k tokens are in timeline k | of entries equal to 1 |

At a one-hot route the three agree in their values and in their derivatives with respect to q, k
and v. They differ in the derivative with respect to an entry of P that is 0. It needs the scores of
a token with the tokens of other timelines, hence all n² scores, and its weights exp(s_ij)/Σ are not
bounded by a softmax. Only `attend_softly` computes it. The other two forms pass a gradient to the
entries equal to 1, which is what a straight-through estimator needs.

Source: Gradient optimization for a HyperGraph router, sections 1 to 4 (one-hots that multiply, the
mixture over timelines) and its table of methods (block-diagonal masks). A gate that is 1 in the
forward pass and passes a gradient: Fedus, Zoph and Shazeer, Switch Transformers, 2022, section 2.1.
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

RoutedAttention = Callable[
    [
        Float[Tensor, "rows n d"],
        Float[Tensor, "rows n d"],
        Float[Tensor, "rows n e"],
        Float[Tensor, "rows n timelines"],
    ],
    Float[Tensor, "rows n e"],
]
"""Maps q, k, v and a route to the output of attention: one of the three forms."""

TILE = 16
"""Block lengths are rounded up to a multiple of this; equally long blocks form one product."""
CLOSE = 1e-3
"""Largest distance of a route's entry from 0 or 1 that counts as rounding."""


def attend_softly(
    q: Float[Tensor, "rows n d"],
    k: Float[Tensor, "rows n d"],
    v: Float[Tensor, "rows n e"],
    route: Float[Tensor, "rows n timelines"],
) -> Float[Tensor, "rows n e"]:
    """Return Σ_k P_ik · Σ_{j≤i} P_jk exp(s_ij) v_j / Σ_{j≤i} P_jk exp(s_ij), for any route P ≥ 0.

    A timeline without tokens so far contributes 0. So does, in float32, a timeline whose scores are
    all more than about 88 below the largest score of the token, because exp underflows.
    """
    n, e = v.shape[-2:]
    scores = q @ k.mT + mask_scores(causal_mask(n, q.device), "softmax", q.dtype)
    weights = (scores - scores.detach().amax(-1, keepdim=True)).exp()
    # The column of ones sums the denominators; all timelines are columns of one product.
    with_ones = torch.cat((v, torch.ones_like(v[..., :1])), -1)
    shared = route[..., None] * with_ones[..., None, :]
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
    """Return the attention of one-hot routes from all n² scores, as a reference.

    With z_i the timeline of token i and the gate g_i = P_{i,z_i} = 1, which passes the gradient on,

        out_i = g_i Σ_j a_ij v_j,   a_ij ∝ g_j exp(s_ij) where j ≤ i and z_j = z_i.

    Works under `torch.func.vmap`, and therefore cannot check that a route is one-hot.
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
    """Return the same as `attend_masked` from Σ_k n_k² scores: sort, attend in blocks, unsort.

    A block holds the tokens of one timeline of one row. It is padded to a multiple of TILE, and all
    blocks of one length are one product. Padding comes last, so the causal mask hides it. Raises
    ValueError for a route that is not one-hot.
    """
    taken, gates, q, k = _enter(q, k, route)
    if bool(((route.detach() - one_hot(taken, route.shape[-1])).abs() > CLOSE).any()):
        raise ValueError("the route is not one-hot; attend_softly takes soft routes")
    widths = (q.shape[-1], k.shape[-1], v.shape[-1])
    layout = _sort(taken, route.shape[-1])
    padded = torch.cat((q, k, v), -1).flatten(0, 1).index_select(0, layout.tokens)
    outputs = []
    for blocks, part in zip(layout.blocks, padded.split(layout.sizes), strict=True):
        block_q, block_k, block_v = part.unflatten(0, (blocks, -1)).split(widths, -1)
        mask = mask_scores(causal_mask(block_q.shape[1], q.device), "softmax", q.dtype)
        outputs.append((weigh(block_q @ block_k.mT, mask, "softmax") @ block_v).flatten(0, 1))
    return gates * torch.cat(outputs).index_select(0, layout.slots).view_as(v)


def pair_share(route: Float[Tensor, "*rows n timelines"]) -> Float[Tensor, "*rows"]:
    """Return Σ_k n_k²/n², the share of all pairs of tokens that attention in timelines scores.

    n_k tokens have their largest route entry at timeline k. The share is 1/K if all timelines have
    the same size, and 1 if all tokens are in one timeline.
    """
    taken = one_hot(route.argmax(-1), route.shape[-1]).to(route.dtype)
    return taken.mean(-2).square().sum(-1)


class HyperGraphAttention(nn.Module):
    """H heads of attention, each of which routes every token to one of K timelines.

    `logits` maps x [rows, n, width] to logits [rows, H, n, K], x W_R + b, from which an estimator
    makes a route. Head h attends by `form`, with q, k, v of width d/H and scores divided by √(d/H);
    the output is [head_1 … head_H] W_O. Weights are drawn from N(0, 1/d), from `generator` only.
    There are no positions: order enters through the causal mask alone. Raises ValueError if the
    width is not a multiple of `heads`, or if there are no timelines.

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
            raise ValueError(f"routing needs at least one timeline, got {timelines}")
        self.heads, self.timelines = heads, timelines
        self.project = Affine(width, 3 * width, width**-0.5, generator)
        self.router = Affine(width, heads * timelines, width**-0.5, generator)
        self.output = Affine(width, width, width**-0.5, generator)

    def logits(self, x: Float[Tensor, "rows n width"]) -> Float[Tensor, "rows heads n timelines"]:
        """Return the logits x W_R + b of the timelines, for every head and token."""
        logits: Tensor = self.router(x).unflatten(-1, (self.heads, self.timelines))
        return logits.transpose(1, 2)

    def forward(
        self,
        x: Float[Tensor, "rows n width"],
        route: Float[Tensor, "rows heads n timelines"],
        form: RoutedAttention = attend_sparsely,
    ) -> Float[Tensor, "rows n width"]:
        """Return the attention of every token within its timelines, for the given routes."""
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2).flatten(0, 1)
            for part in self.project(x).chunk(3, -1)
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
    """Return timelines z, gates g, and q and k extended so that ⟨q_i, k_j⟩ = s_ij + log g_j."""
    taken = route.detach().argmax(-1, keepdim=True)
    gates = route.gather(-1, taken)
    q = torch.cat((q, torch.ones_like(gates)), -1)
    return taken.squeeze(-1), gates, q, torch.cat((k, gates.log()), -1)


class _Layout(NamedTuple):
    """The tokens of all rows, sorted into padded blocks; blocks of one length are contiguous."""

    tokens: Int[Tensor, " slots"]
    """Index of the token in every slot; padding has token 0."""
    slots: Int[Tensor, " tokens"]
    """Index of the slot of every token."""
    blocks: list[int]
    """Number of blocks of each padded length."""
    sizes: list[int]
    """Number of slots of all blocks of each padded length."""


def _sort(taken: Int[Tensor, "rows n"], timelines: int) -> _Layout:
    """Sort tokens by row and timeline, keep their order within, and pad blocks to tiles."""
    device, count = taken.device, taken.numel()
    rows = torch.arange(len(taken), device=device)[:, None]
    block_of_token = (rows * timelines + taken).flatten()
    lengths = block_of_token.bincount(minlength=len(taken) * timelines)
    padded = (lengths + TILE - 1) // TILE * TILE
    by_length = padded.argsort()
    starts = torch.empty_like(padded)
    starts[by_length] = padded[by_length].cumsum(0) - padded[by_length]
    # A stable sort keeps tokens of a block in their order, on which the causal mask relies.
    sorted_tokens = block_of_token.argsort(stable=True)
    before = lengths.cumsum(0) - lengths
    shift = (starts - before).index_select(0, block_of_token[sorted_tokens])
    slots = torch.empty_like(sorted_tokens)
    slots[sorted_tokens] = torch.arange(count, device=device) + shift
    tokens = torch.zeros(int(padded.sum()), dtype=torch.long, device=device)
    tokens[slots] = torch.arange(count, device=device)
    block_lengths, blocks = padded[padded > 0].unique(return_counts=True)
    return _Layout(tokens, slots, blocks.tolist(), (block_lengths * blocks).tolist())
