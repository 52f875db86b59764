"""A second snakemake leaves the plans with which a running workflow works."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ..made import kill
from .conftest import Copy

pytestmark = pytest.mark.workflow

TARGET = "results/exp5/bridge/rotation/once/run.json"
CHANGED = ("--config", "seeds_from=5000")
Process = subprocess.Popen[str]


def plans(copy: Copy) -> dict[Path, bytes]:
    """The plans; not the costs of jobs that went on before the workflow was halted."""
    paths = copy.path.glob("plans/**/[!.]*.json")
    return {path: path.read_bytes() for path in paths if path.suffixes == [".json"]}


@contextmanager
def halted(copy: Copy, *arguments: str) -> Iterator[Process]:
    """A snakemake that has written its plans and is halted until it gets SIGCONT."""
    log = copy.path / "snakemake.log"
    with log.open("wb") as output:
        process = copy.start(
            *(sys.executable, "-m", "snakemake", "--cores", "1", *arguments), output=output
        )
    try:
        while b"response.yaml: open" not in log.read_bytes():  # a warning that follows the plans
            assert process.poll() is None, log.read_text()
            time.sleep(0.01)
        process.send_signal(signal.SIGSTOP)
        yield process
    finally:
        if process.poll() is None:
            kill(process)


@pytest.mark.system
def test_only_calls_that_would_change_plans_of_a_running_workflow_are_refused(fresh: Copy) -> None:
    with halted(fresh, TARGET) as active:
        before = plans(fresh)
        done = fresh.snakemake(TARGET, *CHANGED, check=False)
        [error] = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        assert done.returncode != 0
        assert error.startswith("error: plans/exp")
        assert "a workflow that began on" in error
        fresh.snakemake("-n", TARGET, *CHANGED)
        fresh.snakemake(f"build/other/{TARGET}", *CHANGED, "root=build/other", "--nolock")
        assert plans(fresh) == before
        assert list(fresh.path.glob("build/other/plans/**/*.json"))
        active.send_signal(signal.SIGCONT)
        assert active.wait() == 0
    assert (fresh.path / TARGET).exists()


def test_a_dry_run_keeps_no_other_call_from_changing_plans(fresh: Copy) -> None:
    with halted(fresh, "-np", TARGET):
        assert not plans(fresh)
        fresh.snakemake(TARGET, *CHANGED)
        assert plans(fresh)


@pytest.mark.system
def test_a_killed_workflow_keeps_no_call_from_changing_plans_unless_it_ran_elsewhere(
    fresh: Copy,
) -> None:
    with halted(fresh, TARGET) as active:
        before = plans(fresh)
        kill(active)
    [record] = fresh.path.glob(".snakemake/runs/[!.]*")
    held = record.read_bytes()
    fresh.snakemake(TARGET, *CHANGED)
    assert plans(fresh) != before
    record.with_name("elsewhere:1").write_bytes(held)  # as of a machine that died
    other = ("--config", "seeds_from=6000")
    refused = fresh.snakemake(TARGET, *other, check=False)
    assert "make unlock" in refused.stderr
    fresh.snakemake("--unlock", *other)  # the commands of `make unlock`
    fresh.run("rm", "-r", ".snakemake/runs")
    fresh.snakemake(TARGET, *other)
