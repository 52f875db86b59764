"""What a trained model of exp12 knows, tier by tier."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pandas as pd
import torch
from torch import nn

from journeylab.knowledge.measure import measure_tiers
from journeylab.knowledge.problem import Knowledge
from journeylab.knowledge.reader import Reader
from journeylab.knowledge.settings import Evaluation
from journeylab.studies.exp12_native_kg_transfer.repository import Consultation
from journeylab.studies.exp12_native_kg_transfer.settings import Job

if TYPE_CHECKING:
    from journeylab.training import Problem


def measure(job: Job, evaluation: Evaluation, problem: Problem, model: nn.Module) -> pd.DataFrame:
    """Every metric of the study for one trained model: metric, factors, value."""
    del job  # it is the problem's
    reader = cast(Reader, model)
    if isinstance(problem, Consultation):
        with torch.no_grad():
            return measure_tiers(problem.knowledge, evaluation, problem.consult(reader))
    return measure_tiers(cast(Knowledge, problem), evaluation, reader)
