"""A server imports the libraries of stages once; commands start from it and from nothing alike."""

import os
import sys
from pathlib import Path

import pytest

from journeylab.records.runs import read_run
from journeylab.workflow.forking import is_possible

from ..made import as_on_macos, ran
from .conftest import Copy

BIN = str(Path(sys.executable).parent)
SCRIPT = """
import shutil, subprocess, sys, time
from pathlib import Path
from journeylab.workflow.forking import start_server

def outcome(*command):
    done = subprocess.run(["journeylab", *command], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr

commands = (["list"], ["stage", "judge", "--plan", "missing.json", "--output", "verdicts.json"])
usual = [outcome(*command) for command in commands]
start_server(jobs=8)
command = Path(shutil.which("journeylab"))
assert [outcome(*each) for each in commands] == usual, "before the server is ready"
while not (command.parent / "socket").exists():
    time.sleep(0.05)
assert [outcome(*each) for each in commands] == usual, "from the server"
print(command.parent)
"""


def run(script: str, folder: Path, **environment: str) -> str:
    path = os.pathsep.join((BIN, os.environ["PATH"]))
    variables = {"PATH": path, "OMP_NUM_THREADS": "1"} | environment
    return ran(sys.executable, "-c", script, folder=folder, **variables).stdout.strip()


@pytest.mark.system
@pytest.mark.skipif(not is_possible(), reason="pidfd_open is missing, which Linux has since 5.3")
def test_commands_from_a_server_behave_as_usual_and_it_ends_with_its_run(tmp_path: Path) -> None:
    folder = Path(run(SCRIPT, tmp_path))
    assert not folder.exists()


def test_a_command_that_the_system_kills_ends_as_killed(warm: Path, tmp_path: Path) -> None:
    """Out of memory, for example; the line about it comes from the caller."""
    script = "import os; os.kill(os.getpid(), 9)"
    assert ran(warm / "python", "-c", script, folder=tmp_path, code=-9).stderr == ""


@pytest.mark.parametrize(("jobs", "macos"), [(1, False), (8, False), (8, True)])
def test_few_jobs_another_command_of_that_name_and_macos_start_no_server(
    jobs: int, macos: bool, tmp_path: Path
) -> None:
    other = tmp_path / "journeylab"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    first = BIN if jobs == 1 or macos else str(tmp_path)
    search = {"PATH": os.pathsep.join((first, os.environ["PATH"]))}
    script = (
        "import os\nfrom journeylab.workflow.forking import start_server\n"
        f"before = os.environ['PATH']\nstart_server({jobs})\nprint(before == os.environ['PATH'])"
    )
    more = as_on_macos(os.environ | search) if macos else search
    assert run(script, tmp_path, **more) == "True"


@pytest.mark.system
def test_jobs_compute_the_same_bytes_where_linux_is_missing(finished: Copy, fresh: Copy) -> None:
    folder = "results/exp5/bridge/rotation/once"
    assert (finished.path / folder).exists()
    fresh.run(
        *("snakemake", "--cores", "1", f"{folder}/measurements.parquet"),
        env=as_on_macos(fresh.cold_environment),
    )
    [made, linux] = [copy.path / folder / "measurements.parquet" for copy in (fresh, finished)]
    assert made.read_bytes() == linux.read_bytes()
    assert read_run(fresh.path / folder).cpu == ("Apple M1",)
