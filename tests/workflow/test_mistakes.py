"""A mistake in config.yaml or claims/, or in the choice of a folder, gives one error line."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import PROJECT, Copy

pytestmark = pytest.mark.workflow

CLAIMS = "claims/exp7.yaml"


def output_lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Lines that snakemake printed, without the line about the profile."""
    lines = (done.stdout + done.stderr).splitlines()
    return [line for line in lines if line.strip() and not line.startswith("Using workflow")]


def misspelled_rate(copy: Copy) -> None:
    copy.configure(lambda config: config["studies"]["exp7"]["training"].update(learning_rte=0.1))


def misspelled_metric(copy: Copy) -> None:
    copy.edit(CLAIMS, lambda text: text.replace("metric: hits@1", "metric: hits@one"))


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (misspelled_rate, ("config.yaml", "studies.exp7.training.learning_rte")),
        (misspelled_metric, (CLAIMS, "hits@one", "hits@1")),
    ],
)
def test_a_mistake_gives_one_error_line(
    fresh: Copy, mistake: Callable[[Copy], None], words: tuple[str, ...]
) -> None:
    mistake(fresh)
    before = sorted(path for path in fresh.path.rglob("*") if ".snakemake" not in path.parts)
    done = fresh.snakemake("all", check=False)
    [line] = output_lines(done)
    assert done.returncode != 0
    assert [word for word in words if word not in line] == [], line
    after = sorted(path for path in fresh.path.rglob("*") if ".snakemake" not in path.parts)
    written = [path for path in after if path not in before and "__pycache__" not in path.parts]
    assert written == []


def test_only_targets_below_the_root_name_studies(fresh: Copy) -> None:
    root = "build/exp99/x"
    options = ("-n", "--shadow-prefix", f"{fresh.path}/exp20/x", "--config", f"root={root}", "--")
    fresh.snakemake(*options, f"{root}/reports/exp5.pdf")
    done = fresh.snakemake(*options, f"{root}/reports/exp6.pdf", check=False)
    assert f"error: {root}/reports/exp6.pdf: exp6 is not in config.yaml" in done.stderr


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
    [line] = output_lines(done)
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
