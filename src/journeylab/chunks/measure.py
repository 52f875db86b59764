"""Measurements of the trained models of a chunk of seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from journeylab import training
from journeylab.chunks.tables import joined, labelled, mean_over_worlds, of_world
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
    """The tidy measurements of all `seeds`, means over the worlds of a seed.

    ``weights`` maps ``<replicate>/<parameter>`` to tensors.
    """
    training.prepare_process(threads=1)
    tables = []
    for seed in seeds:
        worlds = []
        for world in range(job.worlds):
            streams = Streams(run[0], seed, world=world)
            problem = models.problem(job, of_world(dataset, streams, job.worlds), streams)
            model = problem.build(streams.generator("init"))
            model.load_state_dict(_state(weights, f"{streams.replicate}/"))
            worlds.append(part.measure(job, evaluation, problem, model.eval()))
        tables.append(labelled(mean_over_worlds(worlds), run, seed))
    return joined(tables)


def _state(weights: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in weights.items() if k.startswith(prefix)}
