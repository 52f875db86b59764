"""Import of run records into MLflow.

MLflow is only a view of the records: if its store is lost, it can be imported again. Imports can be
repeated and interrupted; the lock beside the artifacts admits a single writer at a time.
"""

from __future__ import annotations

import logging
import re
import sqlite3
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from journeylab.config import UserError, masked
from journeylab.records import files, runs
from journeylab.records.listing import find_files
from journeylab.tracking.experiment import StudyImport, TrackingSummary
from journeylab.tracking.live import LiveStudy
from journeylab.tracking.store import (
    ARTIFACTS,
    LOCAL,
    LOCK,
    check_reachable,
    check_store,
    client_environment,
    create_store,
    is_local,
    locate,
    request_timeout,
    secrets,
)

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

_ATTEMPTS = 2
"""Attempts to open a database; MLflow's own default is ten attempts, which take two minutes."""
_CLASHES = 2
"""How often an import begins again after another machine wrote the same row of the server's
database at the same moment; what is there already is not sent again."""
PATIENCE = 60.0
"""Seconds that another import has to finish."""
_WARNING = 250  # characters
_DAMAGED = re.compile(
    r"is damaged|Could not decode|malformed|not a database|no such (table|column)|already exists"
    r"|disk image"
)
"""What SQLite or MLflow say of a store that is damaged or half made."""


def import_runs(root: Path, study: str, uri: str = LOCAL) -> TrackingSummary:
    """Bring MLflow up to date with a study's runs, measurements and figures.

    Complete runs are not imported again. Runs of an interrupted import are replaced, and so are
    runs that were measured again. `sqlite:///mlflow.db` and local artifacts lie in `root`. Failures
    of MLflow, without passwords, and damaged records are returned as the summary's `warning`.
    """

    def work(client: MlflowClient) -> TrackingSummary:
        return StudyImport(client, root, study, is_local(uri)).run()

    return _with_client(root, study, uri, work)


def _with_client(
    root: Path, study: str, uri: str, work: Callable[[MlflowClient], TrackingSummary]
) -> TrackingSummary:
    """Call `work` with a client, alone in this root; a failure becomes a warning.

    If another machine writes the same row of the database meanwhile, `work` is called again.
    """
    timeout = request_timeout()
    with client_environment(root, timeout):
        import mlflow.exceptions
        import mlflow.store.db.utils
        import mlflow.tracking
        import sqlalchemy.exc
        from filelock import FileLock, Timeout

        for name in ("mlflow", "alembic"):
            logging.getLogger(name).setLevel(logging.WARNING)
        logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)
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
            with FileLock(root / LOCK, timeout=PATIENCE):
                check_store(uri, root)
                create_store(uri, root)
                client = mlflow.tracking.MlflowClient(tracking_uri=locate(uri, root))
                clashes = 0
                while True:
                    try:
                        return work(client)
                    except mlflow.exceptions.MlflowException as error:
                        clashes += 1
                        if clashes > _CLASHES or "unique" not in str(error).lower():
                            raise
        except UserError as error:
            return summary.model_copy(update={"warning": str(error), "damaged": True})
        except Timeout:
            return _warned(summary, uri, f"{root / LOCK} is held by another import")
        except failures as error:
            return _warned(summary, uri, str(error) or type(error).__name__)


def import_studies(
    root: Path, uri: str = LOCAL, studies: Sequence[str] | None = None
) -> Iterator[TrackingSummary]:
    """Import `studies`, or all with results, up to the first at which MLflow fails.

    The other studies would fail for the same reason.
    """
    for study in find_studies(root) if studies is None else studies:
        summary = import_runs(root, study, uri)
        yield summary
        if summary.warning and not summary.damaged:
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
    studies: Sequence[str] | None = None,
    interval: float = 3.0,
    report: Callable[[TrackingSummary], None] = lambda summary: None,
    rounds: int | None = None,
) -> None:
    """Import new results, and the curves of jobs in training, every `interval` seconds.

    `studies` are watched, or all; one without results is watched once it has some.
    `report` is called after every import that changed something, and for a warning that differs
    from the last; after a warning, everything that is due is tried again. `rounds` limits the
    number of passes; without it, only an interrupt ends them.
    """
    watched: dict[str, _Watched] = {}
    passes = 0
    while rounds is None or passes < rounds:
        if passes:
            time.sleep(interval)
        passes += 1
        reachable = True
        for study in find_studies(root):
            if studies is not None and study not in studies:
                continue
            each = watched.setdefault(study, _Watched(LiveStudy(root, study)))
            if not reachable:  # the other studies would fail for the same reason
                each.live.read()
                continue
            summary = _update(root, study, uri, each)
            reachable = summary.warning is None or summary.damaged
            if summary.imported or (summary.warning and summary.warning != each.warning):
                report(summary)
            each.warning = summary.warning


@dataclass
class _Watched:
    """A study that is watched: its results when they were imported last, its last warning."""

    live: LiveStudy
    seen: object = None
    warning: str | None = None


def _update(root: Path, study: str, uri: str, watched: _Watched) -> TrackingSummary:
    """Import what changed since the last success, then send new points of live runs."""
    summary, state = TrackingSummary(study=study), _state(root, study)
    if watched.seen != state:
        summary = import_runs(root, study, uri)
        if summary.warning is None:
            watched.seen = state
    watched.live.read()  # also while a server is down, so that no point is lost
    if summary.warning is None and watched.live.is_due:

        def send(client: MlflowClient) -> TrackingSummary:
            watched.live.send(client, is_local(uri))
            return summary

        summary = _with_client(root, study, uri, send)
    return summary


def find_studies(root: Path) -> list[str]:
    """The studies with results below `root`."""
    return sorted(path.name for path in root.glob("results/*") if path.is_dir())


def _state(root: Path, study: str) -> object:
    chunks = runs.find_runs(root, study)
    records = [folder / name for folder in chunks for name in (runs.RUN, files.MEASUREMENTS)]
    written = [root / "results" / study / files.VERDICTS, root / "reports" / f"{study}.pdf"]
    figures = find_files(root / "reports" / study / "figures", "*")
    existing = [path for path in (*records, *written, *figures) if path.exists()]
    return [(path, path.stat().st_mtime_ns) for path in existing]


def _warned(summary: TrackingSummary, uri: str, cause: str) -> TrackingSummary:
    first = masked(cause.strip().splitlines()[0])
    for secret in secrets(uri):
        first = first.replace(secret, "***")
    warning = f"MLflow at {masked(uri)} was not updated: {first}"
    warning = textwrap.shorten(warning, _WARNING)
    if is_local(uri) and _DAMAGED.search(cause):
        store = uri.rpartition("/")[2]
        warning += f"; delete {store} and {ARTIFACTS}, `journeylab track` imports everything again"
    return summary.model_copy(update={"warning": warning})
