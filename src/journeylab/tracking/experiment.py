"""A study's experiment in MLflow: its runs, and what is written into them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from journeylab.records.files import write_atomic
from journeylab.tracking.contents import MetricPoint
from journeylab.tracking.store import ARTIFACTS, PROXIED, Store

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

_METRICS_PER_BATCH, _PARAMS_PER_BATCH = 890, 100  # MLflow accepts 1000 in all
_LEASE = 3_600_000
"""Milliseconds after which an unfinished run of another importer counts as left behind."""


class Experiment:
    """The experiment of a study, for one importer: a results root on a host.

    Importers of other roots may write at the same time.
    """

    def __init__(self, store: Store, study: str) -> None:
        self.store, self.root, self.study = store, store.root, study
        self.importer = store.importer

    def open(self, client: MlflowClient) -> None:
        """Use a client; make the experiment if it is missing."""
        from mlflow.exceptions import MlflowException

        self.client = client
        found = client.get_experiment_by_name(self.study)
        if found and found.lifecycle_stage == "deleted":
            client.restore_experiment(found.experiment_id)
        if found and self._was_elsewhere(found.artifact_location):
            # MLflow cannot change the location; the records are imported again
            name = f"{self.study} ({found.experiment_id}, before the folder moved)"
            client.rename_experiment(found.experiment_id, name)
            client.delete_experiment(found.experiment_id)
            found = None
        if found:
            self.id = str(found.experiment_id)
            return
        location = None if self.store.is_server else f"{PROXIED}{self.study}"
        try:
            self.id = str(client.create_experiment(self.study, artifact_location=location))
        except MlflowException:
            found = client.get_experiment_by_name(self.study)
            if found is None:  # no other importer made it meanwhile
                raise
            self.id = str(found.experiment_id)

    def _was_elsewhere(self, location: str) -> bool:
        """Whether version 1.1 or older put artifacts below the path of another folder.

        The folder was moved or copied since: a write there would miss it, or change the original.
        """
        below = f"{ARTIFACTS}/{self.study}"
        roots = self.root, self.store.artifacts.parent
        here = {(root / below).resolve().as_uri() for root in roots}
        old = location.startswith("file:") and location.endswith(f"/{below}")
        return old and location not in here and not self.store.is_server

    def runs(self, condition: str) -> list[Run]:
        """The runs under a condition, in MLflow's language, that are not deleted."""
        found: list[Run] = []
        token = None
        while token is None or token:
            page = self.client.search_runs([self.id], condition, max_results=1000, page_token=token)
            found += page
            token = page.token or ""
        return found

    def begin(self, name: str, tags: Mapping[str, str], started: int | None = None) -> str:
        """Begin a run of this importer; returns its id."""
        written = {"study": self.study, **tags, "importer": self.importer, "opened": str(now())}
        run = self.client.create_run(self.id, start_time=started, tags=written, run_name=name)
        return str(run.info.run_id)

    def log(
        self, run: str, points: Iterable[MetricPoint], params: Mapping[str, str], moment: int
    ) -> None:
        """Write params and points, at a `moment` unless they have their own, in batches."""
        from mlflow.entities import Metric, Param, RunTag

        metrics = [Metric(name, value, own or moment, step) for name, step, value, own in points]
        named = [Param(name, value) for name, value in sorted(params.items())]
        while metrics or named:
            opened = [RunTag("opened", str(now()))]
            batch = metrics[:_METRICS_PER_BATCH], named[:_PARAMS_PER_BATCH]
            self.client.log_batch(run, *batch, opened)
            metrics, named = metrics[_METRICS_PER_BATCH:], named[_PARAMS_PER_BATCH:]

    def points(self, run: Run) -> list[MetricPoint]:
        """All points of a run."""
        return [
            MetricPoint(metric, point.step, point.value)
            for metric in run.data.metrics
            for point in self.client.get_metric_history(run.info.run_id, metric)
        ]

    def upload(self, run: Run, file: Path, folder: str) -> None:
        """Copy a file to the artifacts of a run."""
        place = run.info.artifact_uri
        if self.store.is_server or not place.startswith(PROXIED):
            self.client.log_artifact(run.info.run_id, str(file), folder)
            return
        below = self.store.artifacts / place.removeprefix(PROXIED) / folder
        with write_atomic(below / file.name) as partial:
            shutil.copyfile(file, partial)

    def is_mine(self, run: Run) -> bool:
        """Whether this importer wrote a run."""
        return str(run.data.tags.get("importer", self.importer)) == self.importer

    def is_left(self, run: Run) -> bool:
        """Whether nobody writes an unfinished run any more: mine, or another's after an hour."""
        return self.is_mine(run) or now() - int(run.data.tags["opened"]) > _LEASE


def now() -> int:
    """The time in milliseconds."""
    return int(time.time() * 1000)
