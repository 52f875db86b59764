"""The models of exp7 and their training problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from journeylab.datasets.triples import entities
from journeylab.knowledge.problem import Knowledge
from journeylab.studies.exp7_native_kg.language import language_of
from journeylab.studies.exp7_native_kg.settings import Job

if TYPE_CHECKING:
    from journeylab.streams import Streams


def problem(job: Job, dataset: pd.DataFrame, streams: Streams) -> Knowledge:
    """Return the training problem of one seed; ``dataset`` is a table of :func:`data.generate`."""
    del streams  # the dataset holds the world, and the engine passes the other streams itself
    language = language_of(job.tokens, list(entities(dataset)))
    return Knowledge(job, dataset, language, job.linearised_templates)
