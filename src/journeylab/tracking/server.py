"""MLflow's server for imported runs, on 127.0.0.1."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from journeylab.config import UserError, masked
from journeylab.tracking.exporter import import_studies, tell
from journeylab.tracking.store import LOCAL, Store, StoreError


def serve(root: Path, uri: str = LOCAL, *, port: int = 5000) -> int:
    """Import new runs, then serve MLflow on 127.0.0.1 until it ends; return its exit status.

    Raises UserError if `uri` is a server, which is served already; for a store that MLflow cannot
    open, which its server would say in a traceback, or after minutes; and for a port that is in
    use, for which it would end with exit status 0.
    """
    store = Store(root, uri)
    try:
        if not store.is_server:
            with store.opened(locked=False):
                pass
        with socket.create_server(("127.0.0.1", port)):
            pass
    except StoreError as error:
        raise UserError(f"{masked(uri)} cannot be served: {error}") from None
    except OSError as error:
        raise UserError(f"--port {port}: {error.strerror}; write another port") from None
    for summary in import_studies(root, uri):
        tell(summary)
    if store.is_server:
        raise UserError(f"tracking.uri is a server: open {masked(uri)}")
    environment = server_environment() | {"MLFLOW_BACKEND_STORE_URI": store.address}
    return run_server(server_command(root, uri, port), environment)


def run_server(command: list[str], environment: dict[str, str]) -> int:
    """Run a server to its end, which an interrupt of this process brings about."""
    server = subprocess.Popen(command, env=environment)
    try:
        return server.wait()
    finally:
        server.terminate()  # MLflow hands it on to its own child
        server.wait()


def server_command(root: Path, uri: str, port: int) -> list[str]:
    """The command that serves `uri` on 127.0.0.1, with artifacts below `root`.

    An address with a password is left out, since all users of a machine can read its commands.
    MLflow reads it from MLFLOW_BACKEND_STORE_URI.
    """
    store = Store(root, uri)
    backend = [] if masked(uri) != uri else ["--backend-store-uri", store.address]
    return [
        *(sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port)),
        *(*backend, "--workers", "1"),
        *("--artifacts-destination", str(store.artifacts.resolve())),
        *("--app-name", "journeylab"),
    ]


def server_environment() -> dict[str, str]:
    """The environment of an MLflow server without telemetry and without a job runner."""
    return {
        **os.environ,
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    }
