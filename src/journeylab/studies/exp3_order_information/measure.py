"""The accuracy and information of trained probes, and the anchors to compare them with.

| metric | meaning |
| --- | --- |
| position_accuracy | share of right colours over all positions of all strings |
| count_accuracy | share of right counts over all colours of all strings |
| v_information | N·(log₂ C − cross-entropy per position), the bits that the probe extracts from s |
| blind_ceiling | E[max_c n_c]/N, the best position accuracy from the counts alone |
| blind_information | N·(log₂ C − E[H(n/N)]), the v_information of the counts alone |

Log₂ C is the entropy of a position without s. The positions of a uniform string are independent,
so the V-information of a probe is, on average, a lower bound of I(X; s).
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, cast

import pandas as pd
from torch import nn

from journeylab.studies.exp3_order_information.information import blind_ceiling, blind_information
from journeylab.studies.exp3_order_information.models import ProbeTraining, score_probes
from journeylab.studies.exp3_order_information.settings import LENGTHS, Evaluation, Job

if TYPE_CHECKING:
    from journeylab.training import Problem

COLUMNS = ("metric", "probe", "N", "strings", "value")


def measure(job: Job, evaluation: Evaluation, problem: Problem, model: nn.Module) -> pd.DataFrame:
    """Every metric of the trained probes: metric, probe, N, strings, value."""
    training = cast(ProbeTraining, problem)
    rows: list[dict[str, object]] = []
    for index, length in enumerate(LENGTHS):
        rows += [
            {"metric": "blind_ceiling", "N": length, "value": blind_ceiling(length, job.colours)},
            {
                "metric": "blind_information",
                "N": length,
                "value": blind_information(length, job.colours),
            },
        ]
        for split in evaluation.splits:
            scores = score_probes(model, training.select(split, length), index)
            for probe, score in scores.items():
                where = {"probe": probe, "N": length, "strings": split}
                values = {
                    "position_accuracy": score.position_accuracy,
                    "count_accuracy": score.count_accuracy,
                    "v_information": length * (log2(job.colours) - score.position_loss),
                }
                rows += [where | {"metric": name, "value": x} for name, x in values.items()]
    return pd.DataFrame(rows, columns=list(COLUMNS))
