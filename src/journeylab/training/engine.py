"""How a chunk of seeds is trained: one seed after the other or all at once, on CPU or GPU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import torch

from journeylab.config import TrainingSettings, UserError
from journeylab.operators.affine import onednn_wins
from journeylab.streams import Streams
from journeylab.training.ensemble import train_ensemble
from journeylab.training.loop import Problem, Trained, train

Engine = Literal["sequential", "batched"]
BATCH_BELOW = 8e8
"""Seeds are batched on CPU if a step has fewer floating-point operations than this. A small step
spends most of its time in calling operations, which seeds can share; a larger step spends it in
matrix products, which they cannot share."""
BATCH_BELOW_CONVOLVED = 4e8
"""The same where the maps of a seed that is trained alone run as convolutions, which are faster
than products (`journeylab.operators.affine`). Below it, maps are too small for that."""


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
    """Choose engine and device where they are `auto`.

    The device is a GPU if there is one. Several seeds are batched on a GPU, or if their steps are
    small. `flops`: floating-point operations of one step of one seed. Raises UserError if a GPU is
    required and missing.
    """
    gpu = torch.cuda.is_available()
    if device == "cuda" and not gpu:
        raise UserError("device: 'cuda': there is no usable CUDA GPU here; write auto or cpu")
    on_gpu = gpu and device != "cpu"
    if engine == "auto":
        below = BATCH_BELOW_CONVOLVED if onednn_wins() else BATCH_BELOW
        engine = "batched" if seeds > 1 and (on_gpu or flops < below) else "sequential"
    return Execution(engine, "cuda" if on_gpu else "cpu")


def train_seeds(
    problems: Sequence[Problem],
    settings: TrainingSettings,
    streams: Sequence[Streams],
    folder: Path,
    execution: Execution,
    *,
    label: str,
    identity: str,
    processor: str = "",
) -> list[Trained]:
    """Train a chunk of seeds, one result per seed; checkpoints in `folder` are resumed.

    `label` names the run in progress messages; `identity` and `processor` are those of `train`.
    """
    identity = f"{identity} | {execution.engine} on {execution.device}"
    first, last = streams[0].seed, streams[-1].seed
    if execution.engine == "batched":
        return train_ensemble(
            problems,
            settings,
            streams,
            folder / f"seeds-{first:02d}-{last:02d}.checkpoint",
            label=f"{label} seeds {first} to {last}",
            identity=identity,
            device=execution.device,
            processor=processor,
        )
    return [
        train(
            problem,
            settings,
            stream,
            folder / f"seed-{stream.replicate:0>2}.checkpoint",
            label=f"{label} seed {stream.replicate} ({position}/{len(streams)})",
            identity=identity,
            device=execution.device,
            processor=processor,
        )
        for position, (problem, stream) in enumerate(zip(problems, streams, strict=True), start=1)
    ]
