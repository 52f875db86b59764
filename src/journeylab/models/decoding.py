"""Decoding with baked keys: rotated keys and values are computed once and cached (thm:baked-key).

The operators of a toral model commute, so R_{i←j} = R_i R_j⁻¹, and the score ⟨R_i q_i, R_j k_j⟩ =
⟨R_{i←j} q_i, k_j⟩ depends on position j only through the baked key R_j k_j. Later tokens change
neither a baked key nor a baked value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import embedding

from journeylab.models.attention import causal_mask, mask_scores, weigh
from journeylab.models.transformer import Group, Rows, Transformer, TransformerBlock

Angles = Callable[
    [Int[Tensor, "rows length"]],
    Float[Tensor, "#rows length planes"],
]
"""Angles of whole rows of tokens, in radians; appending a token must not change earlier angles."""


class Cache(NamedTuple):
    """Baked keys R_j k_j and values R_j v_j of every layer (v_j for models without transport)."""

    keys: tuple[Float[Tensor, "prompts length width"], ...]
    values: tuple[Float[Tensor, "prompts length width"], ...]


def bake(
    model: Transformer, rows: Rows, cache: Cache | None = None
) -> tuple[Float[Tensor, "rows length width"], Cache]:
    """Compute the hidden states of rows that continue `cache`; return them and the longer cache.

    Attention is causal. `rows.angles` are those of the new positions. With n rows per cached
    prompt, row r continues prompt r // n. Raises ValueError if `rows.mask` is not None, or if the
    number of rows is not a multiple of the number of cached prompts.
    """
    if rows.mask is not None:
        raise ValueError("decoding is causal and takes no mask; set rows.mask to None")
    if cache is not None and len(rows.tokens) % len(cache.keys[0]):
        raise ValueError(
            f"{len(rows.tokens)} rows is not a multiple of {len(cache.keys[0])} cached prompts"
        )
    causal = causal_mask(rows.tokens.shape[1], rows.tokens.device)
    group = model.prepare(rows._replace(mask=causal))
    x = embedding(rows.tokens, model.embedding)
    keys, values = [], []
    for layer, block in enumerate(cast(Sequence[TransformerBlock], model.blocks)):
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

    `cached=False` reads the whole row again for every token: the slow reference for caching.
    """
    tokens = prompts
    cache: Cache | None = None
    with torch.no_grad():
        for _ in range(steps):
            cached_length = 0 if cache is None else cache.keys[0].shape[1]
            new = Rows(tokens[:, cached_length:], angles(tokens)[:, cached_length:])
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
    # All rows that continue a prompt share its cached keys, which are not copied per row.
    together = q.reshape(prompts, -1, q.shape[-1])
    before = (together @ past_keys.transpose(-2, -1)).view(len(q), q.shape[1], past)
    allowed = torch.ones(1, q.shape[1], past, dtype=torch.bool, device=q.device)
    past_mask = mask_scores(allowed, model.weighting, q.dtype)
    whole = None if mask is None else torch.cat((past_mask, mask), -1)
    weights = weigh(torch.cat((before, scores), -1), whole, model.weighting)
    from_past = weights[..., :past].reshape(prompts, -1, past) @ past_values
    return from_past.view(q.shape) + weights[..., past:] @ v


def _append(past: Tensor, new: Tensor) -> Tensor:
    return torch.cat((past.repeat_interleave(len(new) // len(past), 0), new), 1)
