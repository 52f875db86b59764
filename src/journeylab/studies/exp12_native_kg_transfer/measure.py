"""Evaluation of a trained model of exp12, by tier."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pandas as pd
import torch
from torch import nn

from journeylab.knowledge.measure import measure_tiers
from journeylab.knowledge.problem import Knowledge
from journeylab.knowledge.reader import Reader
from journeylab.knowledge.settings import Evaluation
from journeylab.studies.exp12_native_kg_transfer.repository import RepositoryProblem
from journeylab.studies.exp12_native_kg_transfer.settings import Job

if TYPE_CHECKING:
    from journeylab.training import Problem


def measure(job: Job, evaluation: Evaluation, problem: Problem, model: nn.Module) -> pd.DataFrame:
    """Measure one trained model: columns metric, factors, value."""
    del job  # the problem has the same job
    reader = cast(Reader, model)
    if isinstance(problem, RepositoryProblem):
        with torch.no_grad():
            return measure_tiers(problem.knowledge, evaluation, problem.with_repository(reader))
    return measure_tiers(cast(Knowledge, problem), evaluation, reader)
