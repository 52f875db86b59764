"""From the wheel, in an empty folder: a project that is set up, run, changed and checked."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

from ..made import copy_tracked, ran

pytestmark = pytest.mark.system


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel, and a folder to work in."""

    python: Path
    folder: Path

    def run(self, *command: str, folder: str = ".", code: int = 0) -> str:
        path = f"{self.python.parent}{os.pathsep}{os.environ['PATH']}"
        variables = {"PYTHONPATH": "", "PATH": path, "OMP_NUM_THREADS": "1"}
        done = ran(*command, folder=self.folder / folder, code=code, **variables)
        return done.stdout + done.stderr

    def snakemake(self, *arguments: str) -> str:
        command = (str(self.python), "-m", "snakemake", "--cores", "1", *arguments)
        return self.run(*command, folder="my-paper")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel of the tracked files in an environment that has only the libraries of this one."""
    folder = tmp_path_factory.mktemp("wheel")
    left_out = ("tests/", "evidence/", "docs/")
    copy_tracked(folder / "source", lambda name: not name.startswith(left_out))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--wheel-dir", folder, folder / "source"], check=True
    )
    shutil.rmtree(folder / "source")
    [wheel] = folder.glob("journeylab-*.whl")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    python = folder / "venv" / "bin" / "python"
    script = "import sysconfig; print(sysconfig.get_path('purelib'))"
    place = ran(python, "-c", script).stdout.strip()
    # a plain path: files of that folder that name further paths, such as a checkout, are not read
    libraries = sysconfig.get_path("purelib")
    Path(place, "libraries.pth").write_text(f"{libraries}\n", encoding="utf-8")
    install = [*pip, "--python", python, "install", "--no-deps", "--no-index", "--force-reinstall"]
    subprocess.run([*install, "--ignore-installed", wheel], check=True)
    (folder / "work").mkdir()
    return Installed(python, folder / "work")


@pytest.fixture(scope="module")
def project(installed: Installed) -> Installed:
    """The project after `init` and a whole workflow."""
    said = installed.run("journeylab", "init", "my-paper")
    assert "cd my-paper" in said
    installed.snakemake()
    return installed


def test_the_wheel_is_what_runs(installed: Installed) -> None:
    where = installed.run("python", "-c", "import journeylab; print(journeylab.__file__)")
    assert Path(where.strip()).is_relative_to(installed.python.parents[1])


def test_the_worked_study_runs_to_its_pdf(project: Installed) -> None:
    for name in ("exp1.pdf", "response.pdf"):
        assert (project.folder / "my-paper/reports" / name).read_bytes().startswith(b"%PDF")
    counts = project.run("journeylab", "status", folder="my-paper")
    assert "1 supported, 1 refuted" in counts
    assert "0 problems" in project.run("journeylab", "check", folder="my-paper")
    assert "Nothing to be done" in project.snakemake("-n", "reports/exp1.pdf")


def test_claims_are_registered_by_the_first_commit(project: Installed) -> None:
    said = project.run("journeylab", "explain", "exp1.1", folder="my-paper")
    assert "registered before these runs" in said


def test_the_tests_of_a_new_study_pass_in_the_project(project: Installed) -> None:
    project.run("journeylab", "init", "second")
    project.run("journeylab", "new", "exp2_second", folder="second")
    project.run("python", "-m", "pytest", "-q", folder="second")


@pytest.mark.skipif(shutil.which("latexmk") is None, reason="latexmk is missing")
def test_the_manuscript_is_typeset_with_the_numbers(project: Installed) -> None:
    scripts = project.python.parent / "snakemake"
    scripts.write_text(f'#!/bin/sh\nexec {project.python} -m snakemake "$@"\n')
    scripts.chmod(0o755)
    project.run("make", "paper", "CORES=1", folder="my-paper")
    assert (project.folder / "my-paper/build/paper/paper.pdf").exists()


def test_the_demo_shows_three_outcomes_and_leaves_nothing(installed: Installed) -> None:
    said = installed.run("journeylab", "demo")
    assert "exp1.1  Supported" in said
    assert "exp1.2  Refuted" in said
    assert "measurements.parquet is damaged (its SHA-256 differs)" in said
    [folder] = {line.split()[0] for line in said.splitlines() if line.endswith("DIR` keeps it.")}
    assert not Path(folder).exists()
