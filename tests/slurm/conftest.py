"""Fixtures that boot real SLURM clusters and run this project's snakemake on them."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from slurm_cluster import Cluster, make_folder, missing

from .. import made
from ..made import Value
from ..workflow.conftest import TINY_TRAINING, Copy, copy_project

PROFILE = "profiles/slurm/config.yaml"
OFTEN = ("--slurm-init-seconds-before-status-checks", "1", "--seconds-between-status-checks", "1")
"""A poll every second, where the profile waits for five."""


@dataclass(frozen=True)
class Submitting:
    """A copy of the project that submits its runs to a cluster."""

    copy: Copy
    cluster: Cluster
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start snakemake with the profile, without the warm server: its jobs can be killed."""
        environment = self.copy.cold_environment
        path = f"{self.cluster.folder}/bin:{environment['PATH']}"
        with (self.copy.path / "output").open("w") as output:
            process = subprocess.Popen(
                ["snakemake", "--workflow-profile", "profiles/slurm", *OFTEN, *arguments],
                cwd=self.copy.path,
                env=environment | self.cluster.environment | {"PATH": path},
                stdout=output,
                stderr=output,
                text=True,
                start_new_session=True,
            )
        self.started.append(process)
        return process

    def end(self) -> None:
        """End the processes and jobs that a failed test left running."""
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for job in self.cluster.jobs():
            if job["JobState"] in ("PENDING", "RUNNING"):
                self.cluster.run("scancel", job["JobId"])

    def wait_for(self, read: Callable[[], Value]) -> Value:
        """Wait until `read` returns a true value while snakemake runs; return that value."""

        def found() -> Value:
            value = read()
            assert value or self.started[-1].poll() is None, f"it ended too early:\n{self.output}"
            return value

        return made.wait_for(found, 300.0)

    @property
    def output(self) -> str:
        """The output of snakemake so far."""
        return (self.copy.path / "output").read_text(encoding="utf-8")

    @property
    def jobs(self) -> list[dict[str, str]]:
        """SLURM's records of the jobs of this copy."""
        return [job for job in self.cluster.jobs() if job["WorkDir"] == str(self.copy.path)]

    def attempts(self, rule: str, run: str = "") -> list[dict[str, str]]:
        """SLURM's records of the jobs of a rule and run in this copy, one per submission."""
        name = f"rule_{rule}_wildcards_exp7_" + (f"{run.replace('/', '_')}_" if run else "")
        return [job for job in self.jobs if job["Comment"].startswith(name)]


def lengthen(config: dict[str, Any]) -> None:
    """Lengthen training so that a test can stop it while it runs."""
    training = TINY_TRAINING | {"steps": 40}
    config["studies"]["exp7"]["scales"]["quick"]["training"].update(training)


def make_copy(path: Path) -> Copy:
    copy = copy_project(path)
    copy.configure(lengthen)
    return copy


@pytest.fixture(scope="session", autouse=True)
def commands(warm: Path) -> Path:
    """Commands that run outside the cluster use the warm server."""
    return warm


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Two nodes, with slurmdbd over mariadb."""
    if install := missing(accounting=True):
        pytest.skip(f"SLURM is missing: {install}")
    cluster = Cluster(make_folder())
    try:
        cluster.start(accounting=True)
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """The same small study up to its verdicts, run without a cluster."""
    copy = make_copy(tmp_path_factory.mktemp("local") / "project")
    copy.snakemake("results/exp7/verdicts.json")
    return copy


@pytest.fixture
def submitting(cluster: Cluster, tmp_path: Path) -> Iterator[Submitting]:
    """A copy without results, and an idle cluster."""
    work = Submitting(make_copy(tmp_path / "project"), cluster)
    yield work
    work.end()


def environment_of(process: int) -> dict[str, str]:
    """The environment with which a process was started."""
    text = Path(f"/proc/{process}/environ").read_bytes().decode()
    return dict(line.partition("=")[::2] for line in text.split("\0") if line)


def is_training(process: int) -> bool:
    """Whether a process is a training job."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().decode().split("\0")
    except OSError:
        return False
    return "train" in words and words[1].endswith("/journeylab")
