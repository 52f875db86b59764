"""Curves of jobs that are training, as live runs in MLflow, one for each seed.

Training knows no tracking server. The points come from the files that a job writes anyway: the
curves in its checkpoints, and the mean loss in its progress file, under `live/loss`. A live run is
shown as killed or failed when its job is, goes on when the job does, and is deleted when the job is
complete, since its records are imported, or when the settings changed.
"""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

from journeylab.records.files import SEAL
from journeylab.records.live import Activity, Job
from journeylab.tracking.contents import MetricPoint, flat_settings, metric_name
from journeylab.tracking.experiment import Experiment, now

LIVE = "live"
"""The kind of a run that shows a job while it trains."""
LOSS = "live/loss"
_CHECKPOINT = re.compile(r"seeds?-(\d+)[-\d]*\.checkpoint")
_SHOWN = {
    "running": ("RUNNING", "in training"),
    "stopped": ("KILLED", "interrupted"),
    "failed": ("FAILED", "failed"),
}
"""State of a job → status and name of its live runs."""


class LiveRuns:
    """The jobs of a study that are training, and the points of each seed that were read so far.

    Live runs begin if `follow`; else those of an earlier process are brought up to date only.
    """

    def __init__(self, root: Path, study: str, follow: bool) -> None:
        self.study, self.follow = study, follow
        self.activity = Activity(root)
        self.jobs: dict[str, Job] = {}
        self.points: dict[tuple[str, str], dict[tuple[str, int], MetricPoint]] = {}
        """The points of a seed, by the key of its plan and its number, by metric and step."""
        self.sent: dict[str, set[tuple[str, int]]] = {}
        """What MLflow has, by run."""
        self.shown: object = None

    def read(self) -> None:
        """Read all jobs, and the new points of those in training."""
        jobs = self.activity.read(self.study).get(self.study, [])
        self.jobs = {job.plan.key: job for job in jobs if job.state in _SHOWN}
        for key, job in self.jobs.items():
            if job.state == "running" and job.progress:
                for seed, point in _points_of(job):
                    points = self.points.setdefault((key, str(seed)), {})
                    points.setdefault((point.metric, point.step), point)
        for ended in [each for each in self.points if each[0] not in self.jobs]:
            del self.points[ended]

    @property
    def is_due(self) -> bool:
        """Whether MLflow lacks a point, or the state of a job."""
        return self.shown != self._state()

    def _state(self) -> object:
        states = {key: job.state for key, job in self.jobs.items()}
        return states, {key: len(points) for key, points in self.points.items()}

    def send(self, experiment: Experiment) -> None:
        """Bring the live runs of this root up to date, and end those that others left behind."""
        runs = experiment.runs(f"tags.kind = '{LIVE}'")
        if runs and not self.follow:
            self.read()
        seeds = {(key, str(n)): job for key, job in self.jobs.items() for n in job.plan.seeds or ()}
        for run in runs:
            number, tags = run.info.run_id, run.data.tags
            if not experiment.is_mine(run):
                if run.info.status == "RUNNING" and experiment.is_left(run):
                    experiment.client.set_terminated(number, "KILLED")
                continue
            key = tags["plan_key"], tags.get("seed", "")
            if (job := seeds.pop(key, None)) is None:
                experiment.client.delete_run(number)
                continue
            status, word = _SHOWN[job.state]
            if run.info.status != status:
                experiment.client.update_run(number, status, _name(job, key[1], word))
                if job.sign and status != "RUNNING":
                    experiment.client.set_terminated(number, status, int(job.sign * 1000))
            if number not in self.sent:
                self.sent[number] = {(each.metric, each.step) for each in experiment.points(run)}
            self._log(experiment, number, key, job)
        for key, job in seeds.items():
            if self.follow and job.state == "running" and key in self.points:
                tags = {"kind": LIVE, "plan_key": key[0], "seed": key[1]}
                number = experiment.begin(_name(job, key[1], "in training"), tags)
                self._log(experiment, number, key, job)
        self.shown = self._state()

    def _log(self, experiment: Experiment, run: str, key: tuple[str, str], job: Job) -> None:
        sent, points = self.sent.setdefault(run, set()), self.points.get(key, {})
        if due := sorted(points.keys() - sent):
            plan, params = job.plan, {}
            if not sent:
                params = flat_settings(plan.settings) | {"arm": plan.arm or "", "seed": key[1]}
                params |= {"variant": f"{plan.arm}/{plan.variant}"}
            experiment.log(run, [points[each] for each in due], params, now())
            sent.update(due)


def _name(job: Job, seed: str, state: str) -> str:
    return f"{job.plan.arm}/{job.plan.variant}/{seed} ({state})"


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
