"""Whether a claim was registered before its runs: what the runs recorded, and what git shows."""

import itertools
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from journeylab.claims.hashes import FORM, row_hashes
from journeylab.claims.ledger import Ledger, Recorded, planned_rows
from journeylab.claims.register import read_register
from journeylab.claims.registration import (
    CommitState,
    History,
    RecordedHistory,
    record_history,
    recorded_rows,
    registrations,
)
from journeylab.claims.schema import Register
from journeylab.records.files import write_json
from journeylab.records.plans import Plan
from journeylab.records.runs import RunStart, committed_files, git_state

from ..made import CLAIM, git

MEASURE = {"label": "hits", "metric": "hits"}
EFFECT = "main/A@hits - main/B@hits"
ROW = CLAIM | {"id": "exp1.1", "form": "typical", "statement": "A is better."}
ROW |= {"effect": EFFECT, "region": {"above": 0.02}}
LATER = {**ROW, "id": "exp1.s1", "form": None, "effect": "other/A@hits"}
CHANGED = (
    "exploratory: what decides its verdict changed after its runs started (effect, region, "
    "measures, gates, first seed, α, looks or M)"
)
NAMES = ("claims/exp1.yaml", "claims/looks.yaml")
TRAIN = Plan(stage="train", settings={"steps": 10}, code="0a")
RUNS = {("main", name): {"train": TRAIN} for name in "AB"}
BEFORE_LEDGER = Recorded(commit="c0ffee")

COUNT = itertools.count()  # equal commits in the same second would get the same hash


class Project:
    """A repository with a register, and runs that begin in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        (path / "claims").mkdir()
        (path / "claims/looks.yaml").write_text(
            "alpha: 0.05\nnot_monotone: {exp1: 1}\n", encoding="utf-8"
        )
        self.write(ROW)

    def write(self, *rows: dict[str, Any]) -> None:
        gates = {"learned": "main/A@hits >= 0.1"}
        content = {"measures": {"hits": MEASURE}, "gates": gates, "claims": list(rows)}
        (self.path / "claims/exp1.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")

    def git(self, *arguments: str) -> str:
        return git(self.path, *arguments)

    def commit(self) -> None:
        if not (self.path / ".git").exists():
            self.git("init", "--initial-branch", "main")
        self.git("add", "--all")
        self.git("commit", "--allow-empty", "--message", f"change {next(COUNT)}")

    @property
    def register(self) -> Register:
        return read_register(self.path / "claims")

    def begin(self, arm: str = "main") -> tuple[Any, RunStart]:
        state = git_state(self.path)
        start = RunStart(
            plan_key="0" * 16,
            started=datetime.now(UTC),
            commit=state.commit,
            dirty=state.dirty,
            rows=row_hashes(self.register, "exp1"),
            registered=(committed_files(self.path, NAMES) or set()).issuperset(NAMES),
        )
        return SimpleNamespace(arm=arm, variant="A"), start

    def enter(self, recorded: Recorded | None = None) -> None:
        """Write the lines of the ledger, as new ones or as those of rows judged before it."""
        ledger = Ledger(self.path / "claims")
        known = [entry.line for entry in ledger.entries("exp1")]
        rows = planned_rows(self.register, "exp1", RUNS).values()
        new = [row.model_copy(update={"recorded": recorded}) for row in rows]
        ledger.write("exp1", [*known, *new])

    def text(self, *runs: tuple[Any, RunStart], row: str = "exp1.1", at: Path | None = None) -> str:
        path = at or self.path
        history = record_history(
            History(path / "claims"),
            self.register,
            "exp1",
            planned_rows(self.register, "exp1", RUNS),
            {start.commit for _, start in runs if start.commit},
            {},
        )
        return registrations(self.register, "exp1", runs, history)[row].text


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A register with a line in the ledger, not yet committed."""
    project = Project(tmp_path / "project")
    project.enter()
    return project


@pytest.fixture
def bare(tmp_path: Path) -> Project:
    """A project without a ledger."""
    return Project(tmp_path / "project")


def test_a_claim_that_was_committed_before_its_runs_is_registered(project):
    assert project.text(project.begin()).startswith("exploratory: its runs started outside git")
    project.commit()
    run = project.begin()
    project.commit()
    assert project.text(run) == "registered before these runs"


def test_a_claim_without_a_committed_line_is_exploratory(bare):
    bare.commit()
    assert "exp1.jsonl has no line for it; `journeylab register exp1` writes it" in bare.text(
        bare.begin()
    )
    bare.enter()
    run = bare.begin()
    assert "exp1.jsonl is not committed" in bare.text(run)
    bare.commit()
    assert bare.text(run) == (
        "exploratory: its line in the ledger was not committed when its runs started"
    )


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"region": {"above": 0.5}}, "region"),
        ({"effect": "main/A@hits - 0.5"}, "effect and settings and code"),
        ({"gate": ["learned"]}, "gates"),
    ],
)
def test_what_decides_a_claim_cannot_change_after_its_seeds_were_registered(project, change, part):
    project.commit()
    project.write({**ROW, **change})
    for registered_again in (False, True):
        if registered_again:
            project.enter()
        project.commit()
        assert f"registered its seeds, 0 to 35, with other {part}" in project.text(project.begin())


def test_a_second_line_of_a_row_in_the_first_commit_makes_it_exploratory(bare):
    for margin in (-1.0, 0.5):
        bare.write({**ROW, "region": {"above": margin}})
        bare.enter()
    bare.commit()
    assert "registered its seeds, 0 to 35, with other region" in bare.text(bare.begin())


def test_a_line_of_a_parallel_branch_counts_whatever_the_order_of_parents(bare):
    bare.commit()
    bare.git("branch", "side")
    bare.enter()
    bare.commit()
    bare.git("checkout", "side")
    bare.write({**ROW, "region": {"above": -1.0}})
    bare.enter()
    bare.commit()
    bare.git("merge", "--no-edit", "--strategy-option", "ours", "main")
    first = bare.git("show", "main:claims/ledger/exp1.jsonl")
    file = bare.path / "claims/ledger/exp1.jsonl"
    file.write_text("".join(f"{line}\n" for line in {first, *file.read_text().splitlines()}))
    bare.commit()
    assert "with other region" in bare.text(bare.begin())


def test_a_line_cannot_say_that_it_is_older_than_the_ledger(bare):
    (bare.path / "claims/ledger").mkdir()
    (bare.path / "claims/ledger/exp1.jsonl").touch()
    bare.commit()
    run = bare.begin()
    bare.enter(BEFORE_LEDGER)
    bare.commit()
    assert "was not committed when its runs started" in bare.text(run)


def test_the_register_in_the_commit_of_a_run_counts_where_there_was_no_ledger(bare):
    bare.commit()
    early = bare.begin()
    bare.write({**ROW, "region": {"above": 0.5}})
    uncommitted = bare.begin()
    bare.enter(BEFORE_LEDGER)
    bare.commit()
    assert bare.text(bare.begin()) == "registered before these runs"
    assert bare.text(early, bare.begin()) == CHANGED
    assert bare.text(uncommitted) == (
        "exploratory: the register was not committed when its runs started"
    )


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


def test_a_record_cannot_claim_more_than_its_commit_contains(bare):
    bare.commit()
    run, honest = bare.begin()
    bare.write({**ROW, "region": {"above": 0.5}})
    forged = honest.model_copy(update={"rows": row_hashes(bare.register, "exp1")})
    bare.enter(BEFORE_LEDGER)
    bare.commit()
    assert bare.text((run, forged)) == CHANGED


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


def test_a_commit_without_a_readable_claims_file_registers_nothing_or_is_a_remark(bare):
    none, unreadable = begun_at(bare, None), begun_at(bare, "another: form\n")
    bare.enter(BEFORE_LEDGER)
    assert bare.commit() or bare.text(none) == (
        "exploratory: the commit of its runs does not contain it"
    )
    assert bare.text(unreadable) == (
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
    then = History(project.path / "claims").rows("HEAD", "exp1")
    assert then == {"exp1.1": (hashed or now[0], now[1])}


def branch(project: Project) -> None:
    project.git("checkout", "--orphan", "new")
    project.commit()


def rebase(project: Project) -> None:
    branch(project)
    project.git("branch", "--delete", "--force", "main")


def experiment(project: Project) -> None:
    project.git("update-ref", "refs/exps/ab/cd/try", "HEAD")
    rebase(project)


@pytest.mark.parametrize(
    ("move", "remark"),
    [
        (rebase, "in a commit that is on no branch any more (squash or rebase)"),
        (branch, "on another branch"),
        (experiment, "in a DVC experiment that is not on this branch"),
    ],
)
def test_the_location_of_a_moved_commit_is_a_remark(move, remark, project):
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
        "lacks their commit; this clone is shallow, and lines of earlier commits are not known)"
    )
    foreign = Project(tmp_path / "foreign")
    foreign.enter()
    foreign.commit()
    assert "their commit is not in this repository" in project.text(run, at=foreign.path)


def test_hashes_of_another_form_are_read_from_git_again(project, tmp_path):
    """If the hashes below differ, the hashed contents have changed: then raise FORM."""
    rows = row_hashes(project.register, "exp1")
    assert (FORM, *rows.values()) == (1, ("14b18f977d84d42f", "dcd56315b5e06ecf"))
    history = RecordedHistory(commits={"c0ffee": CommitState(location="here", rows=rows)})
    path = tmp_path / "history.json"
    write_json(path, history)
    assert recorded_rows(path) == {"c0ffee": rows}
    write_json(path, history.model_copy(update={"form": FORM + 1}))
    assert recorded_rows(path) == {}
