"""Curves of jobs that are training, as live runs in MLflow, one for each seed.

Training knows no tracking server. The points come from the files that a job writes anyway: the
curves in its checkpoints, and the mean loss in its progress file, under `live/loss`. When a job is
complete, the import of its records replaces its live runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from journeylab.config import UserError
from journeylab.records.live import CurvePoint, is_fresh, read_curves, read_progress
from journeylab.records.plans import Plan, read_plan
from journeylab.records.runs import RUN
from journeylab.tracking.contents import flat_settings, metric_name
from journeylab.tracking.experiment import LIVE, all_runs, is_live, log_values, open_experiment
from journeylab.tracking.store import ARTIFACTS, importer_id

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

LOSS = "live/loss"


class _Point(NamedTuple):
    metric: str
    step: int


class LiveStudy:
    """The jobs of a study that are training: the points read so far, and those in MLflow."""

    def __init__(self, root: Path, study: str) -> None:
        self.root, self.study = root, study
        self.plans: dict[Path, Plan] = {}
        self.points: dict[tuple[Path, int], dict[_Point, CurvePoint]] = {}
        self.runs: dict[tuple[Path, int], str] = {}
        self.sent: dict[tuple[Path, int], set[_Point]] = {}
        self.dead: set[str] = set()
        self.clean = False

    def read(self) -> None:
        """Read the new points of all jobs in training; forget jobs that are complete or dead."""
        self.plans = {path: plan for path, plan in self._training() if plan.seeds}
        for path, seed in [key for key in self.points if key[0] not in self.plans]:
            run = self.runs.pop((path, seed), None)
            if run and not (_folder(path) / RUN).exists():  # else the import deletes it
                self.dead.add(run)
            del self.points[path, seed]
            self.sent.pop((path, seed), None)
        for path, plan in self.plans.items():
            for point in self._points_of(path, plan):
                points = self.points.setdefault((path, point.seed), {})
                points.setdefault(_Point(point.metric, point.step), point)

    @property
    def is_due(self) -> bool:
        """Whether there are points that are not in MLflow, or runs of dead jobs that are."""
        sent = self.sent.get
        return bool(self.dead) or any(
            points.keys() - sent(key, set()) for key, points in self.points.items()
        )

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
        for (path, seed), points in self.points.items():
            due = points.keys() - self.sent.setdefault((path, seed), set())
            if due:
                self._log(client, path, seed, [points[key] for key in sorted(due)])
                self.sent[path, seed] |= due
        self.clean = True

    def _training(self) -> Iterator[tuple[Path, Plan]]:
        """The plans of jobs whose progress file is fresh, and whose run is not complete."""
        for file in sorted(self.root.glob(f"plans/{self.study}/*/*/*/train.progress.json")):
            path = file.with_name("train.json")
            state = read_progress(path)
            if state is None or not is_fresh(state[1]) or (_folder(path) / RUN).exists():
                continue
            try:
                yield path, read_plan(path, "train")
            except UserError:
                continue

    def _points_of(self, path: Path, plan: Plan) -> Iterator[CurvePoint]:
        seeds = plan.seeds or ()
        yield from (point for point in read_curves(_folder(path)) if point.seed in seeds)
        state = read_progress(path)
        if state is None or state[0].loss is None:
            return
        progress, written = state
        before = progress.done - progress.seeds * progress.step
        first = before * len(seeds) // progress.total
        for seed in seeds[first : first + progress.seeds]:
            yield CurvePoint(seed, LOSS, progress.step, progress.loss or 0.0, written)

    def _begin(self, client: MlflowClient, local: bool) -> None:
        """Delete the live runs that an earlier process, or an interrupted write, left behind."""
        artifacts = (self.root / ARTIFACTS / self.study).resolve().as_uri() if local else None
        self.experiment = open_experiment(client, self.study, artifacts)
        self.importer = importer_id(self.root)
        for run in all_runs(client, self.experiment):
            if is_live(run, self.importer):
                client.delete_run(run.info.run_id)
        for held in (self.runs, self.sent, self.dead):
            held.clear()

    def _log(self, client: MlflowClient, path: Path, seed: int, points: list[CurvePoint]) -> None:
        from mlflow.entities import Metric

        run = self.runs.get((path, seed))
        params = {}
        if run is None:
            plan = self.plans[path]
            name = f"{plan.arm}/{plan.variant}"
            params = flat_settings(plan.settings)
            params |= {"arm": plan.arm or "", "variant": name, "seed": str(seed)}
            tags = {"kind": LIVE, "importer": self.importer, "study": self.study}
            tags["plan_key"] = plan.key
            opened = client.create_run(
                self.experiment, tags=tags, run_name=f"{name}/{seed} (in training)"
            )
            run = self.runs[path, seed] = str(opened.info.run_id)
        metrics = [
            Metric(metric_name(point.metric), point.value, int(point.written * 1000), point.step)
            for point in points
        ]
        log_values(client, run, metrics, params)


def _folder(plan: Path) -> Path:
    """The folder of the run of a plan."""
    study, arm, variant, seeds = plan.parts[-5:-1]
    return plan.parents[5] / "results" / study / arm / variant / seeds
