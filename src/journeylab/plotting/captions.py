"""Sentences of captions that studies share: how seeds, medians and intervals are drawn."""

_INTERVALS = "distribution-free 95 % intervals"
_DOTS = f"Each dot is one seed; markers are medians, lines their {_INTERVALS}"
_LINES = f"Thin lines are seeds, thick lines medians over seeds, bands their {_INTERVALS}"

SENTENCES = {
    "seeds": f"{_DOTS}; ✗ counts failed seeds.",
    "seeds_unbounded": f"{_DOTS}; ✗ counts failed seeds, which count as ±∞ in the intervals.",
    "seeds_finished": f"{_DOTS}.",
    "curves": f"{_LINES}; ✗ counts failed seeds, which have no line.",
    "curves_finished": f"{_LINES}.",
    "chosen": "*: the settings of the study.",
}
"""Sentence by its name in braces: ``seeds`` says what :func:`~journeylab.plotting.seeds` draws,
``seeds_unbounded`` also how failed seeds enter an interval, ``seeds_finished`` where none can fail;
``curves`` likewise; ``chosen`` what the asterisk in a table of a search means.
"""
