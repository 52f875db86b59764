"""Shared fixtures. Tests check shapes and dtypes of the mathematics and use one torch thread."""

import contextlib
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import jaxtyping

jaxtyping.install_import_hook(
    ["journeylab.operators", "journeylab.models", "journeylab.training"], "beartype.beartype"
)

import hypothesis  # noqa: E402
import pytest  # noqa: E402
import torch  # noqa: E402

from journeylab.workflow import forking  # noqa: E402

# On a loaded machine an example may take any time.
hypothesis.settings.register_profile(
    "any time", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any time")

# a shell that runs tests in the background makes them, and their children, ignore interrupts
signal.signal(signal.SIGINT, signal.default_int_handler)

LIBRARIES = (
    *forking.LIBRARIES,
    *("snakemake.cli", "snakemake.api", "mlflow", "mlflow.tracking", "mlflow.store.db.utils"),
    *("dvc.cli", "dvc.repo", "dvc.commands.repro"),
)
COLD = str(Path(sys.executable).parent)
"""The folder of the ordinary commands, which import their libraries at each start."""


LONGEST = (
    *("test_outages.py", "test_load.py", "test_kills.py", "test_corruption.py", "test_stale.py"),
    *("test_slurm.py", "test_deposit.py", "test_closure.py", "test_looks.py"),
)
"""Files that start first, so that no process of xdist is left alone with one."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def turn(item: pytest.Item) -> int:
        name = item.path.name
        return LONGEST.index(name) if name in LONGEST else len(LONGEST)

    items.sort(key=turn)


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def same_numbers() -> None:
    """Drawn inputs are the same whatever ran before, so that a failure can be repeated."""
    torch.manual_seed(0)


@contextlib.contextmanager
def unchecked_types() -> Iterator[None]:
    """Nothing checks shapes and dtypes at each call, which takes longer than small training."""
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def unchecked() -> Iterator[None]:
    """For tests that train what others train with all checks."""
    with unchecked_types():
        yield


@pytest.fixture
def ordinary_algorithms() -> Iterator[None]:
    """For tests that prepare this process for training: the next test finds it as it was."""
    yield
    torch.use_deterministic_algorithms(False)


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of commands, first in PATH, whose processes fork after the libraries are imported.

    Tests that kill a process, or that check its imports, start `sys.executable` instead. Where a
    server is not possible, it is the folder of the ordinary commands.
    """
    if not forking.is_possible():
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PATH", os.pathsep.join((COLD, COLD, os.environ["PATH"])))
            yield Path(COLD)
        return
    folder = tmp_path_factory.mktemp("warm")
    address, script = folder / "socket", Path(forking.__file__)
    server = subprocess.Popen(
        [sys.executable, "-P", str(script), "serve", str(address), *LIBRARIES],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    for name in ("journeylab", "snakemake", "dvc", "python"):
        command = shlex.join([sys.executable, "-IS", str(script), "run", str(address), name])
        (folder / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (folder / name).chmod(0o755)
    while not address.exists():
        assert server.poll() is None, "the libraries cannot be imported"
        time.sleep(0.05)
    search = os.pathsep.join((str(folder), COLD, os.environ["PATH"]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", search)
        yield folder
    server.kill()
    server.wait()


@pytest.fixture(scope="session")
def imported() -> Callable[..., set[str]]:
    """Returns a function: which of `modules` a new process imports when it runs a script."""
    from .made import ran

    def run(script: str, *modules: str) -> set[str]:
        report = f"\nimport sys\nprint(*(set({modules!r}) & set(sys.modules)))"
        return set(ran(sys.executable, "-c", script + report).stdout.split())

    return run


@pytest.fixture(scope="session")
def free_port() -> Callable[[], int]:
    """Returns a function that finds a free port of the loopback address."""

    def find() -> int:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return int(probe.getsockname()[1])

    return find


@pytest.fixture(scope="session")
def served() -> Callable[[Path, int], contextlib.AbstractContextManager[str]]:
    """A real MLflow server for a results root; killed at the end."""
    from journeylab import tracking
    from journeylab.tracking.store import LOCAL

    from .made import kill, wait_for_server

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
                wait_for_server(f"http://127.0.0.1:{port}/health", process, root / "server.log")
                yield f"http://127.0.0.1:{port}"
            finally:
                kill(process)

    return serve
