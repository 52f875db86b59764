"""The search for learning rates and initial scales, as ``tools/search_exp7.py`` makes it.

The criterion is the perplexity per character of the taught facts (tier 1, template 0), which all
models read alike; it says nothing about transfer. Values within 1 % of the best count as equal, and
of these the study has the most central.

Scales of the initial embeddings were searched first, at rate ``SCALE_RATE`` and for ``SCALE_STEPS``
steps on one pilot world; then, at the chosen scale, rates of every compared model with the steps of
the study on two pilot worlds.
"""

SCALE_PILOT, SCALE_STEPS, SCALE_RATE = 1000, 1200, 0.002
SCALES = (0.03, 0.1, 0.3)
PILOTS = (1000, 1001)
RATES = (0.002, 0.004, 0.008)
EQUAL = 1.01
"""Perplexities up to this multiple of the smallest count as equal to it."""

BY_SCALE: dict[tuple[str, str], tuple[float, ...]] = {
    ("native", "A"): (1.408, 1.303, 1.374),
    ("native", "Aprime"): (1.283, 1.153, 1.301),
    ("7b-held", "B"): (1.069, 1.025, 1.054),
    ("7b-held", "C"): (1.066, 1.034, 1.055),
}
"""Arm and variant → perplexity at every scale."""

BY_RATE: dict[tuple[str, str], tuple[tuple[float, ...], ...]] = {
    ("native", "A"): ((1.0085, 1.0118), (1.0054, 1.0105), (1.0517, 1.0077)),
    ("native", "Aprime"): ((1.0040, 1.0031), (1.0027, 1.0038), (1.0032, 1.0050)),
    ("native", "A-sequential"): ((1.0095, 1.0111), (1.0063, 1.0099), (1.0052, 1.0077)),
    ("7a", "B"): ((1.0009, 1.0010), (1.0006, 1.0007), (1.0005, 1.0006)),
    ("7a", "Bprime"): ((1.0008, 1.0010), (1.0006, 1.0006), (1.0005, 1.0004)),
    ("7a", "C"): ((1.0008, 1.0009), (1.0006, 1.0006), (1.0005, 1.0005)),
    ("7a", "Cprime"): ((1.0008, 1.0010), (1.0004, 1.0006), (1.0003, 1.0004)),
    ("7b-held", "B"): ((1.0010, 1.0015), (1.0007, 1.0008), (1.0006, 1.0008)),
    ("7b-held", "Bprime"): ((1.0013, 1.0014), (1.0008, 1.0008), (1.0007, 1.0007)),
    ("7b-held", "C"): ((1.0011, 1.0014), (1.0007, 1.0008), (1.0006, 1.0008)),
    ("7b-held", "Cprime"): ((1.0010, 1.0011), (1.0007, 1.0008), (1.0004, 1.0006)),
}
"""Arm and variant → for every rate the perplexity of both pilot worlds."""
