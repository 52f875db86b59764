import platform
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from journeylab.config import UserError
from journeylab.records import files, runs
from journeylab.records.cost import Cost, cpu_seconds, start_counting
from journeylab.records.git import why_git_fails
from journeylab.records.plans import Plan

from ..made import STARTED, git, host_of, ran

OUTCOMES = (
    runs.SeedOutcome(seed=0, status="finished", seconds=2.5),
    runs.SeedOutcome(seed=1, status="failed", reason="loss is nan at step 3", seconds=1.0),
)
PLAN = Plan(
    stage="train",
    study="exp7",
    arm="journey",
    variant="Aprime",
    seeds=(0, 1),
    settings={"training": {"steps": 10, "learning_rate": 0.001}},
    code="0123456789abcdef",
    versions={"torch": "2.0"},
)


def describe(plan=PLAN, **changed):
    known = {
        "inputs": {"data": "ab" * 32},
        "outcomes": OUTCOMES,
        "files": {"weights.safetensors": "cd" * 32},
        "cpu": ("a processor",),
        "training": runs.Training(parameters=1000, flops=1e9, tokens=2000),
    }
    return runs.describe_run(plan, **(known | changed))


def start(**changed):
    known = {
        "plan_key": PLAN.key,
        "started": STARTED,
        "commit": "c0ffee",
        "dirty": False,
        "rows": {"exp7.1": ("ab", "cd")},
        "registered": True,
    }
    return runs.RunStart(**(known | changed))


def describe_host():
    return host_of(start(), OUTCOMES)


def keys(run):
    return (run.run_key, *(seed.run_key for seed in run.seeds))


def test_records_survive_a_round_trip(tmp_path):
    run, host = describe(), describe_host()
    runs.write_run(tmp_path, run, host)
    assert runs.read_run(tmp_path) == runs.read_run(tmp_path, PLAN.key) == run
    assert runs.read_host(tmp_path) == host


def test_a_run_without_its_host_record_is_not_complete(tmp_path):
    """Writing fails before `run.json`, which marks the folder as complete."""
    (tmp_path / runs.HOST).mkdir()
    with pytest.raises((OSError, UserError)):
        runs.write_run(tmp_path, describe(), describe_host())
    assert not (tmp_path / runs.RUN).exists()


@pytest.mark.parametrize("name", [runs.RUN, runs.HOST])
def test_a_missing_damaged_or_invalid_record_is_named(tmp_path, name):
    read = {runs.RUN: runs.read_run, runs.HOST: runs.read_host}[name]
    with pytest.raises(UserError, match=f"{name} is missing"):
        read(tmp_path)
    files.write_json(tmp_path / name, {"colour": "red"})
    with pytest.raises(UserError, match=f"{name}: colour: unknown key"):
        read(tmp_path)
    (tmp_path / name).write_text("{}")
    with pytest.raises(UserError, match=f"{name} is damaged"):
        read(tmp_path)


@pytest.mark.parametrize("seeds", ["seeds-00-01", "once"])
def test_runs_are_found_after_they_are_recorded(tmp_path, seeds):
    folder = tmp_path / "results/exp7/journey/Aprime" / seeds
    folder.mkdir(parents=True)
    assert runs.find_runs(tmp_path, "exp7") == []
    runs.write_run(folder, describe(), describe_host())
    assert runs.find_runs(tmp_path, "exp7") == [folder]
    assert runs.find_runs(tmp_path, "exp5") == []


def test_a_seed_keeps_its_reason_and_has_its_own_key():
    _, second = describe().seeds
    assert (second.status, second.reason) == ("failed", "loss is nan at step 3")
    assert len(set(keys(describe()))) == 3


def test_a_single_computation_has_a_key_and_no_seeds():
    once = describe(Plan(stage="compute", study="exp5", arm="bridge"), outcomes=(), training=None)
    assert (once.kind, once.seeds, once.training) == ("computed", (), None)
    assert len(once.run_key) == 16
    assert describe().kind == "trained"


@pytest.mark.parametrize(
    "other",
    [
        describe(PLAN.model_copy(update={"code": "f" * 16})),
        describe(inputs={"data": "ba" * 32}),
        describe(engine="batched"),
        describe(device="cuda (a GPU)"),
        describe(threads=2),
        describe(cpu=("another processor",)),
        describe(cpu=("a processor", "another processor")),
    ],
)
def test_everything_that_determines_a_result_enters_its_keys(other):
    """All fields of a plan by its key."""
    assert not set(keys(other)) & set(keys(describe()))


@pytest.mark.parametrize(
    "changed",
    [
        {"training": runs.Training(parameters=1, flops=1.0, tokens=1)},
        {"training": None},
        {"outcomes": OUTCOMES[:1]},
        {"outcomes": [outcome.model_copy(update={"status": "failed"}) for outcome in OUTCOMES]},
        {"files": {}},
    ],
)
def test_outcomes_of_a_run_do_not_enter_its_keys(changed):
    other = describe(**changed)
    assert other.run_key == describe().run_key
    assert other.seeds[0].run_key == describe().seeds[0].run_key


def test_versions_have_no_local_part(monkeypatch):
    assert runs.versions("numpy", "torch") == {
        name: version(name).partition("+")[0] for name in ("numpy", "torch")
    }
    monkeypatch.setattr(runs, "version", lambda name: f"{name} 2.13.0+cpu")
    assert runs.versions("torch") == {"torch": "torch 2.13.0"}


def test_a_run_records_the_planned_libraries_and_its_python():
    assert describe().versions == PLAN.versions | {"python": platform.python_version()}


def test_the_default_processor_is_that_of_this_machine():
    assert runs.cpu_model()
    assert describe(cpu=()).cpu == (runs.cpu_model(),)


def test_cost_is_counted_from_the_start_of_the_process():
    """Wall time includes sleep; CPU time includes imports."""
    script = (
        "import time; time.sleep(0.3)\n"
        "from journeylab.records.cost import start_counting\n"
        "counted = start_counting(); sum(range(3_000_000)); print(counted().model_dump_json())"
    )
    cost = Cost.model_validate_json(ran(sys.executable, "-c", script).stdout)
    assert cost.wall_seconds >= 0.3
    assert 0 < cost.imports_seconds < cost.cpu_seconds
    assert cost.peak_mib > 1


def test_the_cost_of_finished_children_counts():
    before, counted = cpu_seconds(), start_counting()
    ran(sys.executable, "-c", "sum(range(10_000_000))")
    assert cpu_seconds() - before > 0.02
    assert counted().cpu_seconds - counted().imports_seconds > 0.02


def test_commit_and_changes_are_reported(tmp_path, monkeypatch):
    assert runs.git_state(tmp_path) == runs.GitState()
    git(tmp_path, "init")
    assert runs.git_state(tmp_path) == runs.GitState()
    (tmp_path / "a").write_text("1")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-m", "a")
    clean = runs.git_state(tmp_path)
    assert clean == runs.GitState(commit=git(tmp_path, "rev-parse", "HEAD"), dirty=False)
    (tmp_path / "untracked").write_text("1")
    assert runs.git_state(tmp_path) == clean
    (tmp_path / "a").write_text("2")
    assert runs.git_state(tmp_path) == runs.GitState(commit=clean.commit, dirty=True)
    monkeypatch.setenv("PATH", "")
    assert runs.git_state(tmp_path) == runs.GitState()


def test_files_below_a_folder_count_as_committed_unless_changed_or_new(tmp_path):
    git(tmp_path, "init")
    project = tmp_path / "project"  # a folder of a larger repository
    (project / "claims").mkdir(parents=True)
    for name in "abc":
        (project / "claims" / name).write_text("1")
    git(tmp_path, "add", "project/claims/a", "project/claims/b")
    git(tmp_path, "commit", "-m", "claims")
    (project / "claims" / "b").write_text("2")
    git(tmp_path, "add", "project/claims/c")
    assert runs.committed_files(project, ["claims"]) == {"claims/a"}


def test_a_resumed_run_keeps_its_start(tmp_path):
    first, later = start(), start(commit="badcafe", rows={})
    assert runs.begin_run(tmp_path, first) == first
    assert runs.begin_run(tmp_path, later) == first
    other = start(plan_key="another", commit="badcafe")
    assert runs.begin_run(tmp_path, other) == other
    (tmp_path / runs.START).write_text("cut o")
    assert runs.begin_run(tmp_path, later) == later
    runs.write_run(tmp_path, describe(), describe_host())
    assert runs.begin_run(tmp_path, first) == first


def test_the_batch_job_is_read_from_the_given_environment():
    assert runs.scheduler({}) is None
    job = runs.scheduler({"SLURM_JOB_ID": "7", "SLURM_JOB_PARTITION": "cpu"})
    assert job == runs.Scheduler(job="7", partition="cpu")


def test_git_that_refuses_to_answer_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in an archive, or a clone of another user: runs would be exploratory without a word."""
    assert why_git_fails(tmp_path).startswith("fatal: not a git repository")
    inner = tmp_path / "project/results"
    inner.mkdir(parents=True)
    git(inner.parent, "init", "--quiet")
    assert why_git_fails(inner).startswith("fatal: ")
    git(inner.parent, "commit", "--quiet", "--allow-empty", "--message", "a")
    assert why_git_fails(inner) == ""
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert "dubious ownership" in why_git_fails(inner)


def test_the_output_of_git_is_utf_8_in_every_locale(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "a", name="Müller")
    script = (
        "from pathlib import Path; from journeylab.records.git import ask_git\n"
        "print(ascii(ask_git(Path(), 'log', '--format=%an')))"
    )
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    said = ran(sys.executable, "-c", script, folder=tmp_path, **locale).stdout
    assert said == "'M\\xfcller\\n'\n"
