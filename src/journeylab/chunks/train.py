"""One variant trained on a chunk of seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import pandas as pd

from journeylab import training
from journeylab.chunks.tables import labelled, of_seed
from journeylab.streams import Streams

if TYPE_CHECKING:
    from torch import Tensor

    from journeylab.config import TrainedJob
    from journeylab.parts import ModelsPart


class TrainedChunk(NamedTuple):
    """The results of all seeds, in order, and how they were trained."""

    execution: training.Execution
    seeds: tuple[int, ...]
    results: list[training.Trained]

    @property
    def weights(self) -> dict[str, Tensor]:
        """The state of every seed that finished: ``<seed>/<parameter>`` → tensor."""
        return {
            f"{seed}/{name}": value
            for seed, result in zip(self.seeds, self.results, strict=True)
            if result.status == "finished"
            for name, value in result.state.items()
        }

    def curves(self, run: tuple[str, str | None, str | None]) -> pd.DataFrame:
        """The learning curves of all seeds, labelled with their run."""
        tables = [
            labelled(result.curve, run, seed)
            for seed, result in zip(self.seeds, self.results, strict=True)
        ]
        return pd.concat(tables, ignore_index=True)


def train(
    models: ModelsPart,
    job: TrainedJob,
    dataset: pd.DataFrame,
    study: str,
    seeds: Sequence[int],
    folder: Path,
    *,
    engine: Literal["auto", "sequential", "batched"],
    device: Literal["auto", "cpu", "cuda"],
    label: str,
    identity: str,
    processor: str,
) -> TrainedChunk:
    """Train every seed, or resume it from the checkpoints in `folder`.

    A checkpoint is resumed only if its `identity` matches. `label` names the run in progress lines.
    """
    training.prepare_process(threads=1)
    streams = [Streams(study, seed) for seed in seeds]
    problems = [models.problem(job, of_seed(dataset, each.seed), each) for each in streams]
    flops = problems[0].flops_per_step(problems[0].build(streams[0].generator("init")))
    execution = training.choose_execution(engine, device, seeds=len(streams), flops=flops)
    results = training.train_seeds(
        problems,
        job.training,
        streams,
        folder,
        execution,
        label=label,
        identity=identity,
        processor=processor,
    )
    return TrainedChunk(execution, tuple(seeds), results)
