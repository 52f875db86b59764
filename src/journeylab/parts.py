"""The parts of a study, as protocols: what every module of ``studies/expN_name`` must define.

That of ``figures.py`` is in :mod:`journeylab.reports.draw`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from journeylab.config import Frozen, StudySettings

if TYPE_CHECKING:
    import pandas as pd
    from torch import nn

    from journeylab.streams import Streams
    from journeylab.training import Problem


class SettingsPart(Protocol):
    """``settings.py``: the types of a study's section of ``config.yaml`` and of a run's settings.

    A study without trained arms has no Data, Job and Evaluation; a study without computed arms has
    no Computation. ``Data`` is a union if the study has datasets of several kinds.
    """

    Settings: type[StudySettings]
    Data: type[Frozen]
    Job: type[Frozen]
    Evaluation: type[Frozen]
    Computation: type[Frozen]


class DataPart(Protocol):
    """``data.py``: generates one seed of a named dataset, or one world of a seed with several."""

    def generate(self, data: Frozen, streams: Streams) -> pd.DataFrame:
        """The rows of one seed."""


class FileDataPart(Protocol):
    """``data.py`` of a study with datasets made from an external file (``FromFile``)."""

    def generate(self, data: Frozen, streams: Streams, file: Path) -> pd.DataFrame:
        """The rows of one seed."""


class ModelsPart(Protocol):
    """``models.py``: the training problem of one seed."""

    def problem(self, job: Frozen, dataset: pd.DataFrame, streams: Streams) -> Problem:
        """The training problem of one seed; ``dataset`` as ``generate`` made it."""


class MeasurePart(Protocol):
    """``measure.py``: the measurements of a trained model."""

    def measure(
        self, job: Frozen, evaluation: Frozen, problem: Problem, model: nn.Module
    ) -> pd.DataFrame:
        """Tidy measurements of one seed: metric, factors …, value.

        If a seed has several worlds, those of one world. Every world must then have the same rows,
        and a row must mean the same in every world: the seed's ``value`` is their mean. Rows by
        question, or sums over questions, have no meaningful mean.
        """


class ComputePart(Protocol):
    """``compute.py``: measurements that need no training."""

    def compute(self, job: Frozen, streams: Streams | None) -> pd.DataFrame:
        """Tidy measurements of one seed; of the whole run if ``streams`` is None."""


@runtime_checkable
class TimedPart(Protocol):
    """A ``compute.py`` that also times the forms it compares.

    Times depend on the machine: they are kept beside the cost of the run, not as measurements.
    """

    def time_forms(self, job: Frozen) -> Mapping[str, float]:
        """CPU times in milliseconds, or their ratios, by name."""
