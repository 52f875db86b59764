"""Which way a chunk of seeds is trained: one after the other or at once, on CPU or GPU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import torch

from journeylab.config import TrainingSettings, UserError
from journeylab.streams import Streams
from journeylab.training.ensemble import train_ensemble
from journeylab.training.loop import Problem, Trained, train

Engine = Literal["sequential", "batched"]
BATCH_BELOW = 2.5e8
"""Operations of a step below which seeds are batched on CPU. Smaller steps spend most of their time
in calling operations, which seeds can share; larger ones in matrix products, which they cannot."""


class Execution(NamedTuple):
    """How seeds are trained: `device` is "cpu" or "cuda"."""

    engine: Engine
    device: str


def choose_execution(
    engine: Literal["auto", "sequential", "batched"],
    device: Literal["auto", "cpu", "cuda"],
    *,
    seeds: int,
    flops: float,
) -> Execution:
    """Settle what is left open: a GPU if there is one; there, or if steps are small, all at once.

    `flops` are the operations of one step of one seed. Raises UserError for a missing GPU.
    """
    gpu = torch.cuda.is_available()
    if device == "cuda" and not gpu:
        raise UserError("device: 'cuda': there is no usable CUDA GPU here; write auto or cpu")
    on_gpu = gpu and device != "cpu"
    if engine == "auto":
        engine = "batched" if seeds > 1 and (on_gpu or flops < BATCH_BELOW) else "sequential"
    return Execution(engine, "cuda" if on_gpu else "cpu")


def train_seeds(
    problems: Sequence[Problem],
    settings: TrainingSettings,
    streams: Sequence[Streams],
    folder: Path,
    way: Execution,
    *,
    label: str,
    identity: str,
    processor: str = "",
) -> list[Trained]:
    """Train a chunk of seeds; what checkpoints in `folder` hold is not trained again."""
    identity = f"{identity} | {way.engine} on {way.device}"
    first, last = streams[0].seed, streams[-1].seed
    if way.engine == "batched":
        return train_ensemble(
            problems,
            settings,
            streams,
            folder / f"seeds-{first:02d}-{last:02d}.checkpoint",
            label=f"{label} seeds {first} to {last}",
            identity=identity,
            device=way.device,
            processor=processor,
        )
    return [
        train(
            problem,
            settings,
            stream,
            folder / f"seed-{stream.seed:02d}.checkpoint",
            label=f"{label} seed {stream.seed} ({position}/{len(streams)})",
            identity=identity,
            device=way.device,
            processor=processor,
        )
        for position, (problem, stream) in enumerate(zip(problems, streams, strict=True), start=1)
    ]
