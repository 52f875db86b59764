"""`make setup` builds the environment once and completely, and keeps environments in use.

Short commands replace the creation and the installation; locks, processes and signals are real.
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from journeylab.commands.init import STUDY
from journeylab.commands.new import OWN, filled, study_names

from ..made import PROJECT, git, ran, wait_for

NEEDED = (
    *("Makefile", "constraints.txt", "pyproject.toml", "requirements.lock"),
    "tools/environment.py",
)
OF_MAKE = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "CREATE", "INSTALL")  # this test may run under make
CREATE = (
    'mkdir -p $(VENV)/bin && ln -s "$$(command -v sh)" $(VENV)/bin/python'
    ' && ln -s "$$(command -v true)" $(VENV)/bin/journeylab'  # writes the schemas
)
INSTALL = "echo $$$$ >> installs; touch $(VENV)/whole"
SLOW = INSTALL.replace("; ", "; sleep 1; ")


class Checkout:
    """A folder with the files that `make setup` needs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        for name in NEEDED:
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, path / name)

    def start(self, target: str = "setup", **variables: str) -> subprocess.Popen[str]:
        given = {"PYTHON": sys.executable, "CREATE": CREATE, "INSTALL": INSTALL} | variables
        return subprocess.Popen(
            ["make", target, *(f"{name}={value}" for name, value in given.items())],
            cwd=self.path,
            env={name: value for name, value in os.environ.items() if name not in OF_MAKE},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def make(self, target: str = "setup", *, works: bool = True, **variables: str) -> str:
        """What make prints; `works` says whether it ends without an error."""
        process = self.start(target, **variables)
        output, _ = process.communicate(timeout=60)
        assert (process.returncode == 0) == works, output
        return output

    def environments(self) -> list[Path]:
        folders = (entry for entry in self.path.glob(".venvs/[!.]*") if entry.is_dir())
        return sorted(folder.absolute() for folder in folders)

    def current(self) -> Path:
        return (self.path / ".venv").resolve()

    def is_whole(self) -> bool:
        return (self.current() / "ready").exists() and (self.current() / "whole").exists()

    def installs(self) -> int:
        return len((self.path / "installs").read_text().split())


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_setup_prints_its_steps_runs_once_and_is_ignored_by_git(checkout: Checkout) -> None:
    output = checkout.make()
    assert checkout.is_whole()
    assert [line.split("] ")[0] for line in output.splitlines()[:2]] == ["[0:00", "[0:00"]
    assert "1 of 2: an empty environment" in output
    assert "2 of 2: the pinned dependencies" in output
    assert checkout.make() == ""
    assert checkout.installs() == 1
    shutil.copy2(PROJECT / ".gitignore", checkout.path)
    git(checkout.path, "init", "--quiet")
    assert ".venv" not in git(checkout.path, "status", "--porcelain", "--untracked-files=all")


@pytest.mark.system
def test_a_copied_or_moved_checkout_builds_its_own_environment(
    checkout: Checkout, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Scripts and the editable installation hold the path of the folder in which they were made."""
    checkout.make()
    copied = tmp_path_factory.mktemp("copied") / "checkout"
    shutil.copytree(checkout.path, copied, symlinks=True)
    other = Checkout(copied)
    assert other.installs() == 1
    other.make()
    assert other.installs() == 2
    assert other.make() == ""
    assert checkout.make() == ""


@pytest.mark.system
def test_another_version_of_python_makes_the_environment_anew(checkout: Checkout) -> None:
    create = f"{CREATE} && mkdir -p $(VENV)/lib/python3.8"
    checkout.make(CREATE=create)
    old = checkout.current()
    job = subprocess.Popen(["sleep", "60"], env={"HOME": f"{old}/"})
    try:
        output = checkout.make(works=False)
        assert f"{old.name} has Python 3.8, and process {job.pid} uses it; wait" in output
        assert checkout.is_whole()
    finally:
        job.kill()
        job.wait()
    output = checkout.make()
    assert f"{old.name} has Python 3.8; it is made anew with 3.{sys.version_info[1]}\n" in output
    assert checkout.make() == ""


@pytest.mark.system
def test_what_is_installed_decides_which_environment_is_used(checkout: Checkout) -> None:
    checkout.make()
    project = checkout.path / "pyproject.toml"
    for tool in ("ruff", "mypy", "pytest.ini_options", "importlinter"):
        text = project.read_text(encoding="utf-8")
        assert text.count(f"[tool.{tool}]\n") == 1
        edited = text.replace(f"[tool.{tool}]\n", f"[tool.{tool}]\n# other\n")
        project.write_text(edited, encoding="utf-8")
    assert checkout.make() == ""
    for table in ("build-system", "project", "project.optional-dependencies"):
        text = project.read_text(encoding="utf-8")
        project.write_text(text.replace(f"[{table}]\n", f"[{table}]\n# other\n"), encoding="utf-8")
        before = checkout.installs()
        checkout.make()
        assert checkout.installs() == before + 1, table


NEWER = r"\.ONESHELL|\.RECIPEPREFIX|^define .*=|^undefine|!=|::=|&:|\$\((?:file|let|intcmp|guile) "
"""What make understands since 3.82 or later."""


def test_make_3_81_finds_the_commands_of_the_environment(checkout: Checkout) -> None:
    """macOS has it. It starts simple lines on its own PATH, unless SHELL is not /bin/sh."""
    assert not re.search(NEWER, (PROJECT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    checkout.make()
    command = checkout.current() / "bin/snakemake"
    command.write_text('#!/bin/sh\necho ran "$@"\n')
    command.chmod(0o755)
    (checkout.path / "src/journeylab/studies/exp1_any").mkdir(parents=True)

    def said(*options: str) -> str:
        return ran("make", *options, "exp1", folder=checkout.path, code=None).stdout

    [line] = [line for line in said("--dry-run").splitlines() if line.startswith("snakemake ")]
    variables = dict(re.findall(r"^(SHELL|PATH) :?= (.*)$", said("--print-data-base", "-n"), re.M))
    shell = variables.pop("SHELL")
    simple = shell == "/bin/sh"
    words = shlex.split(line) if simple else [shell, "-c", line]
    environment = {"PATH": os.defpath} if simple else variables
    done = subprocess.run(words, cwd=checkout.path, env=environment, capture_output=True, text=True)
    assert done.stdout == "ran --cores all reports/exp1.pdf\n"


@pytest.mark.system
@pytest.mark.parametrize(
    ("name", "works"), [("it's 1 #ü", True), ('$HOME"1', True), ('a "b"', False)]
)
def test_checkouts_have_paths_of_any_characters_that_scripts_can_hold(
    tmp_path: Path, name: str, works: bool
) -> None:
    checkout = Checkout(tmp_path / name)
    output = checkout.make(works=works)
    assert checkout.make() == "" if works else f"{name}: an environment needs a path" in output


def test_clean_removes_quick_runs_and_tools_and_no_other_results(checkout: Checkout) -> None:
    checkout.make()
    kept = ("build/pilots/results", "build/reproduction", "logs/train", "results")
    removed = ("build/quick/results", "build/services", "build/docs", ".pytest_cache")
    for name in (*kept, *removed):
        (checkout.path / name).mkdir(parents=True)
    archive = checkout.path / "build/journeylab-deposit.zip"
    archive.touch()
    checkout.make("clean")
    assert archive.exists()
    assert [name for name in (*kept, *removed) if (checkout.path / name).exists()] == list(kept)


def test_two_concurrent_makes_build_one_environment(checkout: Checkout) -> None:
    both = [checkout.start(INSTALL=SLOW), checkout.start(INSTALL=SLOW)]
    outputs = [process.communicate(timeout=60)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert sum("another make is setting up" in text for text in outputs) == 1
    assert checkout.installs() == 1
    assert checkout.is_whole()


def test_an_interrupted_setup_is_built_anew(checkout: Checkout) -> None:
    process = checkout.start(INSTALL="touch $(VENV)/begun; exec sleep 60")
    wait_for(lambda: list(checkout.path.glob(".venvs/*/begun")))
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert process.returncode != 0
    assert "Traceback" not in output
    assert not (checkout.path / ".venv").exists()
    [partial] = checkout.environments()
    assert not (partial / "ready").exists()
    output = checkout.make()
    assert checkout.is_whole()
    assert not (partial / "begun").exists()  # the first attempt was removed


@pytest.mark.system
def test_make_waits_for_the_processes_of_a_killed_setup(checkout: Checkout) -> None:
    process = checkout.start(INSTALL=SLOW.replace("sleep 1", "sleep 3; touch orphan-ended"))
    wait_for((checkout.path / "installs").exists)
    [setup] = psutil.Process(process.pid).children()
    setup.kill()
    checkout.make()
    assert (checkout.path / "orphan-ended").exists()
    assert checkout.is_whole()
    process.communicate(timeout=30)


def test_an_environment_in_use_is_kept_when_requirements_change(checkout: Checkout) -> None:
    checkout.make()
    old = checkout.current()
    variables = os.environ | {"PATH": f"{old}/bin:{os.environ['PATH']}"}
    job = subprocess.Popen(["sleep", "60"], env=variables)
    try:
        with (checkout.path / "constraints.txt").open("a") as constraints:
            constraints.write("# another version\n")
        checkout.make()
        assert checkout.is_whole()
        assert checkout.current() != old
        assert (old / "whole").exists()
        output = checkout.make("clean")
        assert old in checkout.environments()
        assert f"{old.relative_to(checkout.path)} stays" in output
    finally:
        job.kill()
        job.wait()
    lock = checkout.path / ".snakemake/locks/0.input.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    checkout.make("clean")  # the workflow may run on another machine
    assert old in checkout.environments()
    lock.unlink()
    checkout.make("clean")
    assert checkout.environments() == [checkout.current()]


def test_an_old_venv_folder_is_replaced_by_a_link(checkout: Checkout) -> None:
    (checkout.path / ".venv/lib").mkdir(parents=True)
    checkout.make()
    assert (checkout.path / ".venv").is_symlink()
    assert checkout.is_whole()
    [moved] = checkout.path.glob(".venvs/before-*")
    assert (moved / "lib").exists()


def test_a_failed_install_prints_its_last_lines(checkout: Checkout) -> None:
    output = checkout.make(INSTALL="seq 100; echo no such version >&2; exit 1", works=False)
    assert "no such version" in output
    assert "error: the environment could not be set up" in output
    assert "\n80\n" not in output
    assert not (checkout.path / ".venv").exists()


def test_too_old_a_python_gives_one_error_line(checkout: Checkout) -> None:
    old = checkout.path / "python3.9"
    pretend = (
        "import runpy, sys; sys.version_info = (3, 9, 1); sys.argv = sys.argv[1:]; "
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    old.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{pretend}" "$@"\n')
    old.chmod(0o755)
    output = checkout.make(PYTHON=str(old), works=False)
    [line] = [line for line in output.splitlines() if not line.startswith("make")]
    assert line == (f"error: {old} is Python 3.9; 3.11 or later is needed: make PYTHON=python3.12")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("exp77", "there is no study exp77; there are exp1."),
        ("tset", "there is no target tset; near: test"),
        ("paper", "no-latexmk is missing"),
    ],
)
def test_what_cannot_succeed_is_said_before_the_set_up(
    checkout: Checkout, target: str, said: str
) -> None:
    (checkout.path / "src/journeylab/studies/exp1_any").mkdir(parents=True)
    output = checkout.make(target, LATEXMK="no-latexmk", works=False)
    assert said in output
    assert not checkout.environments()


def test_make_ui_shows_quick_runs_if_there_are_no_others(checkout: Checkout) -> None:
    def shown() -> str:
        said = ran("make", "--dry-run", "ui", folder=checkout.path).stdout
        [line] = re.findall(r"^journeylab ui.*$", said, re.MULTILINE)
        return line.strip()

    assert shown() == "journeylab ui"
    (checkout.path / "build/quick").mkdir(parents=True)
    assert shown() == "journeylab ui --root build/quick"
    (checkout.path / "results/exp7").mkdir(parents=True)
    assert shown() == "journeylab ui"


@pytest.fixture(params=["repository", "project"])
def papers(request: pytest.FixtureRequest, checkout: Checkout) -> Checkout:
    """A folder with an empty `paper/`, and the Makefile of the repository or of a new project."""
    if request.param == "project":
        names = study_names(STUDY, OWN)
        (checkout.path / "Makefile").write_text(filled("project", "Makefile", names))
    (checkout.path / "paper").mkdir()
    return checkout


def test_a_paper_needs_the_studies_that_it_names(papers: Checkout) -> None:
    text = "\\study{exp5}\n\t \\study{exp12}% numbers\n% \\study{exp7}\n"
    (papers.path / "paper/any.tex").write_text(text)
    output = papers.make("paper", works=False, RUN="@echo ran", LATEXMK="true")  # has no reports
    assert "ran reports/exp5.pdf reports/exp12.pdf\n" in output


@pytest.mark.parametrize("text", ["% \\study{exp5}\n", "\\study{exp}\n", None])
def test_a_paper_that_names_no_study_runs_nothing(papers: Checkout, text: str | None) -> None:
    if text is not None:
        (papers.path / "paper/any.tex").write_text(text)
    output = papers.make("paper", works=False, RUN="@echo ran", LATEXMK="true")
    assert re.search(r"^error: paper/\*\.tex: no file names a study; .*\\study\{exp", output, re.M)
    assert "ran" not in output.split()
