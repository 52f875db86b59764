"""What a trained encoder answers, and the anchors beside it.

| metric | meaning |
| --- | --- |
| accuracy | share of the test split that is answered right |
| train_accuracy | the same on the circuits to learn from |
| blind_ceiling | best accuracy on the test split of any answer that knows only the three types |
| blind_ceiling_all | the same over all circuits, those of both splits |
| blind_rule | accuracy on the test split of the best such answer on the circuits to learn from |
| commonest | accuracy on the test split of the answer most frequent among those to learn from |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd
from torch import nn

from journeylab.studies.exp10_circuit_encoders.circuits import (
    ceiling,
    learned_rule,
    operation_types,
)
from journeylab.studies.exp10_circuit_encoders.models import Circuits, accuracy, circuits_in
from journeylab.studies.exp10_circuit_encoders.settings import Evaluation, Job

if TYPE_CHECKING:
    from journeylab.training import Problem


def measure(job: Job, evaluation: Evaluation, problem: Problem, model: nn.Module) -> pd.DataFrame:
    """Every metric of one seed: metric, value."""
    del job, evaluation  # what is asked is in the problem, and there is nothing to choose
    task = cast(Circuits, problem)
    (old, known), (new, asked) = (circuits_in(task, split) for split in ("train", "test"))
    groups, new_groups = operation_types(old), operation_types(new)
    found = {
        "accuracy": accuracy(model, task.test),
        "train_accuracy": accuracy(model, task.train),
        "blind_ceiling": ceiling(new_groups, asked),
        "blind_ceiling_all": ceiling(
            np.concatenate((groups, new_groups)), np.concatenate((known, asked))
        ),
        "blind_rule": learned_rule(groups, known, new_groups, asked),
        "commonest": learned_rule(np.zeros_like(groups), known, np.zeros_like(new_groups), asked),
    }
    return pd.DataFrame(found.items(), columns=["metric", "value"])
