"""Where MLflow keeps runs: a database of this machine or a server, its address and its checks."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from journeylab.records.listing import probe

LOCAL = "sqlite:///mlflow.db"
ARTIFACTS = "mlartifacts"
LOCK = f"{ARTIFACTS}/.lock"
_PASSWORDS = ("MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN")
_PORTS = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}


def is_local(uri: str) -> bool:
    """Whether `uri` is a file on this machine and not a server."""
    return uri.startswith("sqlite:")


def locate(uri: str, root: Path) -> str:
    """The address with a relative sqlite path made absolute, relative to `root`."""
    match = re.fullmatch(r"sqlite:///(?!/)(.+)", uri)
    return f"sqlite:///{(root / match[1]).resolve()}" if match else uri


def importer_id(root: Path) -> str:
    """16 hexadecimal characters that stand for a results root on a host, in tags of MLflow."""
    return hashlib.sha256(f"{socket.gethostname()}:{root.resolve()}".encode()).hexdigest()[:16]


def request_timeout() -> float:
    """Seconds for a request to a server: MLFLOW_HTTP_REQUEST_TIMEOUT, or 3."""
    written = os.environ.get("MLFLOW_HTTP_REQUEST_TIMEOUT", "")
    return float(written) if re.fullmatch(r"[1-9]\d*", written) else 3.0


def check_reachable(uri: str, timeout: float) -> None:
    """Raise OSError unless a database answers in `timeout` seconds; MLflow would wait minutes.

    For a server of MLflow, its client keeps the same time.
    """
    try:
        parts = urlsplit(uri)
        port = parts.port or _PORTS.get(parts.scheme.partition("+")[0])
    except ValueError:  # its message may hold part of a password
        raise OSError("it is not a valid address") from None
    if parts.hostname and port and parts.scheme not in ("http", "https"):
        socket.create_connection((parts.hostname, port), timeout=timeout).close()


def check_store(uri: str, root: Path) -> None:
    """Raise OSError or sqlite3.Error unless a local store is sound and writable; change nothing.

    A store that cannot be written would keep MLflow busy for two minutes and forty lines.
    """
    if not is_local(uri):
        return
    store = Path(locate(uri, root).removeprefix("sqlite:///"))
    probe(store.with_name(f".{store.name}.probe"))
    if store.exists():
        with contextlib.closing(sqlite3.connect(store, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        _check_sound(store)


@functools.cache  # once in a process: it reads the whole file, and every study is an import
def _check_sound(store: Path) -> None:
    """Raise sqlite3.DatabaseError for a damage that MLflow may read past, as in an index."""
    with contextlib.closing(sqlite3.connect(store)) as connection:
        [problem] = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if problem != "ok":
        raise sqlite3.DatabaseError(f"the database is damaged: {problem.splitlines()[-1]}")


def create_store(uri: str, root: Path) -> None:
    """Create a local store that does not exist yet, all at once.

    MLflow makes its tables in many steps. A store in which it was killed could not be used again.
    """
    store = Path(locate(uri, root).removeprefix("sqlite:///"))
    if not is_local(uri) or store.exists() or store.is_symlink():
        return
    from mlflow.store.db.utils import _initialize_tables, create_sqlalchemy_engine

    partial = store.with_name(f".{store.name}.partial")
    for name in (partial, *(Path(f"{partial}-{end}") for end in ("journal", "wal", "shm"))):
        name.unlink(missing_ok=True)
    engine = create_sqlalchemy_engine(f"sqlite:///{partial}")
    try:
        _initialize_tables(engine)
    finally:
        engine.dispose()
    partial.replace(store)


@contextlib.contextmanager
def client_environment(root: Path, timeout: float) -> Iterator[None]:
    """Set what MLflow's client reads from the environment only, partly while it is imported."""
    settings = {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        # else each run prints its address, which may hold a password
        "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
        "MLFLOW_HTTP_REQUEST_TIMEOUT": str(max(1, round(timeout))),
        # without it a local client creates ./mlruns in the current folder
        "_MLFLOW_SERVER_ARTIFACT_ROOT": (root / ARTIFACTS).resolve().as_uri(),
    }
    previous = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in previous.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def secrets(uri: str) -> set[str]:
    """Passwords in an address, as written and decoded, and those that MLflow's client reads."""
    held = {os.environ.get(name, "") for name in _PASSWORDS}
    with contextlib.suppress(ValueError):
        password = urlsplit(uri).password or ""
        held |= {password, unquote(password)}
    return held - {""}
