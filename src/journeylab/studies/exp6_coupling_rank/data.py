"""One seed's teacher: its scores M[t, s, e] = ⟨R_t q, R_s k_e⟩, and labels of noisy queries.

A query at text position t asks for the entity in role s. Its label is argmax_e M[t, s, e]:

             e = 0     1     2  …                           t   s   label
    t = 3    0.41  −1.20  2.75  …   s = 7                   3   7   2
    t = 4    1.38  −0.96  0.52  …   s = 7                   4   7   0     another t, another label

R_t rotates plane k of q by t·ω_k. R_s is toral or orthogonal. q and k_e are standard normal. The
label of a noisy query q + η is the argmax of its own scores. A model receives only t, s and the
label.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Real
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
    TableSizes,
)

APART = 0.1
"""Smallest distance of random frequencies from each other, from 0 and from π, in radians."""


class Teacher(NamedTuple):
    """Frequencies ω, query q, and the keys in every role, R_s k_e; all in float64."""

    frequencies: Float[Tensor, " planes"]
    query: Float[Tensor, " d"]
    keys: Float[Tensor, "S E d"]

    def rotated_queries(self, positions: Real[Tensor, " T"]) -> Float[Tensor, "T d"]:
        """R_t q at these positions t."""
        return position_operators(positions, self.frequencies) @ self.query

    def scores(self, positions: int) -> Float[Tensor, "T S E"]:
        """M[t, s, e] = ⟨R_t q, R_s k_e⟩ for t < T = ``positions``."""
        queries = self.rotated_queries(torch.arange(positions))
        return torch.einsum("td,sed->tse", queries, self.keys)


def generate(data: Data, streams: Streams) -> pd.DataFrame:
    """One seed's rows: kind, t, s, e, value.

    Rows of kind ``score`` hold M, of kind ``query`` the label ``e`` of a noisy query, of kind
    ``frequency`` the ω of a plane. With random labels, M is 1 at the label and 0 elsewhere.
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
        _label_queries(data, teacher, scores, streams.numpy("queries")),
        pd.DataFrame({"kind": "frequency", "value": teacher.frequencies}),
    ]
    return pd.concat(parts, ignore_index=True).astype(dict.fromkeys("tse", "Int64"))


def draw_teacher(
    frequencies: Frequencies, operators: Operators, sizes: TableSizes, rng: Generator
) -> Teacher:
    """A random teacher in float64.

    Random frequencies are uniform on (0, π), at least 0.1 apart from each other and from both ends.
    A toral R_s rotates the planes by angles uniform on (−π, π). An orthogonal R_s is
    Haar-distributed on the rotations SO(d): a journey head consists of rotations and could not
    represent a teacher that reflects in some roles only.
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


def position_operators(
    positions: Real[Tensor, " T"], frequencies: Float[Tensor, "*batch planes"]
) -> Float[Tensor, "*batch T d d"]:
    """R_t, the block-diagonal rotation by t·ω_k in plane k, with d = 2·planes."""
    return plane_turns(positions.to(frequencies.dtype)[:, None] * frequencies[..., None, :])


def scores_of(table: pd.DataFrame, sizes: TableSizes) -> Float[Tensor, "T S E"]:
    """The scores M of a dataset, in float64."""
    rows = table[table["kind"] == "score"].sort_values(["t", "s", "e"])
    shape = sizes.positions, sizes.roles, sizes.entities
    return torch.tensor(rows["value"].to_numpy()).reshape(shape)


def counts_of(table: pd.DataFrame, sizes: TableSizes) -> Float[Tensor, "T S E"]:
    """Counts of the noisy queries at (t, s) with the label e, in float64."""
    rows = table[table["kind"] == "query"]
    counts = np.zeros((sizes.positions, sizes.roles, sizes.entities))
    np.add.at(counts, tuple(rows[axis].to_numpy(dtype=np.int64) for axis in "tse"), 1.0)
    return torch.from_numpy(counts)


def frequencies_of(table: pd.DataFrame) -> Float[Tensor, " planes"]:
    """The teacher's frequencies in float64, in radians per position."""
    return torch.tensor(table.loc[table["kind"] == "frequency", "value"].to_numpy())


def _draw_apart(rng: Generator) -> tuple[float, ...]:
    while True:
        drawn = np.sort(rng.uniform(0.0, math.pi, D // 2))
        if np.diff(drawn, prepend=0.0, append=math.pi).min() >= APART:
            return tuple(drawn)


def _label_queries(data: Data, teacher: Teacher, scores: Tensor, rng: Generator) -> pd.DataFrame:
    """Queries at uniform positions and roles; random labels do not depend on the noise."""
    t = torch.from_numpy(rng.integers(data.positions, size=data.queries))
    s = torch.from_numpy(rng.integers(data.roles, size=data.queries))
    noise = torch.from_numpy(rng.standard_normal((data.queries, D)))
    if data.labels == "random":
        labels = scores[t, s].argmax(-1)
    else:
        queries = teacher.query + data.noise * teacher.query.square().mean().sqrt() * noise
        rotated = position_operators(t, teacher.frequencies) @ queries[..., None]
        labels = (teacher.keys[s] @ rotated).squeeze(-1).argmax(-1)
    return pd.DataFrame({"kind": "query", "t": t, "s": s, "e": labels, "value": np.nan})
