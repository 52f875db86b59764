"""Curves of jobs that are training, as live runs in MLflow, one for each seed.

Training knows no tracking server. The points come from the files that a job writes anyway: the
curves in its checkpoints, and the mean loss in its progress file, under `live/loss`. When a job is
complete, the import of its records replaces its live runs.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from journeylab.records.files import SEAL
from journeylab.records.live import Activity, Job
from journeylab.records.runs import RUN
from journeylab.tracking.contents import MetricPoint, flat_settings, metric_name
from journeylab.tracking.experiment import (
    LIVE,
    all_runs,
    is_live,
    log_points,
    open_experiment,
    open_run,
)
from journeylab.tracking.store import importer_id

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

LOSS = "live/loss"
_CHECKPOINT = re.compile(r"seeds?-(\d+)[-\d]*\.checkpoint")


@dataclass
class _LiveRun:
    """A seed of a job: its points by metric and step, and what MLflow has of them."""

    job: Job
    points: dict[tuple[str, int], MetricPoint] = field(default_factory=dict)
    sent: set[tuple[str, int]] = field(default_factory=set)
    run: str = ""

    @property
    def due(self) -> list[tuple[str, int]]:
        return sorted(self.points.keys() - self.sent)


class LiveStudy:
    """The jobs of a study that are training: the points read so far, and those in MLflow."""

    def __init__(self, root: Path, study: str) -> None:
        self.root, self.study = root, study
        self.activity = Activity(root)
        self.live: dict[tuple[Path, int], _LiveRun] = {}
        self.dead: set[str] = set()
        self.clean = False

    def read(self) -> None:
        """Read the new points of all jobs in training; forget jobs that are complete or dead."""
        jobs = self.activity.read(self.study).get(self.study, [])
        training = {job.folder: job for job in jobs if job.state == "running" and job.progress}
        for folder, seed in [key for key in self.live if key[0] not in training]:
            run = self.live.pop((folder, seed)).run
            if run and not (folder / RUN).exists():  # else the import deletes it
                self.dead.add(run)
        for folder, job in training.items():
            for seed, point in _points_of(job):
                live = self.live.setdefault((folder, seed), _LiveRun(job))
                live.points.setdefault((point.metric, point.step), point)

    @property
    def is_due(self) -> bool:
        """Whether there are points that are not in MLflow, or runs of dead jobs that are."""
        return bool(self.dead) or any(live.due for live in self.live.values())

    def send(self, client: MlflowClient, local: bool) -> None:
        """Write the points that are not in MLflow yet, and delete the live runs of dead jobs.

        After an error, all live runs of this root are written again, with all points: nothing that
        was read is lost.
        """
        if not self.clean:
            self._begin(client, local)
        self.clean = False
        for run in self.dead:
            client.delete_run(run)
        self.dead.clear()
        for (_, seed), live in self.live.items():
            if due := live.due:
                self._log(client, seed, live, [live.points[key] for key in due])
                live.sent.update(due)
        self.clean = True

    def _begin(self, client: MlflowClient, local: bool) -> None:
        """Delete the live runs that an earlier process, or an interrupted write, left behind."""
        self.experiment = open_experiment(client, self.study, self.root if local else None)
        self.importer = importer_id(self.root)
        for run in all_runs(client, self.experiment):
            if is_live(run, self.importer):
                client.delete_run(run.info.run_id)
        self.dead.clear()
        for live in self.live.values():
            live.run = ""
            live.sent.clear()

    def _log(
        self, client: MlflowClient, seed: int, live: _LiveRun, points: list[MetricPoint]
    ) -> None:
        params: dict[str, str] = {}
        if not live.run:
            plan = live.job.plan
            variant = f"{plan.arm}/{plan.variant}"
            params = flat_settings(plan.settings)
            params |= {"arm": plan.arm or "", "variant": variant, "seed": str(seed)}
            tags = {"kind": LIVE, "study": self.study, "plan_key": plan.key}
            name = f"{variant}/{seed} (in training)"
            live.run = open_run(client, self.experiment, self.importer, name, tags)
        log_points(client, live.run, points, params)


def _points_of(job: Job) -> Iterator[tuple[int, MetricPoint]]:
    """Seed and point, in a job's checkpoints, and the mean loss of the seeds that train now."""
    seeds, progress = job.plan.seeds or (), job.progress
    yield from ((seed, point) for seed, point in read_curves(job.folder) if seed in seeds)
    if progress is None or progress.loss is None:
        return
    before = progress.done - progress.seeds * progress.step
    first = before * len(seeds) // progress.total
    point = MetricPoint(LOSS, progress.step, progress.loss, int(progress.written * 1000))
    yield from ((seed, point) for seed in seeds[first : first + progress.seeds])


def read_curves(folder: Path) -> Iterator[tuple[int, MetricPoint]]:
    """Seed and point of all curves in the checkpoints of a run, as far as they can be read.

    Only the header of a checkpoint is read, so its checksum is not verified.
    """
    from safetensors import SafetensorError, safe_open

    for path in sorted(folder.glob("seed*.checkpoint")):
        if not (named := _CHECKPOINT.fullmatch(path.name)):
            continue
        try:
            written = int(path.stat().st_mtime * 1000)
            with safe_open(path, framework="numpy") as file:
                header = json.loads((file.metadata() or {})[SEAL])
            curves = json.loads(header["notes"]["run"])["curves"]
        except (OSError, SafetensorError, ValueError, KeyError, TypeError):
            continue
        for seed, curve in enumerate(curves, start=int(named[1])):
            for step, metric, value in curve:
                if math.isfinite(value):
                    yield seed, MetricPoint(metric_name(metric), step, value, written)
