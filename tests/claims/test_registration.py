"""Whether a claim was registered before its runs: what the runs recorded, and what git shows."""

import itertools
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from journeylab.claims.hashes import FORM
from journeylab.claims.register import Register, read_register, row_hashes
from journeylab.claims.registration import (
    CommitState,
    History,
    RecordedHistory,
    recorded_rows,
    registrations,
)
from journeylab.records.files import write_json
from journeylab.records.runs import RunStart, committed_files, git_state

MEASURE = {"label": "hits", "metric": "hits"}
EFFECT = "main/A@hits - main/B@hits"
ROW = {
    "id": "exp1.1",
    "theorem": "thm:x",
    "form": "typical",
    "statement": "A is better.",
    "source": "corrected",
    "effect": EFFECT,
    "region": {"above": 0.02},
}
LATER = {**ROW, "id": "exp1.s1", "form": None, "effect": "other/A@hits"}
CHANGED = (
    "exploratory: what decides its verdict changed after its runs started (effect, region, "
    "measures, gates, first seed, α, looks or M)"
)
NAMES = ("claims/exp1.yaml", "claims/looks.yaml")


COUNT = itertools.count()  # equal commits in the same second would get the same hash


class Project:
    """A repository with a register, and runs that begin in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        (path / "claims").mkdir()
        (path / "claims/looks.yaml").write_text("alpha: 0.05\n", encoding="utf-8")
        self.write(ROW)

    def write(self, *rows: dict[str, Any]) -> None:
        content = {"measures": {"hits": MEASURE}, "claims": list(rows)}
        (self.path / "claims/exp1.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")

    def git(self, *arguments: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        command = ["git", "-C", str(self.path), *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self) -> None:
        if not (self.path / ".git").exists():
            self.git("init", "--initial-branch", "main")
        self.git("add", "--all")
        self.git("commit", "--allow-empty", "--message", f"change {next(COUNT)}")

    @property
    def register(self) -> Register:
        return read_register(self.path / "claims")

    def begin(self, arm: str = "main") -> tuple[Any, RunStart]:
        git = git_state(self.path)
        start = RunStart(
            plan_key="0" * 16,
            started=datetime.now(UTC),
            commit=git.commit,
            dirty=git.dirty,
            rows=row_hashes(self.register, "exp1"),
            registered=(committed_files(self.path, NAMES) or set()).issuperset(NAMES),
        )
        return SimpleNamespace(arm=arm, variant="A"), start

    def text(self, *runs: tuple[Any, RunStart], row: str = "exp1.1", at: Path | None = None) -> str:
        history = History(at or self.path, Path("claims"))
        return registrations(self.register, "exp1", runs, history)[row].text


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


def test_a_claim_that_was_committed_before_its_runs_is_registered(project):
    project.commit()
    run = project.begin()
    project.commit()
    assert project.text(run) == "registered before these runs"


def test_a_claim_whose_runs_started_outside_git_is_exploratory(project):
    assert project.text(project.begin()).startswith("exploratory: its runs started outside git")


def test_a_register_that_was_not_committed_is_exploratory_for_good(project):
    project.commit()
    project.write({**ROW, "region": {"above": 0.5}})
    run = project.begin()
    project.commit()
    assert project.text(run) == (
        "exploratory: the register was not committed when its runs started"
    )


def test_one_run_that_started_too_early_makes_a_claim_exploratory(project):
    project.commit()
    early = project.begin()
    project.write({**ROW, "region": {"above": 0.5}})
    project.commit()
    assert project.text(project.begin()) == "registered before these runs"
    assert project.text(early, project.begin()) == CHANGED


def test_a_row_is_registered_before_the_runs_that_it_reads_only(project):
    project.commit()
    early = project.begin()
    project.write(ROW, LATER)
    project.commit()
    late = project.begin("other")
    assert project.text(early, late) == "registered before these runs"
    assert project.text(early, late, row="exp1.s1") == "registered before these runs"
    other = (SimpleNamespace(arm="other", variant="A"), early[1])
    for runs, why in (
        ([early], "none of the runs that it reads is there"),
        ([early, other], "it was not in the register when its runs started"),
    ):
        assert project.text(*runs, row="exp1.s1") == f"exploratory: {why}"


def test_new_wording_and_uncommitted_changes_are_remarks(project):
    project.commit()
    (project.path / "code").write_text("1")
    project.commit()
    (project.path / "code").write_text("2")
    run = project.begin()
    project.write({**ROW, "statement": "A wins."})
    project.commit()
    assert project.text(run) == (
        "registered before these runs (reworded since; with uncommitted changes outside "
        "the register)"
    )


def test_a_record_cannot_claim_more_than_its_commit_contains(project):
    project.commit()
    run, honest = project.begin()
    project.write({**ROW, "region": {"above": 0.5}})
    forged = honest.model_copy(update={"rows": row_hashes(project.register, "exp1")})
    project.commit()
    assert project.text((run, forged)) == CHANGED


class Recorded:
    """Commits as a test states them, without git."""

    def __init__(self, rows):
        self.contents = rows

    def location(self, commit):
        return "here"

    def rows(self, commit, study):
        return self.contents


def begun_at(project: Project, content: str | None) -> tuple[Any, RunStart]:
    """A run whose record names the current rows, at a commit with another claims file, or none."""
    path = project.path / "claims/exp1.yaml"
    written = path.read_text()
    path.unlink()
    if content is not None:
        path.write_text(content)
    project.commit()
    commit = project.git("rev-parse", "HEAD")
    path.write_text(written)
    run, start = project.begin()
    return run, start.model_copy(update={"registered": True, "commit": commit, "dirty": False})


def test_a_commit_without_a_readable_claims_file_registers_nothing_or_is_a_remark(project):
    assert project.text(begun_at(project, None)) == (
        "exploratory: the commit of its runs does not contain it"
    )
    assert project.text(begun_at(project, "another: form\n")) == (
        "registered before these runs (according to the runs' records: the register in their "
        "commit is unreadable)"
    )


@pytest.mark.parametrize(
    ("looks", "hashed"),
    [("", "a7b9987009babfce"), ("looks: fixed\n", "a7b9987009babfce"), ("looks: sequential\n", "")],
)
def test_an_earlier_register_keeps_the_hashes_of_its_looks(project, looks, hashed):
    now = row_hashes(project.register, "exp1")["exp1.1"]
    file = project.path / "claims/exp1.yaml"
    file.write_text(looks + file.read_text())
    weights = "alpha: 0.05\nlooks: {12: 0.89, 30: 0.11}\n"
    (project.path / "claims/looks.yaml").write_text(weights)
    project.commit()
    then = History(project.path, Path("claims")).rows("HEAD", "exp1")
    assert then == {"exp1.1": (hashed or now[0], now[1])}


@pytest.mark.parametrize("committed", [True, False])
def test_registrations_need_no_git_but_what_is_known_of_commits(project, committed):
    register = project.register
    rows = row_hashes(register, "exp1")
    start = RunStart(
        plan_key="0" * 16,
        started=datetime.now(UTC),
        commit="c0ffee",
        dirty=False,
        rows=rows,
        registered=True,
    )
    runs = [(SimpleNamespace(arm="main", variant="A"), start)]
    state = registrations(register, "exp1", runs, Recorded(rows if committed else {}))["exp1.1"]
    assert state.exploratory != committed


def rebase(project: Project) -> None:
    project.git("checkout", "--orphan", "new")
    project.commit()
    project.git("branch", "--delete", "--force", "main")


def branch(project: Project) -> None:
    project.git("checkout", "--orphan", "new")
    project.commit()


def experiment(project: Project) -> None:
    project.git("update-ref", "refs/exps/ab/cd/try", "HEAD")
    rebase(project)


MOVED: dict[str, tuple[Callable[[Project], None], str]] = {
    "squash or rebase": (rebase, "in a commit that is on no branch any more (squash or rebase)"),
    "a branch": (branch, "on another branch"),
    "an experiment": (experiment, "in a DVC experiment that is not on this branch"),
}


@pytest.mark.parametrize("name", MOVED)
def test_the_location_of_a_moved_commit_is_a_remark(name, project):
    move, remark = MOVED[name]
    project.commit()
    run = project.begin()
    move(project)
    assert project.text(run) == f"registered before these runs ({remark})"


def test_without_the_commit_the_runs_records_count(project, tmp_path):
    project.commit()
    run = project.begin()
    project.commit()
    shallow = tmp_path / "shallow"
    project.git("clone", "--depth", "1", f"file://{project.path}", str(shallow))
    assert project.text(run, at=shallow) == (
        "registered before these runs (according to the runs' records: this clone is shallow and "
        "lacks their commit)"
    )
    foreign = Project(tmp_path / "foreign")
    foreign.commit()
    assert "their commit is not in this repository" in project.text(run, at=foreign.path)


def test_hashes_of_another_form_are_read_from_git_again(project, tmp_path):
    """If the hashes below differ, the hashed contents have changed: then raise FORM."""
    register = project.register
    [(judged, worded)] = row_hashes(register, "exp1").values()
    assert (FORM, judged, worded) == (1, "14b18f977d84d42f", "dcd56315b5e06ecf")
    rows = row_hashes(register, "exp1")
    history = RecordedHistory(commits={"c0ffee": CommitState(location="here", rows=rows)})
    path = tmp_path / "history.json"
    write_json(path, history)
    assert recorded_rows(path) == {"c0ffee": rows}
    write_json(path, history.model_copy(update={"form": FORM + 1}))
    assert recorded_rows(path) == {}
