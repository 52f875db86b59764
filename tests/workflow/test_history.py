"""Planning asks git when claims were registered; stages read its answer from a file."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from .conftest import Copy, command_of, commit

pytestmark = pytest.mark.workflow

RUN = "results/exp5/bridge/rotation/once"


@pytest.fixture
def committed(project: Copy) -> Copy:
    """A finished copy in a repository, in which one run was computed at the first commit."""
    commit(project.path, "first")
    for name in ("run.json", "run.host.json", "measurements.parquet"):
        (project.path / RUN / name).unlink()
    project.snakemake("reports/exp5.pdf")
    return project


def history(project: Copy) -> dict:
    return json.loads((project.path / "plans/exp5/history.json").read_text())["commits"]


def test_planning_records_the_commits_of_runs_no_stage_asks_git_and_later_commits_redo_nothing(
    committed: Copy, tmp_path: Path
) -> None:
    first = committed.run("git", "rev-parse", "HEAD").stdout.strip()
    host = json.loads((committed.path / RUN / "run.host.json").read_text())
    assert (host["commit"], host["dirty"], host["registered"]) == (first, False, True)
    state = history(committed)[first]
    assert state["location"] == "here"
    assert {"exp5.1", "exp5.2"} <= set(state["rows"])

    git = tmp_path / "git"
    git.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\nexit 1\n")
    git.chmod(0o755)
    before = (committed.path / "reports/exp5.pdf").read_bytes()
    done = subprocess.run(
        command_of("typeset", "exp5/typeset.json", output="reports/exp5.pdf"),
        cwd=committed.path,
        env=committed.environment | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        check=False,
    )
    assert done.returncode == 0
    assert not (tmp_path / "asked").exists()
    assert (committed.path / "reports/exp5.pdf").read_bytes() == before
    known = history(committed)
    (committed.path / "notes.md").write_text("notes\n")
    commit(committed.path, "second")
    assert committed.planned("reports/exp5.pdf") == set()
    assert history(committed) == known
