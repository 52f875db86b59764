"""The models of exp12: those of exp7 on words, and text beside a repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from journeylab.datasets.triples import entities
from journeylab.knowledge.problem import Knowledge
from journeylab.studies.exp12_native_kg_transfer.language import language_of
from journeylab.studies.exp12_native_kg_transfer.repository import Consultation
from journeylab.studies.exp12_native_kg_transfer.settings import CONSULTING, Job

if TYPE_CHECKING:
    from journeylab.streams import Streams


def problem(job: Job, dataset: pd.DataFrame, streams: Streams) -> Knowledge | Consultation:
    """The training problem of one seed; ``dataset`` as :func:`data.generate` makes it."""
    del streams  # the world is in the dataset, and the engine hands the other streams over
    language = language_of(job.data, job.tokens, list(entities(dataset)))
    knowledge = Knowledge(job, dataset, language, job.linearised_templates)
    return Consultation(knowledge) if job.variant in CONSULTING else knowledge
