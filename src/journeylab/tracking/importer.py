"""Import of run records into MLflow, which is a view: losing it loses nothing.

One MLflow experiment per study, one run per seed of a run (or per run that has no seeds), found
again by its `run_key`. Imports can be repeated, interrupted and repeated; a single writer at a time
holds the lock beside the artifacts.
"""

from __future__ import annotations

import contextlib
import hashlib
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from journeylab.config import Frozen, UserError, canonical, masked
from journeylab.records import files, runs

if TYPE_CHECKING:
    import pandas as pd
    from mlflow.entities import Metric
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
_MEASURED = ("study", "arm", "variant", "seed", "draw", "metric", "value")
_FIGURES = (".pdf", ".png", ".svg")


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
        found = list(_all_runs(client, self.experiment))
        self.parents = [run for run in found if run.data.tags.get("kind") == "study"]
        self.known = [run for run in found if "run_key" in run.data.tags]

    def run(self) -> TrackingSummary:
        parent = self._open_parent()
        complete: dict[str, str] = {}
        for run in self.known:
            if run.info.status in ("FINISHED", "FAILED"):
                complete[run.data.tags["run_key"]] = run.data.tags.get("measurements", "")
            else:
                self.client.delete_run(run.info.run_id)
        keys: list[str] = []
        imported = 0
        for folder in runs.find_runs(self.root, self.study):
            chunk = _Chunk(folder)
            for seed in chunk.run.seeds or (None,):
                key = chunk.key(seed)
                keys.append(key)
                if complete.get(key) == chunk.measured:
                    continue
                self._delete(key)
                self._import_seed(chunk, seed, parent)
                imported += 1
        self._import_figures(parent)
        return TrackingSummary(
            study=self.study,
            runs=tuple(sorted(keys)),
            imported=imported,
            skipped=len(keys) - imported,
        )

    def _open_parent(self) -> str:
        if self.parents:
            return str(self.parents[0].info.run_id)
        tags = {"kind": "study", "study": self.study}
        return str(
            self.client.create_run(self.experiment, tags=tags, run_name=self.study).info.run_id
        )

    def _delete(self, key: str) -> None:
        for run in self.known:
            finished = run.info.status in ("FINISHED", "FAILED")
            if run.data.tags["run_key"] == key and finished:
                self.client.delete_run(run.info.run_id)

    def _import_seed(self, chunk: _Chunk, seed: runs.SeedRecord | None, parent: str) -> None:
        run, host = chunk.run, chunk.host
        started = int(host.started.timestamp() * 1000)
        seconds = host.seconds.get(seed.seed, 0.0) if seed else host.cost.wall_seconds
        ended = started + int(seconds * 1000)
        number = seed.seed if seed else None
        opened = self.client.create_run(
            self.experiment,
            start_time=started,
            tags=_tags(chunk, seed) | {"mlflow.parentRunId": parent},
            run_name="/".join((run.arm, run.variant, *([str(number)] if seed else []))),
        )
        run_id = opened.info.run_id
        self._log_params(run_id, _params(run))
        metrics = [*chunk.curve(number, started), *chunk.final(number, ended)]
        for first in range(0, len(metrics), _METRICS_PER_BATCH):
            self.client.log_batch(run_id, metrics=metrics[first : first + _METRICS_PER_BATCH])
        failed = seed is not None and seed.status == "failed"
        status = "FAILED" if failed else "FINISHED"
        self.client.set_terminated(run_id, status=status, end_time=ended)

    def _log_params(self, run_id: str, values: Mapping[str, str]) -> None:
        from mlflow.entities import Param

        params = [Param(name, value) for name, value in sorted(values.items())]
        for first in range(0, len(params), _PARAMS_PER_BATCH):
            self.client.log_batch(run_id, params=params[first : first + _PARAMS_PER_BATCH])

    def _import_figures(self, parent: str) -> None:
        folder = self.root / "reports" / self.study / "figures"
        figures = [path for path in sorted(folder.glob("*")) if path.suffix in _FIGURES]
        hashes = {path.name: files.sha256(path) for path in figures}
        drawn = hashlib.sha256(canonical(hashes).encode()).hexdigest()[:16] if hashes else ""
        run = self.client.get_run(parent)
        if run.data.tags.get("figures", "") != drawn:
            for path in figures:
                self.client.log_artifact(parent, str(path), "figures")
            self.client.set_tag(parent, "figures", drawn)
        if run.info.status != "FINISHED":
            self.client.set_terminated(parent)


class _Chunk:
    """The records of one run, as MLflow wants them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = runs.read_run(folder)
        self.host = runs.read_host(folder)
        self.measurements = folder / "measurements.parquet"
        exists = self.measurements.exists()
        self.measured = files.sha256(self.measurements)[:16] if exists else ""

    def key(self, seed: runs.SeedRecord | None) -> str:
        return seed.run_key if seed else self.run.run_key

    def curve(self, seed: int | None, timestamp: int) -> Iterator[Metric]:
        from mlflow.entities import Metric

        if self.run.kind == "computed":
            return
        points = _of_seed(files.read_table(self.folder / "curves.parquet"), seed)
        for step, metric, value in zip(
            points["step"], points["metric"], points["value"], strict=True
        ):
            yield Metric(_name(metric), float(value), timestamp, int(step))

    def final(self, seed: int | None, timestamp: int) -> Iterator[Metric]:
        from mlflow.entities import Metric

        trained = self.run.training
        costs = {
            "parameters": trained.parameters if trained else None,
            "training_flops": trained.flops if trained else None,
            "tokens": trained.tokens if trained else None,
            "seconds": self.host.seconds.get(seed) if seed is not None else None,
        }
        for name, cost in costs.items():
            if cost is not None:
                yield Metric(f"cost/{name}", float(cost), timestamp, 0)
        if not self.measured:
            return
        table = _of_seed(files.read_table(self.measurements), seed)
        factors = [name for name in table.columns if name not in _MEASURED]
        cases = table.groupby(["metric", *factors], dropna=False, sort=False)["value"]
        for case, values in cases:
            metric, *found = map(str, case)
            levels = [
                f"{name}.{level}"
                for name, level in zip(factors, found, strict=True)
                if level not in ("None", "<NA>", "nan")
            ]
            # of many draws of one case, the largest: what an exact claim is about
            yield Metric(
                _name("/".join(["final", metric, *levels])), float(values.max()), timestamp, 0
            )


def _open_experiment(client: MlflowClient, study: str, artifacts: str | None) -> str:
    experiment = client.get_experiment_by_name(study)
    if experiment is None:
        return str(client.create_experiment(study, artifact_location=artifacts))
    if experiment.lifecycle_stage == "deleted":
        client.restore_experiment(experiment.experiment_id)
    return str(experiment.experiment_id)


def _all_runs(client: MlflowClient, experiment: str) -> Iterator[Any]:
    token = None
    while True:
        page = client.search_runs([experiment], max_results=_RUNS_PER_PAGE, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def _tags(chunk: _Chunk, seed: runs.SeedRecord | None) -> dict[str, str]:
    run, host = chunk.run, chunk.host
    tags = {
        "kind": "seed" if seed else "run",
        "study": run.study,
        "arm": run.arm,
        "variant": run.variant,
        "seed": str(seed.seed) if seed else "",
        "run_key": chunk.key(seed),
        "plan_key": run.plan_key,
        "data": " ".join(run.inputs[name] for name in sorted(run.inputs)),
        "code": run.code,
        "commit": host.commit or "unknown",
        "dirty": str(host.dirty).lower(),
        "cpu": ", ".join(run.cpu),
        "measurements": chunk.measured,
    }
    return tags | ({"reason": seed.reason} if seed and seed.reason else {})


def _params(run: runs.RunRecord) -> dict[str, str]:
    params = dict(_flatten(run.settings))
    params |= {"engine": run.engine, "device": run.device, "threads": str(run.threads)}
    return params | {f"versions.{name}": text for name, text in run.versions.items()}


def _flatten(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield _name(f"{prefix}{key}"), value if isinstance(value, str) else canonical(value)


def _name(text: str) -> str:
    return re.sub(r"[^/\w.\- ]", "_", text.replace("@", "_at_"), flags=re.ASCII)


def _of_seed(table: pd.DataFrame, seed: int | None) -> pd.DataFrame:
    return table if seed is None else table[table["seed"] == seed]


def _state(root: Path, study: str) -> object:
    chunks = runs.find_runs(root, study)
    records = [folder / name for folder in chunks for name in (runs.RUN, "measurements.parquet")]
    figures = sorted((root / "reports" / study / "figures").glob("*"))
    return [(path, path.stat().st_mtime_ns) for path in [*records, *figures] if path.exists()]


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
