"""Shapes and dtypes of the mathematics are checked while the tests run; one torch thread."""

import contextlib
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import jaxtyping

jaxtyping.install_import_hook(
    ["journeylab.operators", "journeylab.models", "journeylab.training"], "beartype.beartype"
)

import pytest  # noqa: E402
import torch  # noqa: E402


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def free_port() -> Callable[[], int]:
    """A port of the loopback address that nothing listens on."""

    def find() -> int:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return int(probe.getsockname()[1])

    return find


@pytest.fixture(scope="session")
def served() -> Callable[[Path, int], contextlib.AbstractContextManager[str]]:
    """A real MLflow server over a root; killed, not asked, at the end."""
    from journeylab import tracking
    from journeylab.tracking.importer import LOCAL

    @contextlib.contextmanager
    def serve(root: Path, port: int) -> Iterator[str]:
        with (root / "server.log").open("w") as log:
            process = subprocess.Popen(
                tracking.server_command(root, LOCAL, port),
                env=tracking.server_environment(),
                cwd=root,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            try:
                for _ in range(600):
                    with contextlib.suppress(OSError):
                        urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                        break
                    assert process.poll() is None, (root / "server.log").read_text()
                    time.sleep(0.1)
                yield f"http://127.0.0.1:{port}"
            finally:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    return serve
