"""Import of one study into its MLflow experiment.

An experiment has a run for every seed (or for a run without seeds), identified by its `run_key`; a
parent run for the seeds of a variant, with their medians; and a run with the study's verdicts and
report.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from journeylab.config import Frozen
from journeylab.records import files, runs
from journeylab.records.plans import plan_key
from journeylab.tracking.contents import Chunk, MetricPoint, describe_study, medians
from journeylab.tracking.store import ARTIFACTS

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
_CONTENT = "content"
"""The tag with the hash of the description, report and figures that were imported last."""


class TrackingSummary(Frozen):
    """The result of an import; `runs` are the keys of all records on disk, now in MLflow."""

    study: str
    runs: tuple[str, ...] = ()
    imported: int = 0
    skipped: int = 0
    warning: str | None = None


class StudyImport:
    """One import of one study; the caller holds the lock."""

    def __init__(self, client: MlflowClient, root: Path, study: str, local: bool) -> None:
        self.client = client
        self.root = root
        self.study = study
        artifacts = (root / ARTIFACTS / study).resolve().as_uri() if local else None
        self.experiment = _open_experiment(client, study, artifacts)
        self.known = list(_all_runs(client, self.experiment))
        self.groups: defaultdict[str, list[Run]] = defaultdict(list)
        """The known runs by group: a sweep has thousands of groups."""
        for run in self.known:
            self.groups[run.data.tags.get("group", "")].append(run)

    def run(self) -> TrackingSummary:
        """Import what is new. Raises UserError for damaged records."""
        for run in [run for run in self.known if _is_stale(run)]:
            self._delete(run)
        groups: dict[str, list[Chunk]] = {}
        for folder in runs.find_runs(self.root, self.study):
            chunk = Chunk(folder)
            groups.setdefault(chunk.group, []).append(chunk)
        # MLflow lists the newest runs first, so the first group is written last
        imported = sum(self._import_group(group, groups[group]) for group in reversed(groups))
        self._import_study()
        keys = sorted(c.key(seed) for chunks in groups.values() for c in chunks for seed in c.seeds)
        return TrackingSummary(
            study=self.study,
            runs=tuple(keys),
            imported=imported,
            skipped=len(keys) - imported,
        )

    def _import_group(self, group: str, chunks: list[Chunk]) -> int:
        """Import the new seeds of a variant below a run with their medians; how many were new."""
        held = list(self.groups[group])
        seeds = {run.data.tags["run_key"]: run for run in held if "run_key" in run.data.tags}
        on_disk = {c.key(seed): (c, seed) for c in chunks for seed in c.seeds}
        for key, (chunk, _) in on_disk.items():
            if key in seeds and seeds[key].data.tags["measurements"] != chunk.measured:
                self._delete(seeds.pop(key))
        due = [entry for key, entry in on_disk.items() if key not in seeds]
        if not chunks[0].run.seeds:
            for chunk, seed in due:
                self._import_seed(chunk, seed, {})
            return len(due)
        of = plan_key({key: chunk.measured for key, (chunk, _) in on_disk.items()})
        parents = [run for run in held if run.data.tags["kind"] == "variant"]
        if len(parents) == 1 and parents[0].data.tags["of"] == of:
            parent = parents[0].info.run_id
        else:
            for run in parents:
                self._delete(run)
            parent = self._open_variant(chunks[0], of)
            for run in seeds.values():
                self.client.set_tag(run.info.run_id, "mlflow.parentRunId", parent)
        for chunk, seed in due:
            self._import_seed(chunk, seed, {"mlflow.parentRunId": parent})
        if not parents or parent != parents[0].info.run_id:
            settings = chunks[0].params()
            del settings["variant"]  # grouping by it would mix medians with seeds
            self._log(parent, medians(chunks), int(time.time() * 1000), settings)
            self.client.set_terminated(parent)
        return len(due)

    def _open_variant(self, chunk: Chunk, of: str) -> str:
        name = f"{chunk.run.arm}/{chunk.run.variant}"
        tags = chunk.tags() | {"kind": "variant", "of": of}
        return str(self.client.create_run(self.experiment, tags=tags, run_name=name).info.run_id)

    def _import_seed(
        self, chunk: Chunk, seed: runs.SeedRecord | None, parent: dict[str, str]
    ) -> None:
        run, host = chunk.run, chunk.host
        number = seed.seed if seed else None
        started = int(host.started.timestamp() * 1000)
        seconds = host.cost.wall_seconds if number is None else host.seconds.get(number, 0.0)
        ended = started + int(seconds * 1000)
        tags = (
            chunk.tags() | parent | {"kind": "seed" if seed else "run", "run_key": chunk.key(seed)}
        )
        if seed and seed.reason:
            tags["reason"] = seed.reason
        own = {} if number is None else {"seed": str(number)}
        opened = self.client.create_run(
            self.experiment,
            start_time=started,
            tags=tags,
            run_name="/".join((run.arm, run.variant, *own.values())),
        )
        self._log(opened.info.run_id, chunk.points(number), ended, chunk.params() | own)
        status = "FAILED" if seed is not None and seed.status == "failed" else "FINISHED"
        self.client.set_terminated(opened.info.run_id, status=status, end_time=ended)

    def _log(
        self, run_id: str, points: Iterable[MetricPoint], moment: int, params: Mapping[str, str]
    ) -> None:
        from mlflow.entities import Metric, Param

        metrics = [Metric(name, value, moment, step) for name, step, value in points]
        named = [Param(name, value) for name, value in sorted(params.items())]
        while metrics or named:  # together: each request is a transaction
            self.client.log_batch(
                run_id, metrics=metrics[:_METRICS_PER_BATCH], params=named[:_PARAMS_PER_BATCH]
            )
            del metrics[:_METRICS_PER_BATCH], named[:_PARAMS_PER_BATCH]

    def _import_study(self) -> None:
        """Update the study's own run, and its experiment, to the current verdicts and figures."""
        own = [run for run in self.known if run.data.tags.get("kind") == "study"]
        tags = {"kind": "study", "study": self.study}
        run = (
            own[0]
            if own
            else self.client.create_run(self.experiment, tags=tags, run_name=self.study)
        )
        parent = run.info.run_id
        report = self.root / "reports" / f"{self.study}.pdf"
        figures = self.root / "reports" / self.study / "figures"
        drawn = [path for path in sorted(figures.glob("*")) if path.suffix in _FIGURES]
        description = describe_study(self.root, self.study)
        typeset = [report] if report.exists() else []
        hashes = [files.sha256(path) for path in (*typeset, *drawn)]
        content = plan_key({"description": description, "files": hashes})
        if run.data.tags.get(_CONTENT) != content:
            for path in typeset:
                self.client.log_artifact(parent, str(path))
            for path in drawn:
                self.client.log_artifact(parent, str(path), "figures")
            self.client.set_tag(parent, _NOTE, description)
            self.client.set_experiment_tag(self.experiment, _NOTE, description)
            self.client.set_experiment_tag(self.experiment, _KIND, "custom_model_development")
            self.client.set_tag(parent, _CONTENT, content)
        if run.info.status != "FINISHED":
            self.client.set_terminated(parent)

    def _delete(self, run: Run) -> None:
        self.client.delete_run(run.info.run_id)
        self.known.remove(run)
        self.groups[run.data.tags.get("group", "")].remove(run)


def _is_stale(run: Run) -> bool:
    """Whether one of our runs was left by an interrupted import, or is older than groups."""
    tags = run.data.tags
    ours = tags.get("kind") in ("variant", "seed", "run")
    return ours and not ("group" in tags and run.info.status in ("FINISHED", "FAILED"))


def _open_experiment(client: MlflowClient, study: str, artifacts: str | None) -> str:
    experiment = client.get_experiment_by_name(study)
    if experiment is None:
        return str(client.create_experiment(study, artifact_location=artifacts))
    if experiment.lifecycle_stage == "deleted":
        client.restore_experiment(experiment.experiment_id)
    return str(experiment.experiment_id)


def _all_runs(client: MlflowClient, experiment: str) -> Iterator[Run]:
    token = None
    while True:
        page = client.search_runs([experiment], max_results=_RUNS_PER_PAGE, page_token=token)
        yield from page
        token = page.token
        if not token:
            return
