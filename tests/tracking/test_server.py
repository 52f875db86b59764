"""An MLflow server with passwords, on a real PostgreSQL, that several clones import into."""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from journeylab import tracking

from .. import made
from ..made import PROJECT, kill, wait_for_server
from ..workflow.conftest import TINY_TRAINING, copy_project
from .conftest import MARKS, Shown, files_with, ids, import_runs

SERVICES = PROJECT / "build/services"
"""Python packages of servers, which no job of the project needs: `make build/services`."""
POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
MISSING = [
    *(() if POSTGRES else ("PostgreSQL (apt-get install postgresql)",)),
    *(() if (SERVICES / "psycopg2").exists() else ("psycopg2 (make build/services)",)),
]

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(MISSING), reason=f"needs {' and '.join(MISSING)}"),
    *MARKS[1:],
]


class Database:
    """A PostgreSQL on the loopback address, as a process of another user if this one is root."""

    def __init__(self, port: int) -> None:
        self.port, self.password = port, secrets.token_hex(12)
        self.folder = Path(tempfile.mkdtemp(prefix="jl-postgres-", dir="/tmp"))
        key = self.folder / "password"
        key.write_text(self.password)
        key.chmod(0o600)
        self.user = "postgres" if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root
        for path in (self.folder, key) if self.user else ():
            shutil.chown(path, self.user)
        self.run("initdb", "--username=mlflow", f"--pwfile={key}", "--auth=scram-sha-256")
        key.unlink()
        self.start()

    @property
    def uri(self) -> str:
        return f"postgresql://mlflow:{self.password}@127.0.0.1:{self.port}/postgres"

    def run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(POSTGRES[-1].with_name(program)), f"--pgdata={self.folder}/data", *arguments],
            cwd=self.folder,
            user=self.user,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        options = f"-h 127.0.0.1 -p {self.port} -k {self.folder} -c fsync=off"
        log = f"--log={self.folder}/log"
        self.run("pg_ctl", "start", "--wait", f"--options={options}", log)

    def stop(self) -> None:
        self.run("pg_ctl", "stop", "--wait", "--mode=immediate")


@pytest.fixture(scope="module")
def database(free_port) -> Iterator[Database]:
    running = Database(free_port())
    yield running
    running.stop()
    shutil.rmtree(running.folder)


class Server:
    """An MLflow server that asks for a user and a password, in front of a database."""

    def __init__(self, folder: Path, database: Database, port: int) -> None:
        self.folder, self.database, self.port = folder, database, port
        self.password = secrets.token_hex(12)
        self.uri = f"http://127.0.0.1:{port}"
        (folder / "auth.ini").write_text(
            "[mlflow]\ndefault_permission = READ\n"
            f"database_uri = sqlite:///{folder}/auth.db\n"
            f"admin_username = admin\nadmin_password = {self.password}\n"
            "authorization_function = mlflow.server.auth:authenticate_request_basic_auth\n"
        )
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = tracking.server_command(self.folder, self.database.uri, self.port)
        command[command.index("--app-name") + 1] = "basic-auth"
        assert self.database.password not in " ".join(command)
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                command,
                env=tracking.server_environment()
                | {
                    "PYTHONPATH": str(SERVICES),
                    "MLFLOW_BACKEND_STORE_URI": self.database.uri,
                    "MLFLOW_AUTH_CONFIG_PATH": str(self.folder / "auth.ini"),
                    "MLFLOW_FLASK_SERVER_SECRET_KEY": self.password,
                },
                cwd=self.folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_for_server(f"{self.uri}/health", self.process, self.folder / "server.log")

    def kill(self) -> None:
        if self.process:
            kill(self.process)
            self.process = None


@pytest.fixture(scope="module")
def server(database, tmp_path_factory, free_port) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("server"), database, free_port())
    running.start()
    yield running
    running.kill()


@pytest.fixture(autouse=True)
def credentials(server, monkeypatch) -> None:
    """Every client of a test has the password in its environment, and nowhere else."""
    known = {"URI": server.uri, "USERNAME": "admin", "PASSWORD": server.password}
    for name, value in known.items():
        monkeypatch.setenv(f"MLFLOW_TRACKING_{name}", value)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "60")  # a test machine may be busy


@pytest.fixture
def clones(tmp_path) -> list[Path]:
    return [tmp_path / "a", tmp_path / "b"]


def track(root: Path, *options: str, **streams: Any) -> subprocess.Popen[str]:
    """`journeylab track` as a process of its own, which may be killed."""
    program = str(Path(sys.executable).with_name("journeylab"))
    command = [program, "track", "--root", str(root), *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    return subprocess.Popen(command, text=True, **pipes)


@contextlib.contextmanager
def watched(root: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """`journeylab track --watch` and the file with its warnings; interrupted at the end."""
    errors = root.with_name("warnings")
    with errors.open("w") as stream:
        process = track(root, "--watch", stdout=subprocess.DEVNULL, stderr=stream)
    try:
        yield process, errors
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def shown(kind: str) -> dict[str, Any]:
    """The runs of a kind by name, on the server of the environment."""
    return getattr(Shown(Path(), os.environ["MLFLOW_TRACKING_URI"]), kind)


def test_two_clones_import_into_one_experiment_at_the_same_time(
    clones, server, database, write_chunk, write_measurements
):
    for root, seeds in zip(clones, ((0, 1), (2, 3)), strict=True):
        write_measurements(write_chunk(root, "journey", "A", seeds=seeds))
        write_measurements(write_chunk(root, "journey", "B"))  # the same results in both
    processes = [track(root) for root in clones]
    outputs = [process.communicate(timeout=300) for process in processes]
    assert [error for _, error in outputs] == ["", ""]
    assert all(len(output.splitlines()) == 1 for output, _ in outputs)  # MLflow prints nothing
    seeds = [f"journey/A/{seed}" for seed in range(4)] + ["journey/B/0", "journey/B/1"]
    assert sorted(shown("seed")) == seeds
    variants = shown("variant")
    assert sorted(variants) == ["journey/A", "journey/B"]
    for name, run in shown("seed").items():
        parent = variants[name.rpartition("/")[0]].info.run_id
        assert run.data.tags["mlflow.parentRunId"] == parent
    assert variants["journey/A"].data.metrics["final/loss"] == 0.5 + 1.5  # of seeds 0 to 3
    assert len(shown("study")) == 1
    before = ids(shown("seed"))
    for root in clones:
        assert import_runs(root, "exp7", server.uri).imported == 0
    assert ids(shown("seed")) == before
    for password in (server.password, database.password):
        logs = server.folder / "server.log", database.folder / "log"
        assert files_with(password, *clones, *logs) == []


def test_a_password_in_the_address_is_used_and_not_printed(
    clones, server, write_chunk, monkeypatch
):
    write_chunk(clones[0], "journey", "D")
    for name in ("USERNAME", "PASSWORD"):
        monkeypatch.delenv(f"MLFLOW_TRACKING_{name}")
    address = f"http://admin:{server.password}@127.0.0.1:{server.port}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    output, error = track(clones[0]).communicate(timeout=120)
    assert (output, error) == ("exp7: 2 runs imported, 0 were there\n", "")
    assert files_with(server.password, clones[0]) == []


def test_a_wrong_password_is_a_warning_that_does_not_repeat_it(clones, write_chunk, monkeypatch):
    write_chunk(clones[0], "journey", "C")
    wrong = secrets.token_hex(12)
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", wrong)
    process = track(clones[0])
    output, error = process.communicate(timeout=120)
    assert process.returncode == 0
    assert output == ""
    assert error.startswith("warning: MLflow at http://127.0.0.1:")
    assert len(error.splitlines()) == 1
    assert wrong not in error


@pytest.mark.parametrize("killed", ["server", "database"])
def test_an_outage_loses_nothing(clones, server, database, write_chunk, killed):
    variant = killed
    write_chunk(clones[0], "journey", variant, seeds=(0,))
    with watched(clones[0]) as (watching, errors):
        wait_for(lambda: f"journey/{variant}/0" in shown("seed"))
        (server.kill if killed == "server" else database.stop)()
        write_chunk(clones[0], "journey", variant, seeds=(1,))
        wait_for(lambda: "warning" in errors.read_text())
        (server.start if killed == "server" else database.start)()
        wait_for(lambda: f"journey/{variant}/1" in shown("seed"))
        assert watching.poll() is None
    warnings = [line for line in errors.read_text().splitlines() if line != "Aborted!" and line]
    seeds = [name for name in shown("seed") if name.startswith(f"journey/{variant}/")]
    assert sorted(seeds) == [f"journey/{variant}/{seed}" for seed in (0, 1)]
    assert all(line.startswith("warning: MLflow at ") for line in warnings), warnings
    assert not [line for line in warnings if server.password in line]


def wait_for(condition) -> None:
    """Wait until a condition holds; errors of a server that is starting do not count."""
    from mlflow.exceptions import MlflowException

    def holds() -> bool:
        with contextlib.suppress(MlflowException):
            return condition()
        return False

    made.wait_for(holds, 120.0)


def test_a_job_of_the_workflow_is_shown_while_it_trains(tmp_path):
    copy = copy_project(tmp_path / "project")
    copy.configure(
        lambda config: config["studies"]["exp7"]["scales"]["quick"]["training"].update(
            TINY_TRAINING | {"steps": 4000, "evaluate_every": 20, "checkpoint_every": 40}
        )
    )
    run = "results/exp7/characters/A/seeds-1000-1001/run.json"
    environment = copy.environment | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with (tmp_path / "output").open("w") as output:
        workflow = subprocess.Popen(
            ["snakemake", "--cores", "1", run],
            cwd=copy.path,
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        with watched(copy.path):
            seed = "characters/A/1000 (in training)"
            wait_for(lambda: {"live/loss", "train_loss"} <= metrics_of(seed))
            assert not (copy.path / run).exists()
            assert "characters/A/1000" not in shown("seed")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(workflow.pid, signal.SIGKILL)
        workflow.wait()


def metrics_of(name: str) -> set[str]:
    """The metrics of a live run so far."""
    live = shown("live")
    return set(live[name].data.metrics) if name in live else set()
