"""What the trained probes answer about strings they never saw, and the anchors beside it.

| metric | meaning |
| --- | --- |
| position_accuracy | share of right colours over all positions of all strings |
| count_accuracy | share of right counts over all colours of all strings |
| v_information | N·(log₂ C − bits lost per position): what the probe extracts from s |
| blind_ceiling | E[max_c n_c]/N, the best position accuracy from the counts alone |
| blind_information | N·(log₂ C − E[H(n/N)]), the same for v_information |

Log₂ C is the entropy of a position without s. The positions of a uniform string are independent,
so the V-information of a probe is, on average, a lower bound of I(X; s).
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, cast

import pandas as pd
from torch import nn

from journeylab.studies.exp3_order_information.information import blind_ceiling, blind_information
from journeylab.studies.exp3_order_information.models import Strings, ask
from journeylab.studies.exp3_order_information.settings import LENGTHS, Evaluation, Job

if TYPE_CHECKING:
    from journeylab.training import Problem

COLUMNS = ("metric", "probe", "N", "strings", "value")


def measure(job: Job, evaluation: Evaluation, problem: Problem, model: nn.Module) -> pd.DataFrame:
    """Every metric of the trained probes: metric, probe, N, strings, value."""
    asked = cast(Strings, problem)
    rows: list[dict[str, object]] = []
    for place, length in enumerate(LENGTHS):
        rows += [
            {"metric": "blind_ceiling", "N": length, "value": blind_ceiling(length, job.colours)},
            {
                "metric": "blind_information",
                "N": length,
                "value": blind_information(length, job.colours),
            },
        ]
        for split in evaluation.splits:
            scores = ask(model, asked.select(split, length), place)
            for probe, score in scores.items():
                where = {"probe": probe, "N": length, "strings": split}
                found = {
                    "position_accuracy": score.position_accuracy,
                    "count_accuracy": score.count_accuracy,
                    "v_information": length * (log2(job.colours) - score.position_loss),
                }
                rows += [where | {"metric": name, "value": x} for name, x in found.items()]
    return pd.DataFrame(rows, columns=list(COLUMNS))
