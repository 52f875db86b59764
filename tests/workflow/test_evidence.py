"""Restored runs give the same bytes as the runs themselves, and no other evidence is used."""

import json
import shutil
from pathlib import Path

import pytest

from journeylab.records import runs
from journeylab.records.files import read_json, write_json

from ..made import git, pdf_text
from .conftest import Copy, commit, hashes, made_once

pytestmark = [pytest.mark.workflow, pytest.mark.system]

ROOT = "build/quick"
A = "exp7/characters/A/seeds-1000-1001"
RUNNING = {"generate", "train", "measure", "compute"}
SAME = (
    f"{ROOT}/results/**/*.parquet",
    f"{ROOT}/results/**/run.json",
    f"{ROOT}/results/**/verdicts.json",
    *(f"{ROOT}/reports/exp*/{name}" for name in ("figures/*", "tables/*", "*.tex", "*.json")),
)


def register_before(copy: Copy) -> None:
    """Commit the copy, and write into the records of its runs that they began at this commit."""
    commit(copy.path)
    copy.snakemake("all")
    for path in (copy.path / ROOT / "results").rglob(runs.HOST):
        plans = copy.path / ROOT / "plans" / path.relative_to(copy.path / ROOT / "results").parts[0]
        write_json(path, read_json(path) | read_json(plans / "register.json"))


def choose(copy: Copy, mode: str) -> None:
    copy.configure(lambda config: config.update(evidence=mode))


def forget_results(copy: Copy) -> None:
    """Leave what a bare clone has."""
    for name in ("data", "results", "reports", "plans", "logs"):
        shutil.rmtree(copy.path / ROOT / name)
    shutil.rmtree(copy.path / ".snakemake")


@pytest.fixture(scope="session")
def recorded(finished: Copy, tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """A finished copy in a repository, with evidence of all its runs; tests take a duplicate."""

    def make(folder: Path) -> None:
        copy = finished.duplicate(folder / "project")
        copy.configure(lambda config: config.update(root=ROOT))
        (copy.path / ROOT).mkdir(parents=True)
        for name in ("data", "results", "reports", "plans", "logs"):
            (copy.path / name).rename(copy.path / ROOT / name)
        register_before(copy)
        copy.snakemake("all")
        done = copy.run("journeylab", "evidence", "add")
        assert done.stdout.count("(complete)") == 2, done.stdout

    return Copy(made_once(tmp_path_factory, "recorded", make) / "project")


@pytest.fixture
def lab(recorded: Copy, tmp_path: Path) -> Copy:
    return recorded.duplicate(tmp_path / "project")


def test_a_bare_clone_makes_the_same_bytes_from_evidence(lab: Copy) -> None:
    """The commits at which the runs began count, not the commit at which they were restored."""
    before, answers = hashes(lab, *SAME), lab.path / ROOT / "reports/response.md"
    answered = answers.read_text(encoding="utf-8")
    first = git(lab.path, "rev-parse", "HEAD")[:12]
    git(lab.path, "commit", "--allow-empty", "-m", "later")
    forget_results(lab)
    choose(lab, "only")
    assert not lab.rules() & RUNNING
    lab.snakemake("all")
    assert hashes(lab, *SAME) == before
    assert len(before) > 30
    assert answers.read_text(encoding="utf-8") == answered
    assert not (lab.path / ROOT / "data").exists()
    assert not list((lab.path / ROOT / "results").rglob("*.safetensors"))
    text = pdf_text(lab.path / ROOT / "reports/exp7.pdf")
    assert f"from evidence of commit {first}, processor {runs.cpu_model()}" in text
    assert lab.planned() == set()
    choose(lab, "use")
    assert lab.planned() == set()
    done = lab.run("journeylab", "check")
    assert done.stdout.endswith("0 problems\n")
    again = lab.run("journeylab", "evidence", "add").stdout
    assert "recorded" not in again
    assert again.count("unchanged") == 2
    damaged = f"{ROOT}/results/{A}/measurements.parquet"
    (lab.path / damaged).write_bytes((lab.path / damaged).read_bytes()[:-1])
    done = lab.run("journeylab", "check", check=False)
    assert f"{damaged} is damaged" in done.stderr
    assert f"`snakemake --cores 1 --force {damaged}` makes it anew" in done.stderr


def test_runs_that_were_finished_here_are_not_replaced(lab: Copy) -> None:
    choose(lab, "use")
    assert lab.planned() == set()
    assert (lab.path / ROOT / "plans" / A / "train.json").exists()
    forced = (f"--force {ROOT}/results/{A}/run.json --config evidence=only").split()
    done = lab.snakemake(*forced, check=False)
    assert done.returncode == 1
    assert "error: evidence=only trains nothing; remove" in done.stdout + done.stderr
    shutil.rmtree(lab.path / ROOT / "results" / A)
    rules = lab.rules()
    assert "restore_exp7" in rules
    assert not rules & RUNNING
    lab.snakemake(f"{ROOT}/results/{A}/run.json")
    assert not (lab.path / ROOT / "plans" / A / "train.json").exists()
    [plan] = [json.loads((lab.path / ROOT / "plans/exp7/restore.json").read_text())]
    assert list(plan["inputs"]) == [A.removeprefix("exp7/")]


def test_a_run_without_evidence_is_trained_and_the_others_are_restored(lab: Copy) -> None:
    forget_results(lab)
    (lab.path / ROOT / "evidence" / f"{A}.zip").unlink()
    choose(lab, "use")
    jobs = lab.planned()
    assert {job[1:] for job in jobs if job[0] == "train"} == {tuple(A.split("/"))}
    assert {"restore_exp5", "restore_exp7"} <= {job[0] for job in jobs}
    choose(lab, "only")
    assert not any("exp7" in job for job in lab.planned())


def test_evidence_that_changes_after_planning_is_refused(lab: Copy) -> None:
    forget_results(lab)
    choose(lab, "use")
    lab.snakemake(f"{ROOT}/results/{A}/run.json")
    evidence = lab.path / ROOT / "evidence"
    shutil.copy(evidence / f"{A.replace('/A/', '/Aprime/')}.zip", evidence / f"{A}.zip")
    done = lab.run(
        *("journeylab", "restore", "--plan", f"{ROOT}/plans/exp7/restore.json"),
        *("--evidence", f"{ROOT}/evidence/exp7", "--output", f"{ROOT}/results/exp7"),
        check=False,
    )
    assert done.returncode == 2
    assert f"{A}.zip changed since it was planned; run snakemake again" in done.stderr
