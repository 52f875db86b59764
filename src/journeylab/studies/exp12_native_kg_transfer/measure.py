"""Evaluation of a trained model of exp12, by tier."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pandas as pd
from torch import nn

from journeylab.knowledge.measure import measure_tiers
from journeylab.knowledge.problem import Knowledge
from journeylab.knowledge.reader import Reader
from journeylab.knowledge.settings import Evaluation
from journeylab.studies.exp12_native_kg_transfer.settings import Job

if TYPE_CHECKING:
    from journeylab.training import Problem


def measure(job: Job, evaluation: Evaluation, problem: Problem, model: nn.Module) -> pd.DataFrame:
    """Measure one trained model: columns metric, factors, value."""
    del job  # the problem has the same job
    return measure_tiers(cast(Knowledge, problem), evaluation, cast(Reader, model))
