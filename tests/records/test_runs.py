import subprocess
from datetime import UTC, datetime
from importlib.metadata import version

import pytest
from pydantic import ValidationError

from journeylab.records import runs

OUTCOMES = (
    runs.SeedOutcome(seed=0, status="finished", seconds=2.5),
    runs.SeedOutcome(seed=1, status="failed", reason="loss is nan at step 3", seconds=1.0),
)


def describe(**changed):
    known = {
        "study": "exp7",
        "arm": "journey",
        "variant": "Aprime",
        "settings": {"training": {"steps": 10, "learning_rate": 0.001}},
        "data": {"seeds-00-01.parquet": "ab" * 32},
        "code": "0123456789abcdef",
        "engine": "sequential",
        "device": "cpu",
        "threads": 1,
        "parameters": 1000,
        "training_flops": 1e9,
        "tokens": 2000,
        "outcomes": OUTCOMES,
        "files": {"weights.safetensors": "cd" * 32},
    }
    return runs.describe_run(**(known | changed))


def describe_host():
    return runs.describe_host(
        started=datetime(2026, 1, 2, tzinfo=UTC),
        finished=datetime(2026, 1, 2, 0, 1, tzinfo=UTC),
        outcomes=OUTCOMES,
        git=runs.GitState(commit="c0ffee", dirty=False),
        scheduler=None,
    )


def test_records_return_as_they_were(tmp_path):
    run, host = describe(), describe_host()
    runs.write_run(tmp_path, run, host)
    assert runs.read_run(tmp_path) == run
    assert runs.read_host(tmp_path) == host


def test_chunks_are_found_once_their_run_is_recorded(tmp_path):
    chunk = tmp_path / "results/exp7/journey/Aprime/seeds-00-01"
    chunk.mkdir(parents=True)
    assert runs.find_chunks(tmp_path, "exp7") == []
    runs.write_run(chunk, describe(), describe_host())
    assert runs.find_chunks(tmp_path, "exp7") == [chunk]
    assert runs.find_chunks(tmp_path, "exp5") == []


def test_a_seed_keeps_its_reason_and_has_its_own_key():
    first, second = describe().seeds
    assert (second.status, second.reason) == ("failed", "loss is nan at step 3")
    assert first.run_key != second.run_key


@pytest.mark.parametrize(
    "changed",
    [
        {"study": "exp5"},
        {"arm": "text"},
        {"variant": "A"},
        {"settings": {"training": {"steps": 11, "learning_rate": 0.001}}},
        {"data": {"seeds-00-01.parquet": "ba" * 32}},
        {"code": "f" * 16},
        {"engine": "ensemble"},
        {"device": "cuda"},
        {"threads": 2},
        {"processor": "another processor"},
    ],
)
def test_all_that_determines_a_result_enters_its_key(changed):
    assert describe(**changed).seeds[0].run_key != describe().seeds[0].run_key


@pytest.mark.parametrize("changed", [{"parameters": 1}, {"outcomes": OUTCOMES[:1]}, {"files": {}}])
def test_what_follows_from_a_run_does_not_enter_its_key(changed):
    assert describe(**changed).seeds[0].run_key == describe().seeds[0].run_key


def test_versions_are_public_ones():
    assert set(runs.versions()) == {"python", "torch", "numpy", "journeylab"}
    assert not any("+" in text for text in runs.versions().values())


def test_a_run_records_the_libraries_that_computed_it():
    with_more = describe(libraries=("mpmath",))
    assert with_more.versions == describe().versions | {"mpmath": version("mpmath")}
    assert with_more.seeds[0].run_key != describe().seeds[0].run_key


def test_the_processor_has_a_name():
    assert runs.cpu_model()


def test_records_are_frozen_and_refuse_unknown_keys():
    with pytest.raises(ValidationError):
        runs.RunSeed(seed=0, run_key="a", status="finished", colour="red")
    with pytest.raises(ValidationError):
        describe().study = "exp5"


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", folder, *identity, *arguments], check=True, capture_output=True)


def test_commit_and_changes_are_reported(tmp_path):
    git(tmp_path, "init")
    assert runs.git_state(tmp_path) == runs.GitState()
    (tmp_path / "a").write_text("1")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-m", "a")
    clean = runs.git_state(tmp_path)
    assert clean.commit is not None
    assert len(clean.commit) == 40
    assert clean.dirty is False
    (tmp_path / "untracked").write_text("1")
    assert runs.git_state(tmp_path) == clean
    (tmp_path / "a").write_text("2")
    assert runs.git_state(tmp_path) == runs.GitState(commit=clean.commit, dirty=True)


def test_no_repository_and_no_git_give_an_empty_state(tmp_path, monkeypatch):
    assert runs.git_state(tmp_path) == runs.GitState()
    monkeypatch.setenv("PATH", "")
    assert runs.git_state(tmp_path) == runs.GitState()


def test_the_batch_job_is_read_from_the_environment_given():
    assert runs.scheduler({}) is None
    job = runs.scheduler({"SLURM_JOB_ID": "7", "SLURM_JOB_PARTITION": "cpu"})
    assert job == runs.Scheduler(job="7", partition="cpu")
