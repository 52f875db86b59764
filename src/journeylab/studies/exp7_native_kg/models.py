"""The models of exp7: readers of characters, and how each learns from its world."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from journeylab.knowledge.problem import Knowledge
from journeylab.studies.exp7_native_kg.language import ENGLISH
from journeylab.studies.exp7_native_kg.settings import Job

if TYPE_CHECKING:
    from journeylab.streams import Streams


def problem(job: Job, dataset: pd.DataFrame, streams: Streams) -> Knowledge:
    """The training problem of one seed; ``dataset`` as :func:`data.generate` makes it."""
    del streams  # the world is in the dataset, and the engine hands the other streams over
    return Knowledge(job, dataset, ENGLISH, job.linearised_templates)
