"""What the vectors of costs look like: who is near whom, and in how many directions they lie.

Vectors are rows of a table ``(costs, d)``. Direction counts are those of the vectors less their
mean, with singular values σ_i.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc
from scipy.stats import spearmanr

Vectors = NDArray[np.float64]
Costs = NDArray[np.int64]


def similarities(vectors: Vectors) -> Vectors:
    """The cosine similarities of all pairs ``(costs, costs)``."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    found: Vectors = unit @ unit.T
    return found


def similarity_by_distance(vectors: Vectors, costs: Costs) -> dict[int, float]:
    """The mean cosine similarity of the pairs of costs that are so far apart, by distance."""
    found, apart = similarities(vectors), np.abs(costs[:, None] - costs)
    return {int(each): float(found[apart == each].mean()) for each in np.unique(apart) if each}


def order(vectors: Vectors, costs: Costs) -> float:
    """Spearman's correlation of cosine similarity and −|u − v|, over all pairs of different costs.

    1 where the nearer is always the more similar; 0 where a table knows no order. Similarities that
    differ by rounding only count as equal.
    """
    upper = np.triu_indices(len(costs), 1)
    apart = np.abs(costs[:, None] - costs)[upper]
    return float(spearmanr(similarities(vectors)[upper].round(6), -apart).statistic)


def first_component(vectors: Vectors) -> float:
    """The share of variance along the first principal component, σ_1² / Σ σ_i²."""
    energy = _singular_values(vectors) ** 2
    return float(energy[0] / energy.sum())


def effective_rank(vectors: Vectors) -> float:
    """exp(−Σ p_i ln p_i) with p_i = σ_i / Σ σ: how many directions the vectors share evenly.

    Source: Roy and Vetterli, The effective rank, 2007.
    """
    values = _singular_values(vectors)
    shares = values[values > 0] / values.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def chance_of(similarity: float, d: int) -> float:
    """P(|cosine| ≥ |similarity|) of two independent normal vectors of d coordinates.

    cosine² has the distribution Beta(1/2, (d − 1)/2).
    """
    return float(1.0 - betainc(0.5, (d - 1) / 2.0, similarity**2))


def _singular_values(vectors: Vectors) -> Vectors:
    return np.linalg.svd(vectors - vectors.mean(0), compute_uv=False)
