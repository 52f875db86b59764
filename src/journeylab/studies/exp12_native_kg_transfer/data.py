"""Two kinds of worlds: the family of exp7, enlarged, and people with random attributes.

In an attribute world every person has one value of every relation, drawn uniformly among 5k values
of the relation's own type. No fact follows from others, and no pair has two relations::

    Bado was born in Mire.      Bado works for Kelu.      Bado is a member of Sona.

The facts are permuted once, for all shares of bridged facts. So tiers 2 and 3 test the same facts
at every share, and a larger share contains the bridged facts of a smaller share. Names have two
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
"""Relation of an attribute world → type of its values."""


class Family(NamedTuple):
    """The world of exp7, k times as large."""

    generations: tuple[int, ...]
    cities: int
    countries: int
    teaching: float = 0.6
    transfer: float = 0.2


def generate(data: Data, streams: Streams) -> pd.DataFrame:
    """Draw the facts of one seed's world; columns as in :mod:`journeylab.datasets.triples`."""
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
        while len(set(drawn)) < len(values):  # so that all worlds have vocabularies of one size
            drawn = rng.integers(len(values), size=len(people))
        rows += [
            (relation, person, values[value], "person", kind, "attribute")
            for person, value in zip(people, drawn, strict=True)
        ]
    count = len(rows)
    transfer, unseen, bridged = (round(s * count) for s in (TRANSFER, UNSEEN, data.bridging))
    split = np.full(count, "shown", dtype=object)
    shuffled = rng.permutation(count)
    split[shuffled[:transfer]] = "transfer"
    split[shuffled[transfer : transfer + unseen]] = "generalisation"
    split[shuffled[transfer + unseen : transfer + unseen + bridged]] = "teaching"
    facts = pd.DataFrame(rows, columns=[name for name in COLUMNS if name != "split"])
    return facts.assign(split=split)
