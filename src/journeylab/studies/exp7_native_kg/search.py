"""The search for learning rates and initial scales, as ``tools/search_exp7.py`` makes it.

The grid is a cross: three scales of the initial embeddings at one rate, and four rates at one
scale. Every model is trained on one pilot world for ``STEPS`` steps. The criterion is the
perplexity per character of the taught facts (tier 1, template 0), which all models read alike; it
says nothing about transfer.

The models that read sentences are trained by then, and settings within 1 % of the best count as
equal: of these the most central is taken. The native models are not. A at three rates and
``BUDGET`` steps, on another world of the pilot seed, decides for them by the same rule. The study
trains them for twice as long.
"""

PILOT = 1000
STEPS = 1200
EQUAL = 1.01
"""Perplexities up to this multiple of the smallest count as equal to it."""
GRID = ((0.03, 0.002), (0.1, 0.001), (0.1, 0.002), (0.1, 0.004), (0.1, 0.008), (0.3, 0.002))
"""Scale of the initial embeddings and learning rate."""

SEARCH: dict[tuple[str, str], tuple[float, ...]] = {
    ("native", "A"): (1.408, 1.434, 1.303, 1.212, 1.358, 1.374),
    ("native", "Aprime"): (1.283, 1.396, 1.153, 1.189, 1.134, 1.301),
    ("7b-held", "B"): (1.069, 1.140, 1.025, 1.013, 1.010, 1.054),
    ("7b-held", "C"): (1.066, 1.146, 1.034, 1.008, 1.007, 1.055),
}
"""Arm and variant → perplexity at every setting of the grid."""

LONGER: dict[float, float] = {0.002: 1.093, 0.003: 1.067, 0.004: 1.058}
"""Learning rate → perplexity of A on world 1 of the pilot seed after ``BUDGET`` steps."""
BUDGET = 2400
