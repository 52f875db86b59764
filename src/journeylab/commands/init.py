"""``journeylab init``: a repository for another paper, with the pipeline and one worked study."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from textwrap import indent
from typing import Annotated

import typer

from journeylab.catalogue import rails
from journeylab.commands.new import CONFIG, filled, study_files, study_names
from journeylab.config import UserError
from journeylab.records.fingerprint import PROJECT_STUDIES as OWN
from journeylab.records.git import ask_git

STUDY = "exp1_hidden_layer"
COMMAND = "from journeylab.commands.app import main; main()"
"""What a call of `journeylab` runs, also where the command is not installed."""


def init(folder: Annotated[Path, typer.Argument(help="Folder to create, e.g. my-paper.")]) -> None:
    """Create a repository for another paper: the pipeline, and one worked study."""
    create_project(folder)
    typer.echo(f"{folder}: a project with the worked study {STUDY}; README.md says what is where")
    done = run_python(folder, "-c", COMMAND, "register")
    if done.returncode:
        raise UserError(f"{folder}: its claims cannot be registered: {done.stderr.strip()}")
    typer.echo(_commit(folder))
    typer.echo(f"next: cd {folder} && snakemake --cores all")


def run_python(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the project; its jobs find the console scripts beside this Python."""
    scripts = str(Path(sys.executable).parent)
    one_thread = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    path = {"PATH": f"{scripts}{os.pathsep}{os.environ.get('PATH', '')}"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=project,
        env=os.environ | one_thread | path,
        capture_output=True,
        errors="replace",
    )


def create_project(folder: Path) -> None:
    """Write a project into a new folder; nothing is left of one that cannot be completed.

    Raises UserError if the folder exists and is not empty, or its name has no letter or digit.
    """
    name = re.sub(r"[^a-z0-9]+", "-", folder.absolute().name.lower()).strip("-")
    if not name:
        raise UserError(f"{folder}: write a name with letters or digits, e.g. my-paper")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: exists and is not empty; choose another name")
    into = folder.absolute()
    into.parent.mkdir(parents=True, exist_ok=True)
    # an existing folder may be the working directory or a mount, which nothing can be moved onto
    parent = into if into.exists() else into.parent
    with tempfile.TemporaryDirectory(prefix=".init-", dir=parent) as temporary:
        project = Path(temporary) / "project"
        for path, text in _texts(project, name):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if parent == into:
            for path in project.iterdir():
                path.rename(into / path.name)
        else:
            project.rename(into)


def _texts(project: Path, name: str) -> Iterator[tuple[Path, str]]:
    """Every file of a project that is made from a template."""
    names = study_names(STUDY, OWN)
    study, modules = names["study"], project / OWN
    yield from study_files(names, modules / STUDY).items()
    yield modules / "__init__.py", '"""The studies of this project, one folder each."""\n'
    names |= {
        "name": name,
        "version": version("journeylab"),
        "title": name.replace("-", " ").capitalize(),
    }
    section = filled("study", CONFIG, study_names(STUDY, OWN))
    yield project / CONFIG, filled("project", CONFIG, names) + indent(section, "  ")
    yield project / "claims" / f"{study}.yaml", filled("project", "claims.yaml", names)
    profile = Path("profiles", "default", "config.yaml")
    yield project / profile, (rails() / profile).read_text(encoding="utf-8")
    yield project / ".gitignore", filled("project", "gitignore", names)
    yield project / "paper" / "paper.tex", filled("project", "paper.tex", names)
    for file in ("Snakefile", "response.yaml", "pyproject.toml", "Makefile", "README.md"):
        yield project / file, filled("project", file, names)


def _commit(project: Path) -> str:
    """Make a repository with a first commit, unless one is there; return what was done."""
    if ask_git(project, "rev-parse", "--is-inside-work-tree") is not None:
        return "it lies in a git repository; commit it there before the first run"
    steps = (
        ("init", "--quiet", "--initial-branch", "main"),
        ("add", "--all"),
        ("commit", "--quiet", "--message", "chore: a project as journeylab init writes it"),
    )
    for step in steps:
        if ask_git(project, *step) is None:
            return (
                f"git {step[0]} failed; set user.name and user.email, then type in {project}: "
                "git init; git add -A; git commit -m 'first commit'"
            )
    return "its first commit registers the claims"
