"""After a kill the same command resumes; the lock of a live run is kept."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from journeylab.config import UserError
from journeylab.workflow.recovery import check_writable

from ..made import as_on_macos, kill, wait_for

SNAKEFILE = """\
from pathlib import Path
from journeylab.config import UserError
from journeylab.workflow.recovery import begin_run

if workflow.is_main_process:
    try:  # as a run does; a dry run begins none
        with begin_run():
            pass
    except UserError as problem:
        raise SystemExit(f"error: {problem}")

rule slow:
    output: "{name}.txt"
    shell: "seconds=$(cat seconds); touch begun-{wildcards.name}; sleep $seconds; touch {output}"
"""


class Workflow:
    """A workflow of one rule, whose jobs sleep for the number in the file `seconds`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.started: list[subprocess.Popen[str]] = []
        (path / "Snakefile").write_text(SNAKEFILE)
        self.set_seconds(0)

    def set_seconds(self, seconds: int) -> None:
        (self.path / "seconds").write_text(str(seconds))

    def start(self, *targets: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "snakemake", "--cores", "1", "--rerun-incomplete", *targets],
            cwd=self.path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def run(self, *targets: str, works: bool = True) -> str:
        process = self.start(*targets)
        output, _ = process.communicate(timeout=60)
        assert (process.returncode == 0) == works, output
        return output

    def start_working(self, name: str) -> subprocess.Popen[str]:
        """Start a run whose job takes a minute; return when the job has begun."""
        self.set_seconds(60)
        process = self.start(f"{name}.txt")
        wait_for(lambda: (self.path / f"begun-{name}").exists())
        self.set_seconds(0)
        return process

    def locks(self) -> list[str]:
        return sorted(path.name for path in self.path.glob(".snakemake/locks/*"))


@pytest.fixture
def workflow(tmp_path: Path) -> Iterator[Workflow]:
    workflow = Workflow(tmp_path)
    yield workflow
    for process in workflow.started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_a_killed_run_resumes_with_the_same_command(workflow: Workflow) -> None:
    process = workflow.start_working("a")
    kill(process)
    assert workflow.locks()
    workflow.run("a.txt")
    assert workflow.locks() == []
    assert not list(workflow.path.glob(".snakemake/runs/[!.]*"))


def test_the_lock_of_a_live_run_stops_another_run(workflow: Workflow) -> None:
    live = workflow.start_working("a")
    locks = workflow.locks()
    output = workflow.run("a.txt", works=False)
    assert "cannot be locked" in output
    assert workflow.locks() == locks
    assert live.poll() is None


@pytest.mark.system
def test_a_live_run_keeps_its_lock_when_a_dead_run_loses_its_own(workflow: Workflow) -> None:
    live = workflow.start_working("a")
    locks = workflow.locks()
    dead = workflow.start_working("b")
    kill(dead)
    # a real run would remove all locks at its end; a dry run shows which begin_run removes
    workflow.run("--dry-run", "c.txt")
    assert set(locks) <= set(workflow.locks())
    workflow.run("a.txt", works=False)
    assert live.poll() is None


@pytest.mark.parametrize("macos", [False, pytest.param(True, marks=pytest.mark.system)])
def test_jobs_that_outlive_their_run_are_named(
    workflow: Workflow, macos: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a laptop also if it has another host name meanwhile."""
    for name, text in as_on_macos(os.environ).items() if macos else ():
        monkeypatch.setenv(name, text)
    process = workflow.start_working("a")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    [line] = workflow.run("a.txt", works=False).strip().splitlines()
    assert "are still running" in line
    pids = [int(word) for word in line.split("kill ")[1].split()]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not any(map(psutil.pid_exists, pids)), 60.0)  # until somebody has reaped them
    workflow.run("a.txt")


@pytest.mark.system
def test_the_lock_of_a_run_on_another_machine_is_kept(workflow: Workflow) -> None:
    process = workflow.start_working("a")
    kill(process)
    [run] = workflow.path.glob(".snakemake/runs/[!.]*")
    run.rename(run.with_name(f"elsewhere:{process.pid}"))
    workflow.run("a.txt", works=False)
    assert workflow.locks()


def test_a_folder_of_logs_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    check_writable(tmp_path / "root" / "logs")
    assert not [*(tmp_path / "root/logs").iterdir()]
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="file/logs cannot be written: Not a directory"):
        check_writable(tmp_path / "file" / "logs")


@pytest.mark.system
def test_queued_cluster_jobs_are_named(workflow: Workflow, monkeypatch: pytest.MonkeyPatch) -> None:
    squeue = workflow.path / "bin" / "squeue"
    squeue.parent.mkdir()
    here = workflow.path
    (here / ".snakemake/slurm_logs").mkdir(parents=True)
    queue = [f"7|journeylab_1|None|{here}", "8|journeylab_2|None|/elsewhere", f"9|a|None|{here}"]
    say = "".join(f"echo '{line}'\n" for line in queue)
    squeue.write_text(f"#!/bin/sh\n{say}")
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", str(squeue.parent), prepend=os.pathsep)
    output = workflow.run("a.txt", works=False)
    assert output.strip().endswith("wait for them, or end them: scancel 7")
    squeue.write_text(f"#!/bin/sh\n{say}".replace("None", "launch failed requeued held"))
    output = workflow.run("a.txt", works=False)
    assert "wait for them" not in output
    assert "(launch failed requeued held): scontrol release 7 lets it run, scancel 7" in output
    squeue.write_text(f"#!/bin/sh\n{say}".replace("None", "JobHoldMaxRequeue"))
    output = workflow.run("a.txt", works=False)
    assert "SLURM holds job 7 (JobHoldMaxRequeue): scontrol release 7" in output
    squeue.write_text("#!/bin/sh\nexit 1\n")
    output = workflow.run("a.txt", works=False)
    assert "squeue does not answer" in output
    (here / ".snakemake/slurm_logs").rmdir()  # SLURM's commands without a cluster
    workflow.run("a.txt")
