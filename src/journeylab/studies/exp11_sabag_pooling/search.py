"""The search for the settings of the trained poolings, on pilot seeds 1000 and 1001.

Medians of the exact match on the test strings, for every rate and deviation of the initial
embeddings that was tried; of the sentence, the share of its characters.
"""

from __future__ import annotations

from typing import NamedTuple


class Trial(NamedTuple):
    """A task, a pooling, the deviation and rate tried, and the result."""

    task: str
    variant: str
    steps: int
    scale: float
    rate: float
    value: float


TRIALS: tuple[Trial, ...] = tuple(
    Trial(task, variant, steps, scale, rate, value)
    for task, variant, steps, scale, tried in (
        ("string-copy", "sabag", 800, 0.3, {0.003: 0.3374, 0.01: 0.3359, 0.03: 0.3371}),
        ("string-copy", "sabag", 800, 1.0, {0.003: 0.3369, 0.01: 0.3357, 0.03: 0.3368}),
        ("string-copy", "sabag", 800, 3.0, {0.003: 0.3306, 0.01: 0.3362, 0.03: 0.2845}),
        ("string-copy", "sabag-positions", 800, 0.3, {0.003: 1.0, 0.01: 1.0, 0.03: 1.0}),
        ("string-copy", "sabag-positions", 800, 1.0, {0.003: 1.0, 0.01: 1.0, 0.03: 1.0}),
        ("string-copy", "sabag-positions", 800, 3.0, {0.003: 1.0, 0.01: 1.0, 0.03: 1.0}),
        ("string-sorted", "sabag", 800, 0.03, {0.03: 0.9364}),
        ("string-sorted", "sabag", 800, 0.1, {0.01: 0.8985, 0.03: 0.9351, 0.1: 0.9391}),
        (
            "string-sorted",
            "sabag",
            800,
            0.3,
            {0.001: 0.3147, 0.003: 0.6585, 0.01: 0.8935, 0.03: 0.9344, 0.1: 0.9387},
        ),
        (
            "string-sorted",
            "sabag",
            800,
            1.0,
            {0.001: 0.343, 0.003: 0.6432, 0.01: 0.8634, 0.03: 0.9226},
        ),
        (
            "string-sorted",
            "sabag",
            800,
            3.0,
            {0.001: 0.294, 0.003: 0.5357, 0.01: 0.7746, 0.03: 0.6064},
        ),
        ("string-sorted", "sabag", 1600, 0.1, {0.03: 0.9491, 0.1: 0.949, 0.3: 0.0616}),
        ("string-sorted", "sabag", 1600, 0.3, {0.01: 0.9324, 0.03: 0.9466}),
        ("string-sorted", "sabag", 3200, 0.3, {0.01: 0.9507, 0.03: 0.9554}),
        (
            "string-sorted",
            "pma",
            800,
            0.3,
            {0.001: 0.9877, 0.003: 0.9991, 0.01: 0.9996, 0.03: 0.6315},
        ),
        (
            "string-sorted",
            "pma",
            800,
            1.0,
            {0.001: 0.9924, 0.003: 0.9995, 0.01: 0.9999, 0.03: 0.1589},
        ),
        (
            "string-sorted",
            "pma",
            800,
            3.0,
            {0.001: 0.9948, 0.003: 0.9995, 0.01: 0.6421, 0.03: 0.1137},
        ),
        ("string-extremes", "sabag", 800, 0.03, {0.03: 0.9977}),
        ("string-extremes", "sabag", 800, 0.1, {0.01: 0.9912, 0.03: 0.999, 0.1: 0.9823}),
        ("string-extremes", "sabag", 800, 0.3, {0.03: 0.9887}),
        ("string-extremes", "kmeans", 800, 0.3, {0.01: 0.9562, 0.03: 0.9645}),
        (
            "string-extremes",
            "kmeans",
            800,
            1.0,
            {0.003: 0.7789, 0.01: 0.9781, 0.03: 0.983, 0.1: 0.9883, 0.3: 0.7167},
        ),
        ("string-extremes", "kmeans", 800, 3.0, {0.01: 0.6734}),
        ("string-extremes", "kmeans", 1600, 1.0, {0.01: 0.9829}),
        ("sentence", "sabag", 800, 0.3, {0.003: 0.4773, 0.01: 0.5, 0.03: 0.4318}),
        ("sentence", "sabag", 800, 1.0, {0.003: 0.5227, 0.01: 0.5909, 0.03: 0.5455}),
        ("sentence", "sabag", 800, 3.0, {0.003: 0.625, 0.01: 0.5909, 0.03: 0.2727}),
        ("sentence", "sabag", 3200, 1.0, {0.003: 0.625, 0.01: 0.5909}),
        ("sentence", "sabag", 3200, 3.0, {0.001: 0.75, 0.003: 0.75, 0.01: 0.6023}),
        ("sentence", "sabag", 3200, 10.0, {0.001: 0.6363, 0.003: 0.5341}),
    )
    for rate, value in tried.items()
)
