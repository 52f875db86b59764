"""The search for learning rates and initial spreads, as ``tools/search_exp6.py`` makes it.

A run has its number of restarts, and the training loss of its best restart after 1000 steps: the
mean over the numbers of heads, the median over the pilot seeds 1000 to 1003. A row is an initial
spread, a column a learning rate.
"""

from pathlib import Path
from typing import NamedTuple

from journeylab.records.trials import read_trials
from journeylab.studies.exp6_coupling_rank.settings import Variant

RATES = (0.03, 0.1, 0.3, 1.0)
SPREADS = (0.1, 0.3, 1.0)
CHOSEN = (0.3, 0.3)
"""The chosen spread and rate, which are the same for all runs: config.yaml."""


class RankTrial(NamedTuple):
    """A run with its restarts, an initial spread and a rate, and its loss."""

    arm: str
    variant: Variant
    restarts: int
    spread: float
    rate: float
    loss: float


def _losses() -> dict[tuple[str, Variant], tuple[int, tuple[tuple[float, ...], ...]]]:
    trials = read_trials(RankTrial, Path(__file__).with_name("trials.csv"))
    rows: dict[tuple[str, Variant, int], dict[float, list[float]]] = {}
    for trial in trials:
        rows.setdefault(trial[:3], {}).setdefault(trial.spread, []).append(trial.loss)
    return {
        (arm, variant): (restarts, tuple(map(tuple, spreads.values())))
        for (arm, variant, restarts), spreads in rows.items()
    }


SEARCH = _losses()
"""Arm and variant → restarts, losses."""
