"""One variant trained on a chunk of seeds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import pandas as pd

from journeylab import training
from journeylab.chunks.tables import labelled, mean_over_worlds, of_world
from journeylab.streams import Streams

if TYPE_CHECKING:
    from torch import Tensor

    from journeylab.config import TrainedJob
    from journeylab.parts import ModelsPart


class TrainedSeed(NamedTuple):
    """One seed: the results of its worlds, in order."""

    seed: int
    worlds: tuple[training.Trained, ...]

    @property
    def status(self) -> Literal["finished", "failed"]:
        """A seed failed if any of its worlds did: the others are no substitute for it."""
        return "failed" if self.reason else "finished"

    @property
    def reason(self) -> str | None:
        """Why the seed failed; if it has several worlds, which of them failed."""
        if len(self.worlds) == 1:
            return self.worlds[0].reason
        failed = ((w, each.reason) for w, each in enumerate(self.worlds) if each.reason)
        return "; ".join(f"world {world}: {reason}" for world, reason in failed) or None

    @property
    def seconds(self) -> float:
        """The training time of all worlds."""
        return sum(each.seconds for each in self.worlds)

    @property
    def curve(self) -> pd.DataFrame:
        """The means over the worlds, up to the last point that all of them reached."""
        shared = min(len(each.curve) for each in self.worlds)
        return mean_over_worlds([each.curve.head(shared) for each in self.worlds])


class TrainedChunk(NamedTuple):
    """The results of all seeds, in order, and how they were trained."""

    execution: training.Execution
    seeds: tuple[TrainedSeed, ...]

    @property
    def weights(self) -> dict[str, Tensor]:
        """The state of every world of every seed that finished: ``<replicate>/<parameter>``."""
        return {
            f"{Streams('', each.seed, world=world).replicate}/{name}": value
            for each in self.seeds
            if each.status == "finished"
            for world, trained in enumerate(each.worlds)
            for name, value in trained.state.items()
        }

    def curves(self, run: tuple[str, str | None, str | None]) -> pd.DataFrame:
        """The learning curves of all seeds, labelled with their run."""
        tables = [labelled(each.curve, run, each.seed) for each in self.seeds]
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
    """Train every world of every seed, or resume it from the checkpoints in `folder`.

    To the engine, the worlds of a seed are replicates like the seeds: independent of each other.
    A checkpoint is resumed only if its `identity` matches. `label` names the run in progress lines.
    """
    training.prepare_process(threads=1)
    worlds = job.worlds
    streams = [Streams(study, seed, world=w) for seed, w in product(seeds, range(worlds))]
    problems = [models.problem(job, of_world(dataset, each, worlds), each) for each in streams]
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
    of_seeds = (tuple(results[i : i + worlds]) for i in range(0, len(results), worlds))
    return TrainedChunk(execution, tuple(map(TrainedSeed, seeds, of_seeds)))
