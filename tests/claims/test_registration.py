"""Whether a claim was registered before its runs: what the runs noted, and what git shows."""

import itertools
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from journeylab.claims.register import Register, read_register, row_hashes
from journeylab.claims.registration import History, registrations
from journeylab.records.runs import RunStart, git_state, is_committed

MEASURE = {"label": "hits", "metric": "hits"}
EFFECT = {
    "difference": [{"run": "main/A", "measure": "hits"}, {"run": "main/B", "measure": "hits"}]
}
ROW = {
    "id": "exp1.1",
    "theorem": "thm:x",
    "statement": "A is better.",
    "source": "corrected",
    "effect": EFFECT,
    "region": {"above": 0.02},
}
LATER = {**ROW, "id": "exp1.s1", "effect": {"run": "other/A", "measure": "hits"}}
NAMES = ("claims/exp1.yaml", "claims/looks.yaml")


COUNT = itertools.count()  # equal commits within a second would be one


class Project:
    """A repository with a register, and runs that begin in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        (path / "claims").mkdir()
        (path / "claims/looks.yaml").write_text("looks: {12: 1.0}\n", encoding="utf-8")
        self.write(ROW)

    def write(self, *rows: dict[str, Any]) -> None:
        content = {"measures": {"hits": MEASURE}, "claims": list(rows)}
        (self.path / "claims/exp1.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")

    def git(self, *arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        command = ["git", "-C", str(self.path), *identity, *arguments]
        subprocess.run(command, check=True, capture_output=True)

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
            registered=is_committed(self.path, NAMES),
        )
        return SimpleNamespace(arm=arm, variant="A"), start

    def told(self, *runs: tuple[Any, RunStart], row: str = "exp1.1", at: Path | None = None) -> str:
        history = History(at or self.path, Path("claims"))
        return registrations(self.register, "exp1", runs, history)[row].text


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


def test_a_claim_that_was_committed_before_its_runs_is_registered(project):
    project.commit()
    run = project.begin()
    project.commit()
    assert project.told(run) == "registered before these runs"


def test_what_began_outside_git_shows_nothing(project):
    assert project.told(project.begin()).startswith("exploratory: its runs began outside git")


def test_a_register_that_was_not_committed_is_exploratory_for_good(project):
    project.commit()
    project.write({**ROW, "region": {"above": 0.5}})
    run = project.begin()
    project.commit()
    assert project.told(run) == ("exploratory: the register was not committed when its runs began")


def test_one_run_that_began_too_early_is_enough(project):
    project.commit()
    early = project.begin()
    project.write({**ROW, "region": {"above": 0.5}})
    project.commit()
    assert project.told(project.begin()) == "registered before these runs"
    told = project.told(early, project.begin())
    assert told == "exploratory: it was to be judged otherwise when its runs began"


def test_a_row_that_joins_later_counts_for_the_runs_that_it_reads(project):
    project.commit()
    early = project.begin()
    project.write(ROW, LATER)
    project.commit()
    late = project.begin("other")
    assert project.told(early, late) == "registered before these runs"
    assert project.told(early, late, row="exp1.s1") == "registered before these runs"
    assert project.told(early, row="exp1.s1") == "exploratory: nothing that it reads was run"
    other = (SimpleNamespace(arm="other", variant="A"), early[1])
    told = project.told(early, other, row="exp1.s1")
    assert told == "exploratory: it was not in the register when its runs began"


def test_other_words_and_other_changes_are_said(project):
    project.commit()
    (project.path / "code").write_text("1")
    project.commit()
    (project.path / "code").write_text("2")
    run = project.begin()
    project.write({**ROW, "statement": "A wins."})
    project.commit()
    assert project.told(run) == (
        "registered before these runs (worded otherwise then; with uncommitted changes beside "
        "the register)"
    )


def test_a_record_cannot_claim_more_than_its_commit_holds(project):
    project.commit()
    run, honest = project.begin()
    project.write({**ROW, "region": {"above": 0.5}})
    forged = honest.model_copy(update={"rows": row_hashes(project.register, "exp1")})
    project.commit()
    told = project.told((run, forged))
    assert told == "exploratory: it was to be judged otherwise when its runs began"


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
    "squash or rebase": (rebase, "in a commit that is in no branch any more (squash or rebase)"),
    "a branch": (branch, "on another branch than this one"),
    "an experiment": (experiment, "in an experiment of DVC, which is not on this branch"),
}


@pytest.mark.parametrize("name", MOVED)
def test_where_the_commit_went_is_told_apart(name, project):
    move, told = MOVED[name]
    project.commit()
    run = project.begin()
    move(project)
    assert project.told(run) == f"registered before these runs ({told})"


def test_a_shallow_clone_and_a_foreign_one_say_that_they_cannot_show_it(project, tmp_path):
    project.commit()
    run = project.begin()
    project.commit()
    shallow = tmp_path / "shallow"
    project.git("clone", "--depth", "1", f"file://{project.path}", str(shallow))
    assert project.told(run, at=shallow) == (
        "registered before these runs (by their own records: this clone is shallow, and does not "
        "reach their commit)"
    )
    foreign = Project(tmp_path / "foreign")
    foreign.commit()
    assert "their commit is not in this repository" in project.told(run, at=foreign.path)
