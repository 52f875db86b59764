"""Where MLflow keeps runs: a database of this machine or a server, its address and its checks."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
import re
import socket
import sqlite3
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from journeylab.config import masked
from journeylab.records.files import probe, write_atomic

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

LOCAL = "sqlite:///mlflow.db"
ARTIFACTS = "mlartifacts"
PROXIED = "mlflow-artifacts:/"
"""The scheme of artifacts in the folder of the server that shows them: no path is stored."""
PATIENCE = 60.0
"""Seconds that another import has to finish."""
_ATTEMPTS = 2
"""Attempts to open a database; MLflow's own default is ten attempts, which take two minutes."""
_LONGEST = 190  # characters of a cause
_DAMAGED = re.compile(
    r"is damaged|Could not decode|malformed|not a database|no such (table|column)|already exists"
    r"|disk image"
)
"""What SQLite or MLflow say of a store that is damaged or half made."""


class StoreError(Exception):
    """MLflow cannot be used; the message is one line without passwords."""


@dataclass(frozen=True)
class Store:
    """MLflow at an address, for the results below `root`; a relative SQLite path starts there."""

    root: Path
    uri: str = LOCAL

    @property
    def is_server(self) -> bool:
        """Whether MLflow runs elsewhere, and keeps the artifacts itself."""
        return self.uri.startswith(("http:", "https:"))

    @property
    def address(self) -> str:
        """The address with an absolute path."""
        return f"sqlite:///{self._file.resolve()}" if self._file else self.uri

    @property
    def artifacts(self) -> Path:
        """The folder of artifacts, beside an SQLite file, and of the lock that imports hold."""
        return (self._file.parent if self._file else self.root) / ARTIFACTS

    @property
    def _file(self) -> Path | None:
        path = re.fullmatch(r"sqlite:///(.+)", self.uri)
        return self.root / path[1] if path else None

    @property
    def importer(self) -> str:
        """16 hexadecimal characters that stand for a results root on a host, in tags of MLflow."""
        place = f"{socket.gethostname()}:{self.root.resolve()}"
        return hashlib.sha256(place.encode()).hexdigest()[:16]

    @contextlib.contextmanager
    def opened(self, *, locked: bool = True) -> Iterator[MlflowClient]:
        """A client; if `locked`, no other import from here runs at the same time.

        Raises StoreError, also for what fails in the block.
        """
        with _environment():
            import mlflow.exceptions
            import mlflow.store.db.utils
            import mlflow.tracking
            import sqlalchemy.exc
            from filelock import FileLock, Timeout

            for name in ("mlflow", "alembic"):
                logging.getLogger(name).setLevel(logging.CRITICAL)
            mlflow.store.db.utils.MAX_RETRY_COUNT = _ATTEMPTS
            lock = self.artifacts / ".lock"
            try:
                self._check()
                lock.parent.mkdir(parents=True, exist_ok=True)
                with FileLock(lock, timeout=PATIENCE) if locked else contextlib.nullcontext():
                    if self._file and not self._file.exists():
                        # MLflow makes its tables in many steps; a half made store is useless
                        with write_atomic(self._file.resolve()) as partial:
                            mlflow.tracking.MlflowClient(f"sqlite:///{partial}")
                    yield mlflow.tracking.MlflowClient(self.address)
            except Timeout:
                raise StoreError(f"{lock} is held by another import") from None
            except (
                mlflow.exceptions.MlflowException,
                sqlalchemy.exc.SQLAlchemyError,
                sqlite3.Error,
                ImportError,
                OSError,
            ) as error:
                text = str(error).strip() or type(error).__name__
                raise StoreError(self._explained(text)) from error

    def _check(self) -> None:
        """Raise OSError or sqlite3.Error for an invalid address or a file that is of no use.

        A file that cannot be written would keep MLflow busy for two minutes and forty lines.
        """
        try:
            _ = urlsplit(self.uri).port
        except ValueError:  # its message may hold part of a password
            raise OSError("it is not a valid address") from None
        if self._file:
            file = self._file.resolve()
            probe(file.with_name(f".{file.name}.probe"))
            if file.exists():
                with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
                    connection.execute("BEGIN IMMEDIATE")
                    connection.execute("ROLLBACK")
                _check_sound(file)

    def _explained(self, text: str) -> str:
        """The first line of an error without passwords, and the remedy if there is one."""
        first = masked(text.splitlines()[0])
        secrets = {os.environ.get(f"MLFLOW_TRACKING_{name}", "") for name in ("PASSWORD", "TOKEN")}
        with contextlib.suppress(ValueError):
            password = urlsplit(self.uri).password or ""
            secrets |= {password, unquote(password)}
        for secret in secrets - {""}:
            first = first.replace(secret, "***")
        told = [textwrap.shorten(first, _LONGEST)]
        schema = re.search(r"database schema \(found version (\w+)", text)
        if schema:
            told = [f"another version of MLflow wrote the database (schema {schema[1]})"]
        if self._file and (schema or _DAMAGED.search(text)):
            anew = "`journeylab track` imports everything again"
            told += [f"delete {self._file.name} and {ARTIFACTS}, {anew}"]
        if schema:
            upgrade = f"`mlflow db upgrade {masked(self.address)}`"
            told += [f"or, if it is older, type {upgrade}, and if newer, install that version"]
        return "; ".join(told)


@functools.cache  # once in a process: it reads the whole file, and watching opens it often
def _check_sound(file: Path) -> None:
    """Raise sqlite3.DatabaseError for a damage that MLflow may read past, as in an index."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        [problem] = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if problem != "ok":
        raise sqlite3.DatabaseError(f"the database is damaged: {problem.splitlines()[-1]}")


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    """Set what MLflow's client reads from the environment only, partly while it is imported."""
    written = os.environ.get("MLFLOW_HTTP_REQUEST_TIMEOUT", "")
    timeout = written if re.fullmatch(r"[1-9]\d*", written) else "3"
    settings = {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        # else each run prints its address, which may hold a password
        "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
        "MLFLOW_HTTP_REQUEST_TIMEOUT": timeout,
        "PGCONNECT_TIMEOUT": timeout,
        # else MLflow's own experiment, Default, keeps the path of the current folder
        "_MLFLOW_SERVER_ARTIFACT_ROOT": PROXIED,
    }
    before = dict(os.environ)
    os.environ.update(settings)
    try:
        yield
    finally:
        os.environ.update(before)
        for name in settings.keys() - before.keys():
            del os.environ[name]
