"""The search of learning rates and initial scales of exp13, on pilot seeds.

``tools/search_exp13.py`` prints its lines; they are kept in ``trials.csv``, because a study trains
with the chosen settings only. One rule for all mechanisms and tasks. Trials with 2000 steps were
made with torch 2.11, about half of them on a GPU; those with more steps on a CPU with the pinned
torch, except a few that choose nothing. Lines of runs whose mechanism started otherwise were
removed: of Mamba-3 while the scale did not reach its step sizes, and of softmax attention with
journey operators that did not start at those of RoPE.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

from journeylab.records.trials import read_trials

SEEDS = (1000, 1001)
RATES = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)
SCALES = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Factors of the initial `operator_weights`; mechanisms without any have the factor 1 only."""
RATE, SCALE = 0.01, 1.0
"""Where the search begins, and the settings of runs that were not searched."""
STEPS, RECALL, LONGER = 2000, 4000, 8000
"""Of runs and of their trials: usually, of recall, and of LONGER_RUNS."""
LONGER_RUNS = {
    "S3": ("mamba3",),
    "A5": ("mamba3", "delta-product-signed"),
    "S5": ("mamba3",),
    "Z60": ("mamba3",),
    "A4xZ5": ("mamba3", "delta-product-signed"),
    "parity": ("mamba3", "mamba3-real", "delta"),
}
"""Runs of word problems and parity that did not solve their task with STEPS on every pilot seed,
and whose failure would decide a judged claim; and what a secondary row compares with them."""
DEPTHS = {"flip-flop": 2, "associative": 2}
"""Layers of the tasks that have more than one."""
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


TRIALS = read_trials(SearchTrial, Path(__file__).with_name("trials.csv"))
"""In the order of the tables."""


def prefer(losses: Mapping[Setting, float], usual: Setting) -> Setting:
    """The setting with the smallest loss; the usual one if it is within TIE of it."""
    best = min(losses, key=losses.__getitem__, default=usual)
    stays = losses.get(usual, float("inf")) <= losses.get(best, float("inf")) + TIE
    return usual if stays else best


def steps_of(arm: str, variant: str) -> int:
    """The steps of a run of the study, and of the trials that choose its settings."""
    if variant in LONGER_RUNS.get(arm, ()):
        return LONGER
    return RECALL if arm == "associative" else STEPS


def chooses(trial: SearchTrial) -> bool:
    """Whether a trial is part of the search: with the depth and the steps of the study."""
    depth, steps = DEPTHS.get(trial.arm, 1), steps_of(trial.arm, trial.variant)
    return (trial.layers, trial.steps) == (depth, steps)


def chosen(arm: str, variant: str) -> tuple[float, float]:
    """The rate and the scale of a run: the best rate at the usual scale, then the best scale."""
    tried = [each for each in TRIALS if each[:2] == (arm, variant) and chooses(each)]
    rate = prefer({each.rate: each.loss for each in tried if each.scale == SCALE}, RATE)
    return rate, prefer({each.scale: each.loss for each in tried if each.rate == rate}, SCALE)
