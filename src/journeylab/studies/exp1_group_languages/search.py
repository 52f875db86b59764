"""The search of learning rates and initial scales of exp1, on pilot seeds.

``python tools/search_exp1.py`` prints the rows of the table. They are kept here, because a study
trains with the chosen settings only.
"""

from collections.abc import Mapping

SEEDS = (1000, 1001)
STEPS = 1500
TIE = 0.01
"""A difference of mean accuracy that is too small to leave the common setting."""
POINTS = {
    "0.003": (0.003, 1.0),
    "0.01 × ½": (0.01, 0.5),
    "0.01": (0.01, 1.0),
    "0.01 × 2": (0.01, 2.0),
    "0.03": (0.03, 1.0),
}
"""The grid: learning rate and initial scale, by printed name."""
FURTHER = {"0.1": (0.1, 1.0), "0.01 × 4": (0.01, 4.0)}
"""Points beyond the grid, for runs whose best point lies at an edge of it."""
CENTRE = "0.01"

SEARCH: Mapping[str, tuple[float, ...]] = {
    "A/linear-aggregation": (1.0, 1.0, 1.0, 1.0, 1.0),
    "A/real-aggregation": (0.7500, 0.7620, 0.7627, 0.7621, 0.7627),
    "A/complex-aggregation": (1.0, 1.0, 1.0, 1.0, 1.0),
    "A/diagonal-aggregation": (0.6965, 0.6968, 0.6967, 0.6968, 0.6960),
    "A/toral-product": (0.9966, 1.0, 1.0, 1.0, 1.0),
    "B/linear-product": (1.0, 1.0, 1.0, 1.0, 1.0),
    "B/toral-product": (0.6095, 0.6111, 0.6093, 0.6117, 0.6078),
    "B/linear-aggregation": (1.0, 1.0, 1.0, 1.0, 1.0),
    "B/real-aggregation": (0.5650, 0.5506, 0.5801, 0.6571, 0.5781),
    "B/complex-aggregation": (0.5742, 0.6670, 0.6636, 0.6565, 0.6562),
    "B/toral-aggregation": (0.5890, 0.6722, 0.6626, 0.6607, 0.6580),
    "B/diagonal-aggregation": (0.6710, 0.8352, 0.8362, 0.8453, 1.0),
    "S3/orthogonal-product": (1.0, 1.0, 1.0, 1.0, 1.0),
    "S3/toral-product": (0.4035, 0.2238, 0.4060, 0.4067, 0.4027),
    "S3/linear-aggregation": (1.0, 1.0, 1.0, 1.0, 1.0),
    "A5/orthogonal-product": (1.0, 1.0, 1.0, 1.0, 1.0),
    "A5/linear-aggregation": (1.0, 1.0, 1.0, 1.0, 1.0),
}
"""Run → mean validation accuracy at the points of the grid."""
EDGES: Mapping[str, tuple[str, float]] = {
    "B/diagonal-aggregation": ("0.1", 1.0),
    "B/real-aggregation": ("0.01 × 4", 0.6599),
    "S3/toral-product": ("0.1", 0.4019),
}
"""Run → the point beyond the edge of the grid, and its accuracy."""
MORE_SEEDS = {"S3/toral-product": "0.03"}
"""Chosen on 20 pilot seeds: at 0.01 some seeds do not learn the parity, at 0.03 all do."""


def choose(run: str) -> str:
    """The point of the highest accuracy, or the centre if that is within ``TIE`` of it.

    A point beyond the grid is chosen if it is better by more than ``TIE``.
    """
    tried = dict(zip(POINTS, SEARCH[run], strict=True))
    best = max(tried, key=tried.__getitem__)
    chosen = best if tried[best] - tried[CENTRE] > TIE else CENTRE
    further, accuracy = EDGES.get(run, (chosen, tried[chosen]))
    return MORE_SEEDS.get(run, further if accuracy - tried[chosen] > TIE else chosen)
