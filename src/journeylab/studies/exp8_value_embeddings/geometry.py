"""Geometry of the vectors of costs: similarities, and the number of directions that they span.

``vectors`` is a table ``(costs, d)`` with a row per cost. σ_i are the singular values of the table
after its mean row is subtracted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc
from scipy.stats import spearmanr

Vectors = NDArray[np.float64]
Costs = NDArray[np.int64]


def similarities(vectors: Vectors) -> Vectors:
    """The cosine similarities ``(costs, costs)`` of all pairs."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines: Vectors = unit @ unit.T
    return cosines


def similarity_by_distance(vectors: Vectors, costs: Costs) -> dict[int, float]:
    """The mean cosine similarity of pairs of costs, by their distance |u − v| > 0."""
    cosines, distances = similarities(vectors), np.abs(costs[:, None] - costs)
    return {int(k): float(cosines[distances == k].mean()) for k in np.unique(distances) if k}


def rank_correlation(vectors: Vectors, costs: Costs) -> float:
    """Spearman's correlation of similarity cos(x_u, x_v) and nearness −|u − v|, over all u ≠ v.

    It is 1 if nearer costs always have more similar vectors, and 0 in expectation for a random
    table. Similarities are rounded to 6 decimals, so that rounding errors do not break ties.
    """
    upper = np.triu_indices(len(costs), 1)
    distances = np.abs(costs[:, None] - costs)[upper]
    return float(spearmanr(similarities(vectors)[upper].round(6), -distances).statistic)


def first_component(vectors: Vectors) -> float:
    """The share of variance along the first principal component, σ_1² / Σ σ_i²."""
    energy = _singular_values(vectors) ** 2
    return float(energy[0] / energy.sum())


def effective_rank(vectors: Vectors) -> float:
    """exp(−Σ p_i ln p_i) with p_i = σ_i / Σ_j σ_j: k if the vectors span k directions equally.

    Source: Roy and Vetterli, The effective rank, 2007.
    """
    values = _singular_values(vectors)
    shares = values[values > 0] / values.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def chance_of(similarity: float, d: int) -> float:
    """P(|cosine| ≥ |similarity|) for two independent standard normal vectors of width d.

    cosine² has the distribution Beta(1/2, (d − 1)/2).
    """
    return float(1.0 - betainc(0.5, (d - 1) / 2.0, similarity**2))


def _singular_values(vectors: Vectors) -> Vectors:
    return np.linalg.svd(vectors - vectors.mean(0), compute_uv=False)
