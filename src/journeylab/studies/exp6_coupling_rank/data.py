"""One seed's teacher: M[t, s, e] = ⟨R_t q, R_s k_e⟩, and its answers to noisy queries.

A query at text position t asks for the entity in role s; the answer is argmax_e M[t, s, e]:

             e = 0     1     2  …                           t   s   label
    t = 3    0.41  −1.20  2.75  …   s = 7                   3   7   2
    t = 4    1.38  −0.96  0.52  …   s = 7                   4   7   0     a step on, another one

R_t turns the plane k of q by t·ω_k; R_s is toral or orthogonal. q and k_e are standard normal. Of a
noisy query q + η the answer is that of its own scores, but t and s are all that a model is told.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.random import Generator
from torch import Tensor

from journeylab.operators.toral import plane_turns
from journeylab.streams import Streams
from journeylab.studies.exp6_coupling_rank.settings import (
    FIXED,
    D,
    Data,
    Frequencies,
    Operators,
    Sizes,
)

APART = 0.1
"""Least distance of random frequencies from each other, from 0 and from π, in radians."""


class Teacher(NamedTuple):
    """Frequencies ``(d/2,)``, query ``(d,)``, and the keys in every role R_s k_e ``(S, E, d)``."""

    frequencies: Tensor
    query: Tensor
    keys: Tensor

    def turned(self, positions: Tensor) -> Tensor:
        """R_t q ``(positions, d)``."""
        return turns(positions, self.frequencies) @ self.query

    def scores(self, positions: int) -> Tensor:
        """M ``(T, S, E)``."""
        queries = self.turned(torch.arange(positions))
        return torch.einsum("td,sed->tse", queries, self.keys)


def generate(data: Data, streams: Streams) -> pd.DataFrame:
    """One seed's rows: kind, t, s, e, value.

    Kind ``score`` holds M, kind ``query`` the label ``e`` of every noisy query, kind ``frequency``
    the ω of the planes. Of random labels M is 1 for the label and 0 elsewhere.
    """
    rng = streams.numpy("teacher")
    teacher = draw_teacher(data.frequencies, data.operators, data, rng)
    scores = teacher.scores(data.positions)
    if data.labels == "random":
        labels = torch.from_numpy(rng.integers(data.entities, size=scores.shape[:2]))
        scores = torch.eye(data.entities, dtype=scores.dtype)[labels]
    t, s, e = np.indices(scores.shape).reshape(3, -1)
    parts = [
        pd.DataFrame({"kind": "score", "t": t, "s": s, "e": e, "value": scores.flatten()}),
        _ask(data, teacher, scores, streams.numpy("queries")),
        pd.DataFrame({"kind": "frequency", "value": teacher.frequencies}),
    ]
    return pd.concat(parts, ignore_index=True).astype(dict.fromkeys("tse", "Int64"))


def draw_teacher(
    frequencies: Frequencies, operators: Operators, sizes: Sizes, rng: Generator
) -> Teacher:
    """A teacher in float64. Random frequencies are uniform on (0, π), none within 0.1 of another.

    Toral R_s turn the planes by angles uniform on (−π, π); orthogonal ones are Haar-distributed on
    the rotations SO(d), for no journey head of rotations has what is reflected in some roles only.
    """
    query, keys = rng.standard_normal(D), rng.standard_normal((sizes.entities, D))
    if operators == "toral":
        roles = plane_turns(torch.from_numpy(rng.uniform(-math.pi, math.pi, (sizes.roles, D // 2))))
    else:
        basis, triangle = torch.linalg.qr(
            torch.from_numpy(rng.standard_normal((sizes.roles, D, D)))
        )
        roles = basis * triangle.diagonal(dim1=-2, dim2=-1).sign()[:, None]
        roles[..., 0] *= torch.linalg.det(roles).sign()[:, None]
    chosen = FIXED.get(frequencies) or _draw_apart(rng)
    return Teacher(
        torch.tensor(chosen, dtype=torch.float64),
        torch.from_numpy(query),
        torch.einsum("sij,ej->sei", roles, torch.from_numpy(keys)),
    )


def turns(positions: Tensor, frequencies: Tensor) -> Tensor:
    """R_t ``(*batch, T, d, d)`` for frequencies ``(*batch, d/2)``."""
    return plane_turns(positions.to(frequencies.dtype)[:, None] * frequencies[..., None, :])


def scores_of(table: pd.DataFrame, sizes: Sizes) -> Tensor:
    """M ``(T, S, E)`` in float64."""
    rows = table[table["kind"] == "score"].sort_values(["t", "s", "e"])
    shape = sizes.positions, sizes.roles, sizes.entities
    return torch.tensor(rows["value"].to_numpy()).reshape(shape)


def counts_of(table: pd.DataFrame, sizes: Sizes) -> Tensor:
    """How often every label was given ``(T, S, E)``, in float64."""
    rows = table[table["kind"] == "query"]
    counts = np.zeros((sizes.positions, sizes.roles, sizes.entities))
    np.add.at(counts, tuple(rows[axis].to_numpy(dtype=np.int64) for axis in "tse"), 1.0)
    return torch.from_numpy(counts)


def frequencies_of(table: pd.DataFrame) -> Tensor:
    """The teacher's frequencies ``(d/2,)`` in float64."""
    return torch.tensor(table.loc[table["kind"] == "frequency", "value"].to_numpy())


def _draw_apart(rng: Generator) -> tuple[float, ...]:
    while True:
        drawn = np.sort(rng.uniform(0.0, math.pi, D // 2))
        if np.diff(drawn, prepend=0.0, append=math.pi).min() >= APART:
            return tuple(drawn)


def _ask(data: Data, teacher: Teacher, scores: Tensor, rng: Generator) -> pd.DataFrame:
    """Uniform positions and roles; of random labels there is no query to be noisy."""
    t = torch.from_numpy(rng.integers(data.positions, size=data.queries))
    s = torch.from_numpy(rng.integers(data.roles, size=data.queries))
    noise = torch.from_numpy(rng.standard_normal((data.queries, D)))
    if data.labels == "random":
        labels = scores[t, s].argmax(-1)
    else:
        queries = teacher.query + data.noise * teacher.query.square().mean().sqrt() * noise
        turned = turns(t, teacher.frequencies) @ queries[..., None]
        labels = (teacher.keys[s] @ turned).squeeze(-1).argmax(-1)
    return pd.DataFrame({"kind": "query", "t": t, "s": s, "e": labels, "value": np.nan})
