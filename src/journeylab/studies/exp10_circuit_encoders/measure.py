"""Accuracies of a trained encoder, and anchors without a model.

| metric | meaning |
| --- | --- |
| accuracy | accuracy on the test split |
| train_accuracy | accuracy on the training split |
| blind_ceiling | best accuracy on the test split of any answer that depends on the types only |
| blind_rule | accuracy on the test split of the best such answer on the training split |
| commonest | accuracy on the test split of the most frequent answer of the training split |
| lead | accuracy − blind_ceiling |
| headroom | the smaller of 0.98 − accuracy and accuracy − commonest − 0.05 |

Two encoders without headroom are both near 1 or near chance, and their difference says nothing.
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


HIGHEST, ABOVE_FLOOR = 0.98, 0.05
"""Largest accuracy with headroom, and the least distance from that of the most frequent answer."""


def measure(job: Job, evaluation: Evaluation, problem: Problem, model: nn.Module) -> pd.DataFrame:
    """Every metric of one seed: metric, value."""
    del job, evaluation  # the problem holds the job, and an evaluation has no options
    task = cast(Circuits, problem)
    (circuits, answers), (new, new_answers) = (
        circuits_in(task, part) for part in ("train", "test")
    )
    groups, new_groups = operation_types(circuits), operation_types(new)
    values = {
        "accuracy": accuracy(model, task.test),
        "train_accuracy": accuracy(model, task.train),
        "blind_ceiling": ceiling(new_groups, new_answers),
        "blind_rule": learned_rule(groups, answers, new_groups, new_answers),
        "commonest": learned_rule(
            np.zeros_like(groups), answers, np.zeros_like(new_groups), new_answers
        ),
    }
    values["lead"] = values["accuracy"] - values["blind_ceiling"]
    values["headroom"] = measure_headroom(values["accuracy"], values["commonest"])
    return pd.DataFrame(values.items(), columns=["metric", "value"])


def measure_headroom(right: float, commonest: float) -> float:
    """The smaller of 0.98 − accuracy and accuracy − that of the most frequent answer − 0.05."""
    return min(HIGHEST - right, right - commonest - ABOVE_FLOOR)
