"""Decoding with baked keys: turned keys and values are computed once and kept (thm:baked-key).

The operators of a toral model commute, so R_{i←j} = R_i R_j⁻¹ and the score ⟨R_i q_i, R_j k_j⟩
needs of position j only the baked key R_j k_j. It does not change when the sequence grows: later
tokens neither turn it nor its baked value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import embedding

from journeylab.models.attention import causal_mask, mask_scores, weigh
from journeylab.models.transformer import Block, Group, Rows, Transformer

Angles = Callable[[Tensor], Tensor]
"""Angles [rows or 1, length, planes] of whole rows of tokens; those of a prefix must not change."""


class Cache(NamedTuple):
    """Baked keys and values of every layer, each [prompts, length, width]."""

    keys: tuple[Float[Tensor, "prompts length width"], ...]
    values: tuple[Float[Tensor, "prompts length width"], ...]


def bake(
    model: Transformer, rows: Rows, cache: Cache | None = None
) -> tuple[Float[Tensor, "rows length width"], Cache]:
    """Read rows causally after what `cache` holds; return hidden states and the longer cache.

    `rows.angles` are those of the new positions; `rows.mask` must be None. With n rows per cached
    prompt, row r continues prompt r // n. Raises ValueError if the rows do not divide so.
    """
    if rows.mask is not None:
        raise ValueError("decoding is causal: its rows take no mask")
    if cache is not None and len(rows.tokens) % len(cache.keys[0]):
        raise ValueError(
            f"{len(rows.tokens)} rows do not continue {len(cache.keys[0])} cached prompts"
        )
    own = causal_mask(rows.tokens.shape[1], rows.tokens.device)
    group = model.prepare(rows._replace(mask=own))
    x = embedding(rows.tokens, model.embedding)
    keys, values = [], []
    for layer, block in enumerate(cast(Sequence[Block], model.blocks)):
        q, k, v = block.read(block.project(block.attention_norm(x)), group)
        cached = None if cache is None else (cache.keys[layer], cache.values[layer])
        mixed = _attend(q, k, v, cached, group, model)
        x = x + block.output(block.arrive(mixed, group))
        x = x + block.feed(x)
        keys.append(k if cached is None else _append(cached[0], k))
        values.append(v if cached is None else _append(cached[1], v))
    return x, Cache(tuple(keys), tuple(values))


def decode_greedily(
    model: Transformer,
    prompts: Int[Tensor, "rows length"],
    steps: int,
    angles: Angles,
    *,
    cached: bool = True,
) -> Int[Tensor, "rows steps"]:
    """Append the most probable token, `steps` times; return the appended tokens.

    `cached=False` reads the whole row again for every token: the twin that caching must equal.
    """
    tokens = prompts
    cache: Cache | None = None
    with torch.no_grad():
        for _ in range(steps):
            known = 0 if cache is None else cache.keys[0].shape[1]
            new = Rows(tokens[:, known:], angles(tokens)[:, known:])
            hidden, longer = bake(model, new, cache)
            cache = longer if cached else None
            following = model.predict(hidden[:, -1]).argmax(-1, keepdim=True)
            tokens = torch.cat((tokens, following), 1)
    return tokens[:, prompts.shape[1] :]


def _attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cached: tuple[Tensor, Tensor] | None,
    group: Group,
    model: Transformer,
) -> Tensor:
    scores, mask = q @ k.transpose(-2, -1), group.mask
    if cached is None:
        return weigh(scores, mask, model.weighting) @ v
    past_keys, past_values = cached
    prompts, past = past_keys.shape[:2]
    together = q.reshape(prompts, -1, q.shape[-1])
    before = (together @ past_keys.transpose(-2, -1)).view(len(q), q.shape[1], past)
    seen = torch.ones(1, q.shape[1], past, dtype=torch.bool, device=q.device)
    always = mask_scores(seen, model.weighting, q.dtype)
    whole = None if mask is None else torch.cat((always, mask), -1)
    weights = weigh(torch.cat((before, scores), -1), whole, model.weighting)
    from_past = weights[..., :past].reshape(prompts, -1, past) @ past_values
    return from_past.view(q.shape) + weights[..., past:] @ v


def _append(past: Tensor, new: Tensor) -> Tensor:
    return torch.cat((past.repeat_interleave(len(new) // len(past), 0), new), 1)
