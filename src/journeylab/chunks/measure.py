"""Measurements of the trained models of a chunk of seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from journeylab import training
from journeylab.chunks.tables import joined, labelled, of_seed
from journeylab.streams import Streams

if TYPE_CHECKING:
    from torch import Tensor

    from journeylab.config import Frozen, TrainedJob
    from journeylab.parts import MeasurePart, ModelsPart


def measure(
    models: ModelsPart,
    part: MeasurePart,
    job: TrainedJob,
    evaluation: Frozen,
    dataset: pd.DataFrame,
    weights: Mapping[str, Tensor],
    run: tuple[str, str | None, str | None],
    seeds: Sequence[int],
) -> pd.DataFrame:
    """The tidy measurements of all `seeds`; ``weights`` maps ``<seed>/<parameter>`` to tensors."""
    training.prepare_process(threads=1)
    tables = []
    for seed in seeds:
        streams, prefix = Streams(run[0], seed), f"{seed}/"
        problem = models.problem(job, of_seed(dataset, seed), streams)
        model = problem.build(streams.generator("init"))
        state = {k.removeprefix(prefix): v for k, v in weights.items() if k.startswith(prefix)}
        model.load_state_dict(state)
        measured = part.measure(job, evaluation, problem, model.eval())
        tables.append(labelled(measured, run, seed))
    return joined(tables)
