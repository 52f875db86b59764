"""Training of all settings of a search at once."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from journeylab import training
from journeylab.config import TrainingSettings
from journeylab.streams import Streams

BATCHED = training.Execution("batched", "cpu")


def train(
    problems: Sequence[training.Problem],
    settings: TrainingSettings,
    streams: Sequence[Streams],
    label: str,
    execution: training.Execution = BATCHED,
) -> list[training.Trained]:
    """Train problems without resuming anything; `label` names them in progress messages."""
    with tempfile.TemporaryDirectory() as folder:
        return training.train_seeds(
            problems, settings, streams, Path(folder), execution, label=label, identity="search"
        )


def at_step(trained: training.Trained, step: int) -> "pd.Series[float]":
    """The values of a curve at a step, by metric."""
    return trained.curve[trained.curve["step"] == step].set_index("metric")["value"]
