"""Attention to a repository: text that looks up baked keys and values of entries that it holds.

Every entry – a triple in its slots, or a sentence – is read by itself. What each layer computes of
its tokens, the turned keys R_j k_j and the values, is stored once. A row of text then attends in
every layer to its own past and to all that is stored,

    softmax_j ⟨R_i q_i, R_j k_j⟩ over the tokens j of all entries and those j ≤ i of the row.

Operators commute, so a stored key serves every query (thm:baked-key), and entries have no order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import embedding

from journeylab.models.attention import mask_scores, weigh
from journeylab.models.transformer import Block, Group, Rows, Transformer


class Repository(NamedTuple):
    """Baked keys and values of every layer; all entries' tokens end to end.

    ``present`` is where a token is no filling; None where all are tokens.
    """

    keys: tuple[Float[Tensor, "stored width"], ...]
    values: tuple[Float[Tensor, "stored width"], ...]
    present: Bool[Tensor, " stored"] | None = None

    @property
    def numbers(self) -> int:
        """How many numbers are stored."""
        return sum(part.numel() for part in (*self.keys, *self.values))


def store(
    model: Transformer,
    entries: Rows,
    dropout: Float[Tensor, "sites tokens width"] | None = None,
    present: Bool[Tensor, "entries length"] | None = None,
) -> Repository:
    """Read every entry by itself; keep its keys and values.

    ``dropout`` has the factors of the embedding and of both branches of every block.
    """
    group = model.prepare(entries)
    x = _enter(model, entries, dropout)
    keys: list[Tensor] = []
    values: list[Tensor] = []
    for layer, block in enumerate(cast(Sequence[Block], model.blocks)):
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
    """Hidden states of rows that attend to a repository as well as to themselves."""
    group = model.prepare(rows)
    x = _enter(model, rows, dropout)
    mask = _may_attend(model, rows, repository)
    for layer, block in enumerate(cast(Sequence[Block], model.blocks)):
        q, k, v = block.read(block.project(block.attention_norm(x)), group)
        keys, values = repository.keys[layer], repository.values[layer]
        scores = torch.cat((q @ keys.T, q @ k.transpose(-2, -1)), -1)
        weights = weigh(scores, mask, model.weighting)
        mixed = weights[..., : len(keys)] @ values + weights[..., len(keys) :] @ v
        x = _leave(block, x, mixed, group, dropout, layer)
    return x


def _may_attend(model: Transformer, rows: Rows, repository: Repository) -> Tensor:
    """The mask over what is stored and over the row itself, as `weigh` has it."""
    length, stored = rows.tokens.shape[1], len(repository.keys[0])
    device = rows.tokens.device
    seen = repository.present
    if seen is None:
        seen = torch.ones(stored, dtype=torch.bool, device=device)
    own = rows.mask
    if own is None:
        own = torch.ones(1, length, length, dtype=torch.bool, device=device)
    whole = torch.cat((seen.expand(len(own), length, -1), own.expand(-1, length, -1)), -1)
    return mask_scores(whole, model.weighting, model.embedding.dtype)


def _enter(model: Transformer, rows: Rows, dropout: Tensor | None) -> Tensor:
    x = embedding(rows.tokens, model.embedding)
    return x if dropout is None else x * dropout[0].view_as(x)


def _leave(
    block: Block, x: Tensor, mixed: Tensor, group: Group, dropout: Tensor | None, layer: int
) -> Tensor:
    """The rest of a block, behind its attention."""
    first, second = (None, None) if dropout is None else dropout[1 + 2 * layer : 3 + 2 * layer]
    out = block.output(block.arrive(mixed, group))
    x = x + (out if first is None else out * first.view_as(out))
    fed = block.feed(x)
    return x + (fed if second is None else fed * second.view_as(fed))
