"""Worlds of two kinds: the family of exp7, enlarged, and people with random attributes.

In an attribute world every person has one value of every relation, drawn uniformly among 5k of
that relation's own kind, so that no fact follows from others and no pair has two relations::

    Bado was born in Mire.      Bado works for Kelu.      Bado is a member of Sona.

One order of the facts serves every share that is bridged: the facts that tiers 2 and 3 ask for are
the same, and whatever is bridged at a small share is bridged at a larger one. Names have two
syllables in both worlds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from journeylab.datasets.kinship import draw_kinship, draw_names
from journeylab.datasets.triples import COLUMNS
from journeylab.streams import Streams
from journeylab.studies.exp12_native_kg_transfer.settings import TRANSFER, UNSEEN, Data

SYLLABLES = {"person": 2, "city": 2, "country": 2}
VALUES = {"born_in": "town", "works_for": "house", "member_of": "guild"}
"""The relations of an attribute world, and the kinds of their values."""


class Family(NamedTuple):
    """The world of exp7, k times as large."""

    generations: tuple[int, ...]
    cities: int
    countries: int
    teaching: float = 0.6
    transfer: float = 0.2


def generate(data: Data, streams: Streams) -> pd.DataFrame:
    """The facts of one seed's world: relation, head, tail, their types, kind, split."""
    rng = streams.numpy("world")
    if data.world == "attributes":
        return _draw_attributes(data, rng)
    k = data.k
    return draw_kinship(Family((4 * k, 8 * k, 9 * k, 9 * k), 10 * k, 5 * k), rng, SYLLABLES)


def _draw_attributes(data: Data, rng: np.random.Generator) -> pd.DataFrame:
    used: list[str] = []
    people = draw_names(30 * data.k, 2, rng, used)
    rows = []
    for relation, kind in VALUES.items():
        values = draw_names(5 * data.k, 2, rng, used)
        drawn = rng.integers(len(values), size=len(people))
        while len(set(drawn)) < len(values):  # vocabularies are as large in every world
            drawn = rng.integers(len(values), size=len(people))
        rows += [
            (relation, person, values[value], "person", kind, "attribute")
            for person, value in zip(people, drawn, strict=True)
        ]
    count = len(rows)
    transfer, unseen, bridged = (round(s * count) for s in (TRANSFER, UNSEEN, data.bridging))
    split = np.full(count, "shown", dtype=object)
    order = rng.permutation(count)
    split[order[:transfer]] = "transfer"
    split[order[transfer : transfer + unseen]] = "generalisation"
    split[order[transfer + unseen : transfer + unseen + bridged]] = "teaching"
    facts = pd.DataFrame(rows, columns=[name for name in COLUMNS if name != "split"])
    return facts.assign(split=split)
