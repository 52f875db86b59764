"""MLflow's pages over what was imported, on 127.0.0.1."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from journeylab.config import UserError
from journeylab.tracking.importer import (
    ARTIFACTS,
    LOCAL,
    TrackingSummary,
    find_studies,
    import_runs,
    locate,
)


def serve(
    root: Path,
    uri: str = LOCAL,
    *,
    port: int = 5000,
    report: Callable[[TrackingSummary], None] = lambda summary: None,
) -> int:
    """Import what is new, then serve MLflow on 127.0.0.1 until interrupted; its exit status.

    Raises UserError if `uri` is a server: that one is already being served.
    """
    for study in find_studies(root):
        report(import_runs(root, study, uri))
    if urlsplit(uri).scheme in ("http", "https"):
        raise UserError(f"tracking.uri is a server: open {uri}")
    try:
        return subprocess.run(
            server_command(root, uri, port), env=server_environment(), check=False
        ).returncode
    except KeyboardInterrupt:
        return 0


def server_command(root: Path, uri: str, port: int) -> list[str]:
    """The command that serves `uri` on 127.0.0.1, with artifacts below `root`."""
    return [
        *(sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port)),
        *("--backend-store-uri", locate(uri, root), "--workers", "1"),
        *("--artifacts-destination", str((root / ARTIFACTS).resolve())),
    ]


def server_environment() -> dict[str, str]:
    """The environment that keeps an MLflow server quiet and down to one child."""
    return {
        **os.environ,
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    }
