"""Import of one study into its MLflow experiment.

An experiment has a run for every seed (or for a run without seeds), identified by its `run_key`; a
parent run for the seeds of a variant, with their medians; a run with the study's verdicts and
report; and, while `watch` follows them, a live run for every seed in training.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from journeylab.config import Frozen
from journeylab.records import files, runs
from journeylab.records.listing import find_files
from journeylab.records.plans import plan_key
from journeylab.tracking.contents import (
    Chunk,
    MetricPoint,
    describe_study,
    look_tags,
    medians,
    read_study,
)
from journeylab.tracking.store import ARTIFACTS, importer_id

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

_METRICS_PER_BATCH, _PARAMS_PER_BATCH = 900, 100  # MLflow accepts 1000 in all
_RUNS_PER_PAGE = 1000
_FIGURES = (".pdf", ".png", ".svg")
_NOTE = "mlflow.note.content"
"""The tag that MLflow shows as a description."""
_KIND = "mlflow.experimentKind"
"""The tag that selects how the MLflow page shows an experiment."""
_PARENT = "mlflow.parentRunId"
_CONTENT = "content"
"""The tag with the hash of the description, report and figures that a root imported last."""
_COMPLETE = ("FINISHED", "FAILED")
_LEASE = 3_600_000
"""Milliseconds after which an unfinished run of another importer counts as left behind."""
LIVE = "live"
"""The kind of a run that shows a job while it trains."""


class TrackingSummary(Frozen):
    """The result of an import; `runs` are the keys of all records on disk, now in MLflow.

    If `damaged`, the records of the study are the reason for the `warning`, and not MLflow.
    """

    study: str
    runs: tuple[str, ...] = ()
    imported: int = 0
    skipped: int = 0
    warning: str | None = None
    damaged: bool = False


class StudyImport:
    """One import of one study; the caller holds the lock of the root.

    Importers of other roots, on this host or another, may write to the same experiment at the same
    time. Each leaves alone what another is writing, and looks again after it changed something.
    The last to look sees the runs of all, so that every seed is there once and every variant has
    its medians over the seeds of all roots.
    """

    def __init__(self, client: MlflowClient, root: Path, study: str, local: bool) -> None:
        self.client = client
        self.root = root
        self.study = study
        self.importer = importer_id(root)
        self.experiment = open_experiment(client, study, root if local else None)
        self.known: dict[str, list[Run]] = {}
        """The known runs by group: a sweep has thousands of groups."""
        self._refresh()

    def run(self) -> TrackingSummary:
        """Import what is new. Raises UserError for damaged records."""
        for run in [run for run in self._all_known() if self._is_stale(run)]:
            self._delete(run)
        groups: dict[str, list[Chunk]] = {}
        for folder in runs.find_runs(self.root, self.study):
            chunk = Chunk(folder)
            groups.setdefault(chunk.group, []).append(chunk)
        # MLflow lists the newest runs first, so the first group is written last
        imported = sum(self._import_group(group, groups[group]) for group in reversed(groups))
        if imported:
            self._refresh()
        complete = {chunk.run.plan_key for chunks in groups.values() for chunk in chunks}
        for run in [run for run in self._all_known() if is_live(run, self.importer)]:
            if run.data.tags["plan_key"] in complete:
                self._delete(run)
        variants = {group: chunks for group, chunks in groups.items() if chunks[0].run.seeds}
        # a sum, and not any(): every variant is looked at in each round
        while sum(self._complete_variant(each, variants[each]) for each in reversed(variants)):
            self._refresh()
        self._import_study()
        keys = sorted(c.key(seed) for chunks in groups.values() for c in chunks for seed in c.seeds)
        return TrackingSummary(
            study=self.study, runs=tuple(keys), imported=imported, skipped=len(keys) - imported
        )

    def _import_group(self, group: str, chunks: list[Chunk]) -> int:
        """Import the new seeds of a variant, or its run without seeds; how many were new."""
        held = self._seeds(group)
        imported = 0
        for chunk in chunks:
            for seed in chunk.seeds:
                known = held.get(chunk.key(seed))
                if known and self._is_outdated(known, chunk):
                    self._delete(known)
                elif known:
                    continue
                self._import_seed(chunk, seed)
                imported += 1
        return imported

    def _seeds(self, group: str) -> dict[str, Run]:
        """The complete runs of a group by run key, of equal ones that measured last."""
        held: dict[str, list[Run]] = {}
        for run in self._complete(group, "seed", "run"):
            held.setdefault(run.data.tags["run_key"], []).append(run)
        return {key: self._only(equal) for key, equal in held.items()}

    def _only(self, equal: list[Run]) -> Run:
        """Delete all but the first of equal runs: two importers may both have written one."""
        first, *others = sorted(equal, key=_precedence)
        for run in others:
            self._delete(run)
        return first

    def _complete(self, group: str, *kinds: str) -> list[Run]:
        return [
            run
            for run in self.known.get(group, [])
            if run.data.tags["kind"] in kinds and run.info.status in _COMPLETE
        ]

    def _complete_variant(self, group: str, chunks: list[Chunk]) -> bool:
        """Write the medians over all seeds of a group, or link the seeds to the run that has them.

        Returns whether anything changed, so that the runs have to be looked at again.
        """
        seeds = self._seeds(group)
        of = plan_key({key: run.data.tags["measurements"] for key, run in seeds.items()})
        held = []
        for run in self._complete(group, "variant"):
            if run.data.tags["of"] == of:
                held.append(run)
            else:
                self._delete(run)
        if held:
            return self._link(seeds.values(), self._only(held).info.run_id)
        on_disk = {chunk.key(seed): (chunk, seed) for chunk in chunks for seed in chunk.run.seeds}
        points = [
            on_disk[key][0].points(on_disk[key][1].seed) if key in on_disk else self._points(run)
            for key, run in seeds.items()
        ]
        name = f"{chunks[0].run.arm}/{chunks[0].run.variant}"
        parent = self._open(name, chunks[0].tags() | {"kind": "variant", "of": of})
        settings = chunks[0].params()
        del settings["variant"]  # grouping by it would mix medians with seeds
        log_points(self.client, parent, medians(points), settings, _now())
        self.client.set_terminated(parent)
        return True

    def _points(self, run: Run) -> list[MetricPoint]:
        """All numbers of a seed that another importer wrote."""
        return [
            MetricPoint(metric, point.step, point.value)
            for metric in run.data.metrics
            for point in self.client.get_metric_history(run.info.run_id, metric)
        ]

    def _link(self, seeds: Iterable[Run], parent: str) -> bool:
        """Put seeds below their parent; whether any was elsewhere."""
        moved = [run for run in seeds if run.data.tags.get(_PARENT) != parent]
        for run in moved:
            self.client.set_tag(run.info.run_id, _PARENT, parent)
        return bool(moved)

    def _import_seed(self, chunk: Chunk, seed: runs.SeedRecord | None) -> None:
        run, host = chunk.run, chunk.host
        number = seed.seed if seed else None
        started = int(host.started.timestamp() * 1000)
        seconds = host.cost.wall_seconds if number is None else host.seconds.get(number, 0.0)
        ended = started + int(seconds * 1000)
        tags = chunk.tags() | {"kind": "seed" if seed else "run", "run_key": chunk.key(seed)}
        if seed and seed.reason:
            tags["reason"] = seed.reason
        own = {} if number is None else {"seed": str(number)}
        opened = self._open("/".join((run.arm, run.variant, *own.values())), tags, started)
        log_points(self.client, opened, chunk.points(number), chunk.params() | own, ended)
        status = "FAILED" if seed is not None and seed.status == "failed" else "FINISHED"
        self.client.set_terminated(opened, status=status, end_time=ended)

    def _open(self, name: str, tags: Mapping[str, str], started: int | None = None) -> str:
        return open_run(self.client, self.experiment, self.importer, name, tags, started)

    def _import_study(self) -> None:
        """Update the study's own run, and its experiment, to this root's verdicts and figures.

        A root without any leaves those of others alone; among several, the last to change wins.
        """
        if not self._study_runs():
            self._open(self.study, {"kind": "study", "study": self.study})
            self._refresh()
        run = self._only(self._study_runs())
        parent = run.info.run_id
        report = self.root / "reports" / f"{self.study}.pdf"
        figures = self.root / "reports" / self.study / "figures"
        drawn = [path for path in find_files(figures, "*") if path.suffix in _FIGURES]
        verdicts = read_study(self.root, self.study)
        description = describe_study(self.root, self.study, verdicts)
        looks = look_tags(verdicts)
        typeset = [report] if report.exists() else []
        hashes = [files.sha256(path) for path in (*typeset, *drawn)]
        content = plan_key({"description": description, "files": hashes, **looks})
        tag = f"{_CONTENT}.{self.importer}"
        shown = verdicts or typeset or drawn or _NOTE not in run.data.tags
        if shown and run.data.tags.get(tag) != content:
            for path in typeset:
                self.client.log_artifact(parent, str(path))
            for path in drawn:
                self.client.log_artifact(parent, str(path), "figures")
            for name, text in {_NOTE: description, **looks}.items():
                self.client.set_tag(parent, name, text)
            self.client.set_experiment_tag(self.experiment, _NOTE, description)
            self.client.set_experiment_tag(self.experiment, _KIND, "custom_model_development")
            self.client.set_tag(parent, tag, content)
        if run.info.status != "FINISHED":
            self.client.set_terminated(parent)

    def _study_runs(self) -> list[Run]:
        return [run for run in self._all_known() if run.data.tags.get("kind") == "study"]

    def _refresh(self) -> None:
        self.known = {}
        for run in all_runs(self.client, self.experiment):
            self.known.setdefault(run.data.tags.get("group", ""), []).append(run)

    def _all_known(self) -> list[Run]:
        return [run for group in self.known.values() for run in group]

    def _delete(self, run: Run) -> None:
        self.client.delete_run(run.info.run_id)
        self.known[run.data.tags.get("group", "")].remove(run)

    def _is_mine(self, run: Run) -> bool:
        return run.data.tags.get("importer", self.importer) == self.importer

    def _is_stale(self, run: Run) -> bool:
        """Whether a run was left by an interrupted import, of another importer after an hour."""
        tags = run.data.tags
        if tags.get("kind") not in ("variant", "seed", "run") or run.info.status in _COMPLETE:
            return False
        return self._is_mine(run) or _now() - int(tags["opened"]) > _LEASE

    def _is_outdated(self, run: Run, chunk: Chunk) -> bool:
        """Whether a seed was measured otherwise; among several roots, the last measurement wins."""
        tags = run.data.tags
        newer = chunk.measured_at > int(tags.get("measured_at", 0))
        return tags["measurements"] != chunk.measured and (self._is_mine(run) or newer)


def is_live(run: Run, importer: str) -> bool:
    """Whether a run shows a job that was training, as `importer` saw it."""
    tags = run.data.tags
    return tags.get("kind") == LIVE and tags.get("importer") == importer


def log_points(
    client: MlflowClient,
    run_id: str,
    points: Iterable[MetricPoint],
    params: Mapping[str, str],
    moment: int = 0,
) -> None:
    """Write points, at a `moment` unless they have their own, and params, in batches for MLflow."""
    from mlflow.entities import Metric, Param

    metrics = [
        Metric(point.metric, point.value, point.moment or moment, point.step) for point in points
    ]
    named = [Param(name, value) for name, value in sorted(params.items())]
    batches = max(-(-len(metrics) // _METRICS_PER_BATCH), -(-len(named) // _PARAMS_PER_BATCH))
    for number in range(batches):
        first, param = number * _METRICS_PER_BATCH, number * _PARAMS_PER_BATCH
        client.log_batch(
            run_id,
            metrics=metrics[first : first + _METRICS_PER_BATCH],
            params=named[param : param + _PARAMS_PER_BATCH],
        )


def open_experiment(client: MlflowClient, study: str, root: Path | None) -> str:
    """The id of a study's experiment, made if it is missing; local artifacts lie below `root`."""
    from mlflow.exceptions import MlflowException

    experiment = client.get_experiment_by_name(study)
    if experiment is None:
        artifacts = (root / ARTIFACTS / study).resolve().as_uri() if root else None
        try:
            return str(client.create_experiment(study, artifact_location=artifacts))
        except MlflowException:
            experiment = client.get_experiment_by_name(study)
            if experiment is None:  # no other importer made it meanwhile
                raise
    if experiment.lifecycle_stage == "deleted":
        client.restore_experiment(experiment.experiment_id)
    return str(experiment.experiment_id)


def open_run(
    client: MlflowClient,
    experiment: str,
    importer: str,
    name: str,
    tags: Mapping[str, str],
    started: int | None = None,
) -> str:
    """Begin a run of this importer; returns its id."""
    written = {**tags, "importer": importer, "opened": str(_now())}
    run = client.create_run(experiment, start_time=started, tags=written, run_name=name)
    return str(run.info.run_id)


def all_runs(client: MlflowClient, experiment: str) -> Iterator[Run]:
    """All runs of an experiment that are not deleted."""
    token = None
    while True:
        page = client.search_runs([experiment], max_results=_RUNS_PER_PAGE, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def _precedence(run: Run) -> tuple[int, int, str]:
    """The order in which importers agree which of several equal runs stays."""
    tags = run.data.tags
    return -int(tags.get("measured_at", 0)), int(tags.get("opened", 0)), str(run.info.run_id)


def _now() -> int:
    return int(time.time() * 1000)
