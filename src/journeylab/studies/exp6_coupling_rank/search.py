"""The search for learning rates and initial spreads, as ``tools/search_exp6.py`` makes it.

A run has its number of restarts, and the training loss of its best restart after 1000 steps: the
mean over the numbers of heads, the median over the pilot seeds 1000 to 1003. A row is an initial
spread, a column a learning rate.
"""

from journeylab.studies.exp6_coupling_rank.settings import Variant

RATES = (0.03, 0.1, 0.3, 1.0)
SPREADS = (0.1, 0.3, 1.0)
CHOSEN = (0.3, 0.3)
"""The chosen spread and rate, which are the same for all runs: config.yaml."""

SEARCH: dict[tuple[str, Variant], tuple[int, tuple[tuple[float, ...], ...]]] = {
    ("random-toral-scores", "journey-learned"): (
        64,
        (
            (0.0144, 0.0000, 0.0000, 0.1225),
            (0.0144, 0.0000, 0.0000, 0.1169),
            (0.0673, 0.0000, 0.0000, 0.1453),
        ),
    ),
    ("random-toral-scores", "separable"): (
        1,
        (
            (0.2100, 0.2100, 0.2100, 0.2101),
            (0.2100, 0.2100, 0.2100, 0.2100),
            (0.2238, 0.2103, 0.2100, 0.2100),
        ),
    ),
    ("random-toral", "journey-learned"): (
        16,
        (
            (0.2375, 0.1834, 0.1847, 0.4778),
            (0.2372, 0.1837, 0.1848, 0.3955),
            (0.3914, 0.2735, 0.1848, 0.4193),
        ),
    ),
    ("random-toral", "journey"): (
        8,
        (
            (0.1673, 0.1658, 0.1659, 0.1665),
            (0.1680, 0.1659, 0.1658, 0.1664),
            (0.1737, 0.1668, 0.1660, 0.1665),
        ),
    ),
    ("random-toral", "separable"): (
        1,
        (
            (0.4305, 0.4135, 0.4073, 0.4052),
            (0.4428, 0.4247, 0.4201, 0.4173),
            (0.4552, 0.4250, 0.4139, 0.4089),
        ),
    ),
    ("random-toral", "separable-matched"): (
        16,
        (
            (0.8368, 0.8435, 0.8184, 0.8276),
            (0.8365, 0.8387, 0.8362, 0.8286),
            (0.9228, 0.8633, 0.8447, 0.8404),
        ),
    ),
    ("random-toral", "additive"): (
        1,
        (
            (1.3811, 1.3798, 1.3794, 1.3794),
            (1.3811, 1.3798, 1.3794, 1.3794),
            (1.3814, 1.3798, 1.3794, 1.3794),
        ),
    ),
    ("random-labels", "journey-learned"): (
        16,
        (
            (1.5636, 1.5616, 1.5577, 1.5609),
            (1.5634, 1.5523, 1.5523, 1.5428),
            (1.5635, 1.5541, 1.5478, 1.5572),
        ),
    ),
    ("random-labels", "separable"): (
        1,
        (
            (0.3975, 0.3689, 0.3574, 0.3671),
            (0.3945, 0.3669, 0.3544, 0.3697),
            (0.4208, 0.3785, 0.3526, 0.3637),
        ),
    ),
}
"""Arm and variant → restarts, losses."""
