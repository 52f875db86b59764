"""The search of learning rates and initial scales of exp13, on pilot seeds.

``tools/search_exp13.py`` prints its lines; they are kept here, because a study trains with the
chosen settings only. One rule for all mechanisms and tasks. Until every run of a judged claim has
its lines, verdicts of exp13 are provisional.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

SEEDS = (1000, 1001)
RATES = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)
SCALES = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Factors of the initial `operator_weights`; mechanisms without any have the factor 1 only."""
RATE, SCALE = 0.01, 1.0
"""Where the search begins, and the settings of runs that were not searched."""
STEPS = 2000
"""Of a trial: as many as the study has."""
TIE = 0.02
"""Nats by which another setting has to be better than the usual one. Losses of models that have not
begun to learn differ by less."""


Setting = TypeVar("Setting")


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


def prefer(losses: Mapping[Setting, float], usual: Setting) -> Setting:
    """The setting with the smallest loss; the usual one if it is within TIE of it."""
    best = min(losses, key=losses.__getitem__)
    return usual if losses.get(usual, float("inf")) <= losses[best] + TIE else best


def chosen(arm: str, variant: str, layers: int) -> tuple[float, float]:
    """The rate and the scale of a run."""
    usual = RATE, SCALE
    tried = {
        (each.rate, each.scale): each.loss
        for each in TRIALS
        if each[:4] == (arm, variant, layers, STEPS)
    }
    return prefer(tried, usual) if tried else usual
