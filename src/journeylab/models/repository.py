"""Attention to a repository: rows of text attend to stored keys and values of entries.

An entry is a triple in its slots, or a sentence. Each entry is read separately, and every layer's
baked keys R_j k_j and values of its tokens are stored once. In every layer, a row of text attends
to its own past and to all stored tokens,

    softmax_j ⟨R_i q_i, R_j k_j⟩/√d over the tokens j of all entries and those of the row that its
    mask allows (with `causal_mask`, j ≤ i); or softplus, as the model has it.

The operators commute, so a stored key serves every query (thm:baked-key); the order of the entries
does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import embedding

from journeylab.models.attention import mask_scores, weigh
from journeylab.models.transformer import Group, Rows, Transformer, TransformerBlock


class Repository(NamedTuple):
    """Baked keys and values of every layer, for the tokens of all entries, concatenated.

    ``present`` is False for padding; None means that there is no padding.
    """

    keys: tuple[Float[Tensor, "stored width"], ...]
    values: tuple[Float[Tensor, "stored width"], ...]
    present: Bool[Tensor, " stored"] | None = None

    @property
    def numbers(self) -> int:
        """How many numbers the repository stores."""
        return sum(part.numel() for part in (*self.keys, *self.values))


def store(
    model: Transformer,
    entries: Rows,
    dropout: Float[Tensor, "sites tokens width"] | None = None,
    present: Bool[Tensor, "entries length"] | None = None,
) -> Repository:
    """Return the repository of entries, each of which is read separately.

    ``dropout`` holds the factors at every site where dropout acts, in the order of
    `Transformer.draw`; ``present`` is False for padding, to which `read_beside` then does not
    attend. Within an entry only ``entries.mask`` hides padding.
    """
    group = model.prepare(entries)
    x = _enter(model, entries, dropout)
    keys: list[Tensor] = []
    values: list[Tensor] = []
    for layer, block in enumerate(cast(Sequence[TransformerBlock], model.blocks)):
        q, k, v = block.read(block.project(block.attention_norm(x)), group)
        keys.append(k.flatten(0, 1))
        values.append(v.flatten(0, 1))
        scores = q @ k.transpose(-2, -1)
        mixed = weigh(scores, group.mask, model.weighting) @ v
        x = _leave(block, x, mixed, group, dropout, layer)
    return Repository(tuple(keys), tuple(values), None if present is None else present.flatten())


def read_beside(
    model: Transformer,
    rows: Rows,
    repository: Repository,
    dropout: Float[Tensor, "sites tokens width"] | None = None,
) -> Float[Tensor, "rows length width"]:
    """Return the hidden states of rows that attend to themselves and to a repository.

    ``dropout`` is as in `store`; `Transformer.predict` turns hidden states into logits.
    """
    group = model.prepare(rows)
    x = _enter(model, rows, dropout)
    mask = _may_attend(model, rows, repository)
    for layer, block in enumerate(cast(Sequence[TransformerBlock], model.blocks)):
        q, k, v = block.read(block.project(block.attention_norm(x)), group)
        keys, values = repository.keys[layer], repository.values[layer]
        scores = torch.cat((q @ keys.T, q @ k.transpose(-2, -1)), -1)
        weights = weigh(scores, mask, model.weighting)
        mixed = weights[..., : len(keys)] @ values + weights[..., len(keys) :] @ v
        x = _leave(block, x, mixed, group, dropout, layer)
    return x


def _may_attend(model: Transformer, rows: Rows, repository: Repository) -> Tensor:
    """Return the mask over stored tokens, then over the row's own, as `weigh` takes it."""
    length, stored = rows.tokens.shape[1], len(repository.keys[0])
    device = rows.tokens.device
    present = repository.present
    if present is None:
        present = torch.ones(stored, dtype=torch.bool, device=device)
    own = rows.mask
    if own is None:
        own = torch.ones(1, length, length, dtype=torch.bool, device=device)
    whole = torch.cat((present.expand(len(own), length, -1), own.expand(-1, length, -1)), -1)
    return mask_scores(whole, model.weighting, model.embedding.dtype)


def _enter(model: Transformer, rows: Rows, dropout: Tensor | None) -> Tensor:
    x = embedding(rows.tokens, model.embedding)
    return x if dropout is None else x * dropout[0].view_as(x)


def _leave(
    block: TransformerBlock,
    x: Tensor,
    mixed: Tensor,
    group: Group,
    dropout: Tensor | None,
    layer: int,
) -> Tensor:
    """Apply the rest of a block to the output of its attention."""
    first, second = (None, None) if dropout is None else dropout[1 + 2 * layer : 3 + 2 * layer]
    out = block.output(block.arrive(mixed, group))
    x = x + (out if first is None else out * first.view_as(out))
    fed = block.feed(x)
    return x + (fed if second is None else fed * second.view_as(fed))
