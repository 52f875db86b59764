"""The search of learning rates and initial scales of exp13, on pilot seeds.

``tools/search_exp13.py`` prints its lines; they are kept here, because a study trains with the
chosen settings only. One grid for all mechanisms and tasks. Until every judged run has a final,
verdicts of exp13 are provisional.
"""

from __future__ import annotations

from typing import NamedTuple

SEEDS = (1000, 1001)
RATES = (0.001, 0.003, 0.01, 0.03)
WIDER = (0.0003, *RATES, 0.1)
"""The grid, and the rates beside its edges, which are tried where the best one is at an edge."""
SCALES = (1.0, 3.0)
"""Factors of the initial `operator_weights`; mechanisms without any have the first only."""
STEPS, GRID_STEPS = 2000, 500
"""Steps of finals, as many as the study has, and of the grid."""
FINALISTS = 2
"""Settings of a run with the smallest losses that get a final."""

RATE, SCALE = 0.01, 1.0
"""The settings of runs without a final."""


class SearchTrial(NamedTuple):
    """A run of the search, means over SEEDS."""

    arm: str
    variant: str
    layers: int
    steps: int
    scale: float
    rate: float
    loss: float
    """Cross-entropy on validation rows after the last step; infinite if a seed has diverged."""
    accuracy: float
    """In the second half of validation rows; it decides nothing."""


TRIALS: tuple[SearchTrial, ...] = ()
"""As the tool prints them, in the order of the table."""


def ranked(arm: str, variant: str, layers: int) -> list[SearchTrial]:
    """The trials of a run at a depth: those with the most steps first, the smallest loss first."""
    tried = [each for each in TRIALS if each[:3] == (arm, variant, layers)]
    return sorted(tried, key=lambda each: (-each.steps, each.loss))


def chosen(arm: str, variant: str, layers: int) -> tuple[float, float]:
    """The rate and the scale of the best final; a run without one has the usual settings."""
    for best in ranked(arm, variant, layers)[:1]:
        if best.steps == STEPS:
            return best.rate, best.scale
    return RATE, SCALE
