"""What files tell about jobs that are still running: steps, losses, and curves so far.

Training writes a small progress file beside its plan every few seconds, and its curves into its
checkpoints. Both are replaced atomically, so they can be read at any time. No result depends on
this module.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from journeylab.config import Frozen
from journeylab.records.files import SEAL

FRESH = 120.0
"""Seconds after which a progress file that did not change counts as that of a dead job."""
_CHECKPOINT = re.compile(r"seeds?-(\d+)(?:-(\d+))?\.checkpoint")


class JobProgress(Frozen):
    """How far a training job is.

    `done` and `total` are steps over all its seeds; `before` of these were done by an earlier
    attempt. This attempt has trained for `seconds`. It trains `seeds` seeds at once, and has taken
    `step` steps with them; `loss` is their mean loss since the last point of the curve. `step` is
    0 and `loss` None between seeds.
    """

    done: int
    before: int
    total: int
    seconds: float = 0.0
    seeds: int = 1
    step: int = 0
    loss: float | None = None

    @property
    def rate(self) -> float | None:
        """Mean steps per second of this attempt; None before its first step."""
        worked = self.done - self.before
        return worked / self.seconds if worked > 0 and self.seconds > 0 else None


class CurvePoint(NamedTuple):
    """A value of a metric of a seed at a step, and the time of the file that holds it."""

    seed: int
    metric: str
    step: int
    value: float
    written: float


def read_progress(plan: Path) -> tuple[JobProgress, float] | None:
    """The progress of the training job of a plan, and when it was written; None if there is none.

    A damaged file counts as none.
    """
    path = plan.with_suffix(".progress.json")
    try:
        written = path.stat().st_mtime
        return JobProgress.model_validate_json(path.read_bytes()), written
    except (OSError, ValidationError):
        return None


def is_fresh(written: float) -> bool:
    """Whether a file of a job that runs may have been written at this time."""
    return time.time() - written < FRESH


def read_curves(folder: Path) -> Iterator[CurvePoint]:
    """The points of all curves in the checkpoints of a run, as far as they can be read.

    Only the header of a checkpoint is read, so its checksum is not verified.
    """
    from safetensors import SafetensorError

    for path in sorted(folder.glob("seed*.checkpoint")):
        named = _CHECKPOINT.fullmatch(path.name)
        if named is None:
            continue
        try:
            written = path.stat().st_mtime
            curves = _curves(path)
        except (OSError, SafetensorError, ValueError, KeyError, TypeError):
            continue
        for seed, curve in enumerate(curves, start=int(named[1])):
            for step, metric, value in curve:
                if math.isfinite(value):
                    yield CurvePoint(seed, metric, step, value, written)


def _curves(path: Path) -> list[list[tuple[int, str, float]]]:
    """The curve of every seed in the header of a checkpoint."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        header = (file.metadata() or {})[SEAL]
    curves: list[list[tuple[int, str, float]]] = json.loads(json.loads(header)["notes"]["run"])[
        "curves"
    ]
    return curves
