"""Every metric of the operators, at initialisation and after training.

The initial model is built again from the seed's stream: it is the model that training began with.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd
import torch
from torch import nn

from journeylab.datasets.shakespeare import bigram_entropy, unigram_entropy
from journeylab.studies.exp4_operator_recovery.blocks import Matrices
from journeylab.studies.exp4_operator_recovery.models import (
    CharacterModel,
    RecoveryProblem,
    mean_loss,
)
from journeylab.studies.exp4_operator_recovery.recovery import (
    describe,
    leading_angles,
    null_share,
    transports_to,
)
from journeylab.studies.exp4_operator_recovery.settings import STAGES, Evaluation, Job

if TYPE_CHECKING:
    from journeylab.training import Problem

COLUMNS = ("metric", "stage", "rank", "position", "value")

Row = tuple[str, str | None, int | None, int | None, float]


def measure(job: Job, evaluation: Evaluation, problem: Problem, model: nn.Module) -> pd.DataFrame:
    """Every metric of one trained model: metric, stage, rank, position, value."""
    language = cast(RecoveryProblem, problem)
    initial = language.build(language.streams.generator("init")).eval()
    windows = language.held_out.read(job.model.length).take(slice(evaluation.windows))
    rows: list[Row] = []
    metrics, losses = {}, {}
    for stage, each in zip(STAGES, (initial, model), strict=True):
        with torch.no_grad():
            losses[stage] = mean_loss(each, windows)
        rows.append(("loss", stage, None, None, losses[stage]))
        operators = _operators(each)
        metrics[stage] = describe(operators, language.streams.numpy("bases"))
        rows += [(name, stage, None, None, value) for name, value in metrics[stage].items()]
        rows += _angles(operators, stage)
        if len(operators) == 1:
            share = null_share(
                metrics[stage]["angle_linearity"], job.model.d, evaluation.null_draws
            )
            rows.append(("angle_null_share", stage, None, None, share))
    if "commutator" in metrics["initial"]:
        ratio = metrics["trained"]["commutator"] / metrics["initial"]["commutator"]
        rows.append(("commutator_ratio", None, None, None, ratio))
    bigram = bigram_entropy(language.seen, language.held_out)
    text = {
        "letters": float(len(language.seen.alphabet)),
        "unigram": unigram_entropy(language.seen, language.held_out),
        "bigram": bigram,
        "gain": bigram - losses["trained"],
    }
    rows += [(name, None, None, None, value) for name, value in text.items()]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.astype({"rank": "Int64", "position": "Int64"})


def _operators(model: nn.Module) -> Matrices:
    assert isinstance(model, CharacterModel)
    return model.operators.detach().double().cpu().numpy()


def _angles(operators: Matrices, stage: str) -> Iterator[Row]:
    """All eigenvalues of a single operator, or the leading angles of T_{i,i−s}, i the last."""
    if len(operators) == 1:
        values = np.linalg.eigvals(operators[0])
        for rank, value in enumerate(sorted(values, key=np.angle), start=1):
            yield "eigen_angle", stage, rank, None, float(np.angle(value))
            yield "eigen_modulus", stage, rank, None, float(np.abs(value))
    else:
        carried = transports_to(operators, len(operators))
        for steps, angle in enumerate(leading_angles(carried, operators), start=1):
            yield "leading_angle", stage, None, steps, float(angle)
