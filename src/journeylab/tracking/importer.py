"""Import of run records into MLflow, which is a view: losing it loses nothing.

One MLflow experiment per study; in it a run per seed (or per run that has no seeds), found again by
its `run_key`, a run above the seeds of a variant that has their medians, and one with the study's
verdicts and report. Imports can be repeated, interrupted and repeated; a single writer at a time
holds the lock beside the artifacts.
"""

from __future__ import annotations

import contextlib
import http.client
import logging
import os
import re
import socket
import sqlite3
import sys
import textwrap
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from journeylab.config import Frozen, UserError, masked
from journeylab.records import files, runs
from journeylab.records.plans import plan_key
from journeylab.tracking.contents import Chunk, Point, describe_study, medians

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

LOCAL = "sqlite:///mlflow.db"
ARTIFACTS = "mlartifacts"
LOCK = f"{ARTIFACTS}/.lock"
_NEEDED = 1 << 20
"""Bytes that must fit on the disk before an import begins."""
_ATTEMPTS = 2
"""How often MLflow opens a database that it cannot open; ten times by itself, in two minutes."""
_METRICS_PER_BATCH = 1000
_PARAMS_PER_BATCH = 100
_RUNS_PER_PAGE = 1000
_PORTS = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}
_WARNING = 250  # characters
_FIGURES = (".pdf", ".png", ".svg")
_NOTE = "mlflow.note.content"
"""The tag that MLflow shows as a description."""
_KIND = "mlflow.experimentKind"
"""The tag by which a server that has no switch for it chooses how to show an experiment."""


class TrackingSummary(Frozen):
    """What an import did. `runs` are the keys MLflow holds of the records now on disk."""

    study: str
    runs: tuple[str, ...] = ()
    imported: int = 0
    skipped: int = 0
    warning: str | None = None


def import_runs(
    root: Path, study: str, uri: str = LOCAL, *, timeout: float = 3.0, patience: float = 60.0
) -> TrackingSummary:
    """Bring MLflow up to date with a study's runs, measurements and figures.

    Runs that MLflow already holds completely are left alone; an interrupted import's are replaced,
    as are those measured since. `sqlite:///mlflow.db` lies in `root`, as do local artifacts.
    A server gets `timeout` seconds per request; another importer gets `patience` seconds to end.
    MLflow's failures end in the summary's `warning`, which tells no password. Raises UserError for
    damaged records.
    """
    with _client_environment(root, timeout):
        import mlflow.exceptions
        import mlflow.store.db.utils
        import mlflow.tracking
        import sqlalchemy.exc
        from filelock import FileLock, Timeout

        for name in ("mlflow", "alembic"):
            logging.getLogger(name).setLevel(logging.WARNING)
        logging.getLogger("mlflow.store.db.utils").setLevel(logging.ERROR)
        mlflow.store.db.utils.MAX_RETRY_COUNT = _ATTEMPTS
        failures = (
            mlflow.exceptions.MlflowException,
            sqlalchemy.exc.SQLAlchemyError,
            sqlite3.Error,
            ImportError,
            OSError,
        )
        summary = TrackingSummary(study=study)
        try:
            _reach(uri, timeout)
            (root / ARTIFACTS).mkdir(parents=True, exist_ok=True)
            with FileLock(root / LOCK, timeout=patience):
                check_writable(uri, root)
                client = mlflow.tracking.MlflowClient(tracking_uri=locate(uri, root))
                return _StudyImport(client, root, study, is_local(uri)).run()
        except Timeout:
            return _warned(summary, uri, f"{root / LOCK} is held by another import")
        except failures as error:
            return _warned(summary, uri, str(error) or type(error).__name__)


def import_studies(
    root: Path, uri: str = LOCAL, studies: Sequence[str] | None = None
) -> Iterator[TrackingSummary]:
    """Import `studies`, or all that have results, up to the first that ends in a warning.

    What kept MLflow from that one would keep it from the others. Errors as in `import_runs`.
    """
    for study in find_studies(root) if studies is None else studies:
        summary = import_runs(root, study, uri)
        yield summary
        if summary.warning:
            return


def tell(summary: TrackingSummary) -> None:
    """Print what an import did, or else its warning, in one line."""
    if summary.warning:
        print(f"warning: {summary.warning}", file=sys.stderr)
        return
    print(f"{summary.study}: {summary.imported} runs imported, {summary.skipped} were there")


def watch(
    root: Path,
    uri: str = LOCAL,
    *,
    interval: float = 5.0,
    report: Callable[[TrackingSummary], None] = lambda summary: None,
    rounds: int | None = None,
) -> None:
    """Import what appears while jobs run, every `interval` seconds, until interrupted.

    `report` hears of every import that changed something or failed; `rounds` limits the passes.
    """
    seen: dict[str, object] = {}
    passes = 0
    while rounds is None or passes < rounds:
        if passes:
            time.sleep(interval)
        passes += 1
        for study in find_studies(root):
            state = _state(root, study)
            if seen.get(study) == state:
                continue
            try:
                summary = import_runs(root, study, uri)
            except UserError as error:
                summary = TrackingSummary(study=study, warning=str(error))
            if summary.warning is None:
                seen[study] = state
            if summary.warning or summary.imported:
                report(summary)


def find_studies(root: Path) -> list[str]:
    """The studies that have results below `root`, trained or not."""
    return sorted(path.name for path in root.glob("results/*") if path.is_dir())


def is_local(uri: str) -> bool:
    """Whether `uri` is a file of this machine rather than a server."""
    return uri.startswith("sqlite:")


class _StudyImport:
    """One pass over one study, with the lock held."""

    def __init__(self, client: MlflowClient, root: Path, study: str, local: bool) -> None:
        self.client = client
        self.root = root
        self.study = study
        artifacts = (root / ARTIFACTS / study).resolve().as_uri() if local else None
        self.experiment = _open_experiment(client, study, artifacts)
        self.known = list(_all_runs(client, self.experiment))

    def run(self) -> TrackingSummary:
        for run in [run for run in self.known if _is_stale(run)]:
            self._delete(run)
        groups: dict[str, list[Chunk]] = {}
        for folder in runs.find_runs(self.root, self.study):
            chunk = Chunk(folder)
            groups.setdefault(chunk.group, []).append(chunk)
        # MLflow lists the newest first: what is above the others is written after them
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
        """Import a variant's seeds below a run that has their medians; how many were not there."""
        held = [run for run in self.known if run.data.tags.get("group") == group]
        seeds = {run.data.tags["run_key"]: run for run in held if "run_key" in run.data.tags}
        wanted = {c.key(seed): (c, seed) for c in chunks for seed in c.seeds}
        for key, (chunk, _) in wanted.items():
            if key in seeds and seeds[key].data.tags["measurements"] != chunk.measured:
                self._delete(seeds.pop(key))
        due = [entry for key, entry in wanted.items() if key not in seeds]
        if not chunks[0].run.seeds:
            for chunk, seed in due:
                self._import_seed(chunk, seed, {})
            return len(due)
        of = plan_key({key: chunk.measured for key, (chunk, _) in wanted.items()})
        above = [run for run in held if run.data.tags["kind"] == "variant"]
        if len(above) == 1 and above[0].data.tags["of"] == of:
            parent = above[0].info.run_id
        else:
            for run in above:
                self._delete(run)
            parent = self._open_variant(chunks[0], of)
            for run in seeds.values():
                self.client.set_tag(run.info.run_id, "mlflow.parentRunId", parent)
        for chunk, seed in due:
            self._import_seed(chunk, seed, {"mlflow.parentRunId": parent})
        if not above or parent != above[0].info.run_id:
            settings = chunks[0].params()
            del settings["variant"]  # or a reader who groups by it would mix medians with seeds
            self._log(parent, medians(chunks), int(time.time() * 1000), settings)
            self.client.set_terminated(parent)
        return len(due)

    def _open_variant(self, chunk: Chunk, of: str) -> str:
        name = f"{chunk.run.arm}/{chunk.run.variant}"
        tags = chunk.tags() | {"kind": "variant", "of": of}
        return str(self.client.create_run(self.experiment, tags=tags, run_name=name).info.run_id)

    def _import_seed(
        self, chunk: Chunk, seed: runs.SeedRecord | None, above: dict[str, str]
    ) -> None:
        run, host = chunk.run, chunk.host
        number = seed.seed if seed else None
        started = int(host.started.timestamp() * 1000)
        seconds = host.cost.wall_seconds if number is None else host.seconds.get(number, 0.0)
        ended = started + int(seconds * 1000)
        tags = (
            chunk.tags() | above | {"kind": "seed" if seed else "run", "run_key": chunk.key(seed)}
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
        self, run_id: str, points: Iterable[Point], moment: int, params: Mapping[str, str]
    ) -> None:
        from mlflow.entities import Metric, Param

        metrics = [Metric(name, value, moment, step) for name, step, value in points]
        for first in range(0, len(metrics), _METRICS_PER_BATCH):
            self.client.log_batch(run_id, metrics=metrics[first : first + _METRICS_PER_BATCH])
        named = [Param(name, value) for name, value in sorted(params.items())]
        for first in range(0, len(named), _PARAMS_PER_BATCH):
            self.client.log_batch(run_id, params=named[first : first + _PARAMS_PER_BATCH])

    def _import_study(self) -> None:
        """Bring the study's own run, and its experiment, up to what is judged and drawn."""
        found = [run for run in self.known if run.data.tags.get("kind") == "study"]
        tags = {"kind": "study", "study": self.study}
        run = (
            found[0]
            if found
            else self.client.create_run(self.experiment, tags=tags, run_name=self.study)
        )
        parent = run.info.run_id
        report = self.root / "reports" / f"{self.study}.pdf"
        figures = self.root / "reports" / self.study / "figures"
        drawn = [path for path in sorted(figures.glob("*")) if path.suffix in _FIGURES]
        described = describe_study(self.root, self.study)
        typeset = [report] if report.exists() else []
        hashes = [files.sha256(path) for path in (*typeset, *drawn)]
        told = plan_key({"described": described, "files": hashes})
        if run.data.tags.get("told") != told:
            for path in typeset:
                self.client.log_artifact(parent, str(path))
            for path in drawn:
                self.client.log_artifact(parent, str(path), "figures")
            self.client.set_tag(parent, _NOTE, described)
            self.client.set_experiment_tag(self.experiment, _NOTE, described)
            self.client.set_experiment_tag(self.experiment, _KIND, "custom_model_development")
            self.client.set_tag(parent, "told", told)
        if run.info.status != "FINISHED":
            self.client.set_terminated(parent)

    def _delete(self, run: Run) -> None:
        self.client.delete_run(run.info.run_id)
        self.known.remove(run)


def _is_stale(run: Run) -> bool:
    """Whether an import was interrupted in a run of ours, or it is from before runs had groups."""
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


def _state(root: Path, study: str) -> object:
    chunks = runs.find_runs(root, study)
    records = [folder / name for folder in chunks for name in (runs.RUN, files.MEASUREMENTS)]
    told = [root / "results" / study / files.VERDICTS, root / "reports" / f"{study}.pdf"]
    figures = sorted((root / "reports" / study / "figures").glob("*"))
    made = [path for path in (*records, *told, *figures) if path.exists()]
    return [(path, path.stat().st_mtime_ns) for path in made]


def locate(uri: str, root: Path) -> str:
    """Read a relative sqlite path as relative to `root`, not to wherever we happen to run."""
    match = re.fullmatch(r"sqlite:///(?!/)(.+)", uri)
    return f"sqlite:///{(root / match[1]).resolve()}" if match else uri


def _reach(uri: str, timeout: float) -> None:
    """Raise OSError unless a server answers in time: MLflow itself would wait for minutes."""
    try:
        parts = urlsplit(uri)
        if parts.scheme in ("http", "https"):
            where = f"{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
            with contextlib.suppress(urllib.error.HTTPError):
                health = f"{parts.scheme}://{where}/health"
                urllib.request.urlopen(health, timeout=timeout).close()
        elif parts.hostname:
            port = parts.port or _PORTS.get(parts.scheme.partition("+")[0])
            if port:
                socket.create_connection((parts.hostname, port), timeout=timeout).close()
    except (ValueError, http.client.HTTPException):  # what these say may be part of a password
        raise OSError("it is no address, or what answers is no server of MLflow's") from None


def check_writable(uri: str, root: Path) -> None:
    """Raise OSError or sqlite3.Error unless a local store can be written, without changing it.

    MLflow itself would try for two minutes, and say so in forty lines.
    """
    if not is_local(uri):
        return
    store = Path(locate(uri, root).removeprefix("sqlite:///"))
    probe = store.with_name(f".{store.name}.probe")
    try:
        with probe.open("wb") as filled:
            filled.write(bytes(_NEEDED))
            filled.flush()
            os.fsync(filled.fileno())
    finally:
        with contextlib.suppress(OSError):
            probe.unlink(missing_ok=True)
    if store.exists():
        with contextlib.closing(sqlite3.connect(store, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")


@contextlib.contextmanager
def _client_environment(root: Path, timeout: float) -> Iterator[None]:
    """MLflow's client takes these from the environment only, some while it is being imported."""
    chosen = {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
        "MLFLOW_HTTP_REQUEST_TIMEOUT": str(max(1, round(timeout))),
        # without it a local client makes ./mlruns wherever it runs
        "_MLFLOW_SERVER_ARTIFACT_ROOT": (root / ARTIFACTS).resolve().as_uri(),
    }
    previous = {name: os.environ.get(name) for name in chosen}
    os.environ.update(chosen)
    try:
        yield
    finally:
        for name, value in previous.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _warned(summary: TrackingSummary, uri: str, cause: str) -> TrackingSummary:
    first = masked(cause.strip().splitlines()[0])
    for secret in _secrets(uri):
        first = first.replace(secret, "***")
    told = f"MLflow at {masked(uri)} got nothing new: {first}"
    return summary.model_copy(update={"warning": textwrap.shorten(told, _WARNING)})


def _secrets(uri: str) -> set[str]:
    """The password of an address, as it is written and as it is meant."""
    with contextlib.suppress(ValueError):
        password = urlsplit(uri).password
        if password:
            return {password, unquote(password)}
    return set()
