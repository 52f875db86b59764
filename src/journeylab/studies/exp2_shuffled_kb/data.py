"""Repositories of key–value entries, drawn anew for every episode.

Task ``lookup``: M different keys of K, each with a value. A question is a key, its answer the
key's value::

    key     71   3  90  12  …        shuffled: as drawn        sorted: by key
    value    5  11   5   0  …

Task ``relations``: every subject occurs once per relation. The key of an entry is its subject and
does not show the relation::

    subject  71  71  71  71   3   3   3   3  …
    relation  0   1   2   3   0   1   2   3  …       then shuffled, or sorted as here
    value     5  11   5   0   9   9   2   7  …
"""

from typing import NamedTuple

import pandas as pd
import torch
from jaxtyping import Int
from torch import Generator, Tensor

from journeylab.streams import Streams
from journeylab.studies.exp2_shuffled_kb.settings import (
    Data,
    Lookups,
    Order,
    Relations,
    Task,
)


class Episodes(NamedTuple):
    """Repositories, one per row; in task lookup every relation is 0."""

    keys: Int[Tensor, "episodes entries"]
    values: Int[Tensor, "episodes entries"]
    relations: Int[Tensor, "episodes entries"]


def generate(data: Data, streams: Streams) -> pd.DataFrame:
    """A seed's held-out repositories, shuffled: task, size, episode, key, value, relation."""
    generator = streams.generator("episodes")
    if isinstance(data, Lookups):
        drawn = _draw_lookups(data, generator)
        return pd.concat([_tabulate(episodes, "lookup") for episodes in drawn], ignore_index=True)
    groups = -(-data.questions // (data.subjects * data.relations))
    return _tabulate(draw_relations(data, groups, generator), "relations")


def select(table: pd.DataFrame, task: Task, size: int) -> Episodes:
    """The held-out repositories of a task and size, in the row order of the table."""
    rows = table[(table["task"] == task) & (table["size"] == size)]
    columns = (rows[name].to_numpy(dtype="int64") for name in ("key", "value", "relation"))
    return Episodes(*(torch.from_numpy(column).view(-1, size) for column in columns))


def draw_lookup(data: Lookups, size: int, rows: int, generator: Generator) -> Episodes:
    """Draw ``rows`` repositories of ``size`` different keys; values are drawn with replacement."""
    keys = torch.rand(rows, data.keys, generator=generator).topk(size, 1).indices
    values = torch.randint(data.values, (rows, size), generator=generator)
    return Episodes(keys, values, torch.zeros_like(keys))


def draw_relations(data: Relations, rows: int, generator: Generator) -> Episodes:
    """Draw ``rows`` repositories of different subjects, each once per relation, shuffled."""
    subjects = torch.rand(rows, data.keys, generator=generator).topk(data.subjects, 1).indices
    keys = subjects.repeat_interleave(data.relations, 1)
    values = torch.randint(data.values, keys.shape, generator=generator)
    relations = torch.arange(data.relations).repeat(rows, data.subjects)
    return permute(Episodes(keys, values, relations), generator)


def permute(episodes: Episodes, generator: Generator) -> Episodes:
    """Permute the entries of every repository uniformly at random."""
    permutation = torch.rand(episodes.keys.shape, generator=generator).argsort(1)
    return Episodes(*(column.gather(1, permutation) for column in episodes))


def arrange(episodes: Episodes, order: Order) -> Episodes:
    """Sort the entries of shuffled repositories by key and relation, or leave them shuffled."""
    if order == "shuffled":
        return episodes
    rank = episodes.keys * (1 + int(episodes.relations.max())) + episodes.relations
    permutation = rank.argsort(1)
    return Episodes(*(column.gather(1, permutation) for column in episodes))


def _draw_lookups(data: Lookups, generator: Generator) -> list[Episodes]:
    return [draw_lookup(data, size, -(-data.questions // size), generator) for size in data.sizes]


def _tabulate(episodes: Episodes, task: Task) -> pd.DataFrame:
    count, size = episodes.keys.shape
    columns = {
        "size": torch.full((count, size), size),
        "episode": torch.arange(count)[:, None].expand(-1, size),
        "key": episodes.keys,
        "value": episodes.values,
        "relation": episodes.relations,
    }
    numbers = {name: column.flatten().short().numpy() for name, column in columns.items()}
    return pd.DataFrame({"task": task, **numbers})
