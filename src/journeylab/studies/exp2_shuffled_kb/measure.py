"""The accuracy of a trained model, and the effect of permuting the entries on its answers.

There is a question for every entry of every held-out repository. The model answers the same
questions in a reference order, sorted or shuffled, and in random permutations of the entries.

| metric | meaning, in each reference order |
| --- | --- |
| accuracy | share of right answers |
| flip_rate | share of answers after a permutation that differ from those in the reference order |
| max_logit_change | largest absolute change of any logit under a permutation |
| relative_logit_change | max_logit_change over the spread of the logits, see below |
| ceiling | exact ceiling without a tag, of the untagged variant only; has no order |

The spread of the logits is the root mean square, over questions, of their standard deviation over
the values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pandas as pd
import torch
from torch import nn

from journeylab.studies.exp2_shuffled_kb.anchors import untagged_ceiling
from journeylab.studies.exp2_shuffled_kb.data import arrange, permute
from journeylab.studies.exp2_shuffled_kb.models import Retrieval, all_questions
from journeylab.studies.exp2_shuffled_kb.settings import ORDERS, Evaluation, Job, Relations

if TYPE_CHECKING:
    from journeylab.training import Problem

COLUMNS = ("metric", "order", "value")


def measure(job: Job, evaluation: Evaluation, problem: Problem, model: nn.Module) -> pd.DataFrame:
    """Every metric of the study for one trained model: metric, order, value."""
    retrieval = cast(Retrieval, problem)
    shuffled = retrieval.held_out
    questions = all_questions(shuffled)
    generator = retrieval.streams.generator("permutations")
    rows: list[tuple[str, str | None, float]] = []
    with torch.no_grad():
        permuted = [
            model(permute(shuffled, generator), questions) for _ in range(evaluation.permutations)
        ]
        for order in ORDERS:
            logits = model(arrange(shuffled, order), questions)
            answers = logits.argmax(-1)
            flips = [(other.argmax(-1) != answers).double().mean() for other in permuted]
            change = torch.stack([(other - logits).abs().max() for other in permuted]).max()
            spread = logits.var(-1, correction=0).mean().sqrt()
            hits = (answers == questions.answers).double()
            rows += [
                ("accuracy", order, float(hits.mean())),
                ("flip_rate", order, float(torch.stack(flips).mean())),
                ("max_logit_change", order, float(change)),
                ("relative_logit_change", order, float(change / spread)),
            ]
    if job.variant == "untagged" and isinstance(job.data, Relations):
        rows.append(("ceiling", None, float(untagged_ceiling(job.data))))
    return pd.DataFrame(rows, columns=list(COLUMNS))
