"""The code that runs is that of the working directory, or a command refuses in one line."""

import os
import sys
from pathlib import Path

import pytest

from .conftest import PROJECT, Copy

pytestmark = pytest.mark.workflow


def cold(copy: Copy, **variables: str) -> dict[str, str]:
    """The environment of the first checkout, in which another folder is worked in."""
    first = {"PYTHONPATH": str(PROJECT / "src"), "PATH": copy.cold_environment["PATH"]}
    return os.environ | first | variables


@pytest.mark.parametrize(
    "command",
    [("snakemake", "-n"), ("journeylab", "list"), (sys.executable, "-m", "journeylab", "list")],
)
def test_the_code_of_another_checkout_is_refused_in_one_line(
    unmade: Copy, command: tuple[str, ...]
) -> None:
    done = unmade.run(*command, env=cold(unmade), check=False)
    [line] = [line for line in done.stderr.splitlines() if not line.startswith("Using workflow")]
    assert (done.returncode, done.stdout) == (1 if command[0] == "snakemake" else 2, "")
    assert line.startswith(f"error: {unmade.path}/src/journeylab is here, but {PROJECT}/src")
    assert "`make setup`" in line
    assert "PYTHONPATH=src" in line


@pytest.mark.system
def test_the_advised_variable_runs_the_code_of_the_folder(fresh: Copy) -> None:
    fresh.edit("src/journeylab/commands/list.py", lambda text: f"{text}\nprint('edited')\n")
    for command in (("journeylab",), (sys.executable, "-m", "journeylab")):
        done = fresh.run(*command, "list", env=cold(fresh, PYTHONPATH="src"))
        assert done.stdout.startswith("edited\n")
    fresh.run("snakemake", "-n", env=cold(fresh, PYTHONPATH="src"))


def test_help_and_folders_without_the_package_are_not_refused(unmade: Copy, tmp_path: Path) -> None:
    for words in (["--help"], ["list", "--help"]):
        unmade.run("journeylab", *words, env=cold(unmade))
    (tmp_path / "src/journeylab").mkdir(parents=True)  # a folder of this name, but no package
    Copy(tmp_path).run("journeylab", "demo", "--help", env=cold(unmade))


def test_a_project_outside_git_is_warned_that_nothing_will_be_registered(fresh: Copy) -> None:
    """As the archive of a release, before the first job."""
    fresh.configure(lambda config: config.update(scale="default"))
    warned = "runs that begin now will be exploratory"
    assert fresh.snakemake("-n", "reports/exp5.pdf").stdout.count(warned) == 1
