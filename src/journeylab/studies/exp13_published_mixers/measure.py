"""Accuracies of a trained model on new rows, by length.

Test rows are as long as the longest training rows (factor 1), twice and four times as long. Only
answers in the second half of a row count, so that the parts of prefixes that are scored at the
three lengths do not overlap. All mechanisms of a seed read the same rows.

| metric | meaning |
| --- | --- |
| accuracy | share of right answers in the second half of rows, by factor |
| short_accuracy | the same on rows a quarter as long, with a quarter of the pairs; recall only |
| gap | accuracy − Parikh ceiling, averaged over the same positions; word problems only |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pandas as pd
from torch import nn

from journeylab.studies.exp13_published_mixers.ceilings import ceilings, in_second_half
from journeylab.studies.exp13_published_mixers.models import Labelling, accuracy, as_tensors
from journeylab.studies.exp13_published_mixers.settings import (
    FACTORS,
    SHORTER,
    WORD_TASKS,
    Evaluation,
    Job,
)
from journeylab.studies.exp13_published_mixers.tasks import draw_rows

if TYPE_CHECKING:
    from journeylab.training import Problem


def measure(job: Job, evaluation: Evaluation, problem: Problem, model: nn.Module) -> pd.DataFrame:
    """Every metric of one seed: metric, times, value."""
    streams, task = cast(Labelling, problem).streams, job.data.task

    def right_at(length: int) -> float:
        rng = streams.numpy(f"test/{task}/{length}")
        return accuracy(model, as_tensors(draw_rows(task, evaluation.rows, length, rng)))

    rows: list[tuple[str, int | None, float]] = []
    if task == "associative":
        rows.append(("short_accuracy", None, right_at(job.data.length // SHORTER)))
    for times in FACTORS:
        length = times * job.data.length
        right = right_at(length)
        rows.append(("accuracy", times, right))
        if task in WORD_TASKS:
            rows.append(("gap", times, right - in_second_half(ceilings(task, length), length)))
    return pd.DataFrame(rows, columns=["metric", "times", "value"]).astype({"times": "Int64"})
