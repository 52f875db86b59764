"""The search for the settings of the trained poolings, on pilot seeds 1000 and 1001.

Medians of the exact match on the test strings, for every rate and deviation of the initial
embeddings that was tried; of the sentence, the share of its characters.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from journeylab.records.trials import read_trials


class Trial(NamedTuple):
    """A task, a pooling, the deviation and rate tried, and the result."""

    task: str
    variant: str
    steps: int
    scale: float
    rate: float
    value: float


TRIALS = read_trials(Trial, Path(__file__).with_name("trials.csv"))
