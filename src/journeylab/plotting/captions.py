"""Sentences of captions that every study needs: how seeds, medians and intervals are drawn.

A caption is a text of its own followed by one of these: ``f"Accuracy by length. {SEEDS}"``.
"""

_INTERVALS = "distribution-free 95 % intervals"


def seed_dots(
    dot: str = "one seed", *, lines: str = "lines", failed: str = "✗ counts failed seeds"
) -> str:
    """How :func:`~journeylab.plotting.seeds` draws: dots, markers and lines.

    ``dot`` says what a dot is, ``lines`` which lines are the intervals; an empty ``failed`` leaves
    the count of failures out.
    """
    drawn = f"Each dot is {dot}; markers are medians, {lines} their {_INTERVALS}"
    return f"{drawn}; {failed}." if failed else f"{drawn}."


SEEDS = seed_dots()
"""Dots, markers and lines of seeds."""
SEEDS_UNBOUNDED = seed_dots(failed="✗ counts failed seeds, which count as ±∞ in the intervals")
"""The same, where a reader must know how failed seeds enter an interval."""
SEEDS_FINISHED = seed_dots(failed="")
"""The same, where no seed can fail."""
_LINES = f"Thin lines are seeds, thick lines medians over seeds, bands their {_INTERVALS}"
CURVES = f"{_LINES}; ✗ counts failed seeds, which have no line."
"""How :func:`~journeylab.plotting.curves` draws: thin lines, thick lines and bands of seeds."""
CURVES_FINISHED = f"{_LINES}."
"""The same, where no seed can fail, or failures are counted elsewhere."""
AS_BEFORE = "Symbols as in the figures before."
"""Instead of :data:`SEEDS` from the second figure on."""
