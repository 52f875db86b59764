"""The search for rates and initial scales, as ``tools/search_exp8.py`` makes it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator

from journeylab.records.trials import read_trials

PILOT, PILOTS = 1000, (1000, 1001, 1002)
"""The seed of the search, and the seeds of its finals. A table fails on some seeds only."""
RATES = (0.001, 0.003, 0.01)
SCALES = (0.3, 1.0, 3.0)
STEPS = {"axial": 200, "full": 600}
"""Attention → steps of a run of the search."""
FINAL_STEPS = {"axial": 800, "full": 800}
"""The same for finals: all steps of the study with axial attention, a quarter of them with full."""
FINALISTS = 2
"""Initial scales of an embedding in the finals."""
WAVES = (1.0, 3.0, 10.0)
"""Root mean squares of the sinusoids of a hybrid: each is tried while the one before is best."""


class SearchRun(NamedTuple):
    """A run of the search: its settings, its training loss, and rates that decide nothing."""

    arm: str
    variant: str
    steps: int
    scale: float
    rate: float
    loss: float
    """Mean over the last tenth of the steps."""
    optimal: float
    held_out: float


TRIALS = read_trials(SearchRun, Path(__file__).with_name("trials.csv"))
"""In the order of the table."""


def ranked(arm: str, variant: str) -> list[SearchRun]:
    """The trials of a run, the smallest loss first."""
    tried = [trial for trial in TRIALS if (trial.arm, trial.variant) == (arm, variant)]
    return sorted(tried, key=lambda trial: trial.loss)


class Final(NamedTuple):
    """A setting on several pilot seeds."""

    arm: str
    variant: str
    steps: int
    scale: float
    waves: float
    rate: float
    losses: Annotated[tuple[float, ...], BeforeValidator(str.split)]
    """Of PILOTS."""

    @property
    def loss(self) -> float:
        """The mean over the seeds."""
        return sum(self.losses) / len(self.losses)


FINALS = read_trials(Final, Path(__file__).with_name("finals.csv"))
"""In the order of the table; trained on a GPU with torch 2.11."""


class Chosen(NamedTuple):
    """The settings of a run."""

    scale: float
    waves: float
    rate: float


def chosen(arm: str, variant: str) -> Chosen:
    """The final with the smallest mean loss; the best trial of a run that has no finals."""
    finals = [final for final in FINALS if (final.arm, final.variant) == (arm, variant)]
    if finals:
        best = min(finals, key=lambda final: final.loss)
        return Chosen(best.scale, best.waves, best.rate)
    first = ranked(arm, variant)[0]
    return Chosen(first.scale, WAVES[0], first.rate)
