"""After a kill, the same command goes on; the lock of a run that lives is never touched."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SNAKEFILE = """\
from pathlib import Path
from journeylab.config import UserError
from journeylab.workflow.recovery import begin_run

if workflow.is_main_process:
    try:
        begin_run()
    except UserError as problem:
        raise SystemExit(f"error: {problem}")

rule slow:
    output: "{name}.txt"
    shell: "seconds=$(cat seconds); touch begun-{wildcards.name}; sleep $seconds; touch {output}"
"""


class Workflow:
    """One rule that takes as long as the file `seconds` says."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.started: list[subprocess.Popen[str]] = []
        (path / "Snakefile").write_text(SNAKEFILE)
        self.take(0)

    def take(self, seconds: int) -> None:
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

    def run(self, *targets: str) -> tuple[int, str]:
        process = self.start(*targets)
        told, _ = process.communicate(timeout=60)
        return process.returncode, told

    def at_work(self, name: str) -> subprocess.Popen[str]:
        """A run whose job is at work for a minute."""
        self.take(60)
        process = self.start(f"{name}.txt")
        wait_for(lambda: (self.path / f"begun-{name}").exists())
        self.take(0)
        return process

    def locks(self) -> list[str]:
        return sorted(path.name for path in self.path.glob(".snakemake/locks/*"))


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def workflow(tmp_path: Path) -> Iterator[Workflow]:
    workflow = Workflow(tmp_path)
    yield workflow
    for process in workflow.started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_a_killed_run_goes_on_with_the_same_command(workflow: Workflow) -> None:
    process = workflow.at_work("a")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert workflow.locks()
    code, told = workflow.run("a.txt")
    assert code == 0, told
    assert workflow.locks() == []
    assert not list(workflow.path.glob(".snakemake/runs/[!.]*"))


def test_the_lock_of_a_live_run_holds(workflow: Workflow) -> None:
    live = workflow.at_work("a")
    locks = workflow.locks()
    code, told = workflow.run("a.txt")
    assert code != 0
    assert "cannot be locked" in told
    assert workflow.locks() == locks
    assert live.poll() is None


def test_a_live_run_keeps_its_lock_while_a_dead_one_leaves_some(workflow: Workflow) -> None:
    live = workflow.at_work("a")
    locks = workflow.locks()
    dead = workflow.at_work("b")
    os.killpg(dead.pid, signal.SIGKILL)
    dead.wait()
    # snakemake removes all locks at the end of any run, so that only a dry run shows what is ours
    assert workflow.run("--dry-run", "c.txt")[0] == 0
    assert set(locks) <= set(workflow.locks())
    assert workflow.run("a.txt")[0] != 0
    assert live.poll() is None


def test_jobs_that_outlived_their_run_are_named(workflow: Workflow) -> None:
    process = workflow.at_work("a")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    code, told = workflow.run("a.txt")
    [line] = told.strip().splitlines()
    assert code != 0
    assert "are still running" in line
    pids = [int(word) for word in line.split("kill ")[1].split()]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    time.sleep(0.2)
    code, told = workflow.run("a.txt")
    assert code == 0, told


def test_the_lock_of_an_unknown_run_stays(workflow: Workflow) -> None:
    process = workflow.at_work("a")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    [run] = workflow.path.glob(".snakemake/runs/[!.]*")
    run.rename(run.with_name(f"elsewhere:{process.pid}"))
    assert workflow.run("a.txt")[0] != 0
    assert workflow.locks()


def test_jobs_in_the_queue_of_a_cluster_are_named(
    workflow: Workflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    squeue = workflow.path / "bin" / "squeue"
    squeue.parent.mkdir()
    queue = [f"7|journeylab_1|{workflow.path}", "8|journeylab_2|/elsewhere", f"9|a|{workflow.path}"]
    squeue.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in queue))
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", str(squeue.parent), prepend=os.pathsep)
    code, told = workflow.run("a.txt")
    assert code != 0
    assert told.strip().endswith("end them: scancel 7")
    squeue.write_text("#!/bin/sh\nexit 1\n")
    code, told = workflow.run("a.txt")
    assert code == 0, told
