"""Import of run records into MLflow.

MLflow is only a view of the records: if its store is lost, it can be imported again. Imports can be
repeated and interrupted; the lock beside the artifacts admits a single writer at a time.
"""

from __future__ import annotations

import logging
import sqlite3
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from journeylab.config import UserError, masked
from journeylab.records import files, runs
from journeylab.tracking.experiment import StudyImport, TrackingSummary
from journeylab.tracking.store import (
    ARTIFACTS,
    LOCAL,
    LOCK,
    check_reachable,
    check_writable,
    client_environment,
    is_local,
    locate,
    secrets,
)

_ATTEMPTS = 2
"""Attempts to open a database; MLflow's own default is ten attempts, which take two minutes."""
_WARNING = 250  # characters


def import_runs(
    root: Path, study: str, uri: str = LOCAL, *, timeout: float = 3.0, patience: float = 60.0
) -> TrackingSummary:
    """Bring MLflow up to date with a study's runs, measurements and figures.

    Complete runs are not imported again. Runs of an interrupted import are replaced, and so are
    runs that were measured again. `sqlite:///mlflow.db` and local artifacts lie in `root`. A server
    has `timeout` seconds for each request; another import has `patience` seconds to finish.
    Failures of MLflow are returned as the summary's `warning`, without passwords. Raises UserError
    for damaged records.
    """
    with client_environment(root, timeout):
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
            check_reachable(uri, timeout)
            (root / ARTIFACTS).mkdir(parents=True, exist_ok=True)
            with FileLock(root / LOCK, timeout=patience):
                check_writable(uri, root)
                client = mlflow.tracking.MlflowClient(tracking_uri=locate(uri, root))
                return StudyImport(client, root, study, is_local(uri)).run()
        except Timeout:
            return _warned(summary, uri, f"{root / LOCK} is held by another import")
        except failures as error:
            return _warned(summary, uri, str(error) or type(error).__name__)


def import_studies(
    root: Path, uri: str = LOCAL, studies: Sequence[str] | None = None
) -> Iterator[TrackingSummary]:
    """Import `studies`, or all with results, up to the first that ends in a warning.

    The other studies would fail for the same reason. Errors as in `import_runs`.
    """
    for study in find_studies(root) if studies is None else studies:
        summary = import_runs(root, study, uri)
        yield summary
        if summary.warning:
            return


def tell(summary: TrackingSummary) -> None:
    """Print the result of an import, or its warning, in one line."""
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
    """Import new results every `interval` seconds until interrupted.

    `report` is called after every import that changed something or failed; `rounds` limits the
    number of passes.
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
    """The studies with results below `root`."""
    return sorted(path.name for path in root.glob("results/*") if path.is_dir())


def _state(root: Path, study: str) -> object:
    chunks = runs.find_runs(root, study)
    records = [folder / name for folder in chunks for name in (runs.RUN, files.MEASUREMENTS)]
    written = [root / "results" / study / files.VERDICTS, root / "reports" / f"{study}.pdf"]
    figures = sorted((root / "reports" / study / "figures").glob("*"))
    existing = [path for path in (*records, *written, *figures) if path.exists()]
    return [(path, path.stat().st_mtime_ns) for path in existing]


def _warned(summary: TrackingSummary, uri: str, cause: str) -> TrackingSummary:
    first = masked(cause.strip().splitlines()[0])
    for secret in secrets(uri):
        first = first.replace(secret, "***")
    warning = f"MLflow at {masked(uri)} was not updated: {first}"
    return summary.model_copy(update={"warning": textwrap.shorten(warning, _WARNING)})
