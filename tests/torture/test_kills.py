"""kill -9 at any moment: the documented command completes, with the bytes of an undisturbed run."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from ..workflow.conftest import Copy, made_once
from .conftest import (
    JOBS,
    MADE,
    PRINTED,
    RUN,
    SILENT,
    Tally,
    cases,
    damaged,
    hashes,
    make_study,
    seeded,
    torture,
)

pytestmark = [torture, pytest.mark.timeout(2400)]

SAME = "completed, same bytes"
KILLING = """
import os, signal, sys, threading
when, sys.argv = sys.argv[1], ["journeylab", *sys.argv[2:]]
here, count = os.getcwd(), 0
CHANGING = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link")
def end():
    os.kill(os.getpid(), signal.SIGKILL)
def end_before(event, arguments):
    global count
    if event == "open":
        if not isinstance(arguments[2], int) or not arguments[2] & (os.O_WRONLY | os.O_RDWR):
            return
    elif event not in CHANGING:
        return
    if not isinstance(arguments[0], (str, bytes, os.PathLike)):
        return
    path = os.path.join(here, os.fsdecode(arguments[0]))
    if path.startswith(here) and "__pycache__" not in path:
        count += 1
        if count == int(when):
            end()
if when.startswith("after"):
    threading.Timer(float(when[5:]), end).start()
else:
    sys.addaudithook(end_before)
from journeylab.commands.app import main
main()
"""
"""Runs a command that kills itself before it changes a file for the n-th time, or after a time."""
KILLED = (-9, 137)


def kill(process: subprocess.Popen[str]) -> bool:
    """Kill the group; whether the process had not ended yet."""
    alive = process.poll() is None
    if alive:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return alive


def wait_for(condition: Callable[[], object], process: subprocess.Popen[str]) -> None:
    while not condition():
        assert process.poll() is None, "the process ended before it could be killed"
        time.sleep(0.005)


def any_file(copy: Copy, pattern: str) -> bool:
    return any(copy.path.glob(pattern))


@pytest.fixture(scope="module")
def long(commands: Path, tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """The project with a training of some seconds, trained and measured."""
    training = {"steps": 1200, "evaluate_every": 200, "checkpoint_every": 20}

    def make(folder: Path) -> None:
        copy = make_study(
            folder / "project",
            lambda config: config["studies"]["exp98"]["training"].update(training),
        )
        copy.snakemake(f"{RUN}/run.json")

    return Copy(made_once(tmp_path_factory, "torture-long", make) / "project")


def killing(copy: Copy, when: object, *command: str) -> bool:
    """Run a command of journeylab that kills itself; whether it was killed before its end."""
    done = copy.run("python", "-c", KILLING, str(when), *command[1:], check=False)
    assert done.returncode in (0, *KILLED), done.stderr
    return done.returncode != 0


def test_a_training_job_killed_at_a_random_step_ends_with_the_same_bytes(
    long: Copy, tmp_path: Path, tally: Tally
) -> None:
    names = (f"{RUN}/weights.safetensors", f"{RUN}/curves.parquet", f"{RUN}/run.json")
    expected = hashes(long, *names)
    assert len(expected) == 3
    copy, job = long.duplicate(tmp_path / "project"), JOBS["train"]
    job.undo(copy)
    began = time.monotonic()
    copy.run(*job.command("train"))
    lasts = time.monotonic() - began
    for case in seeded(15):
        rng = random.Random(case)
        shutil.rmtree(copy.path / RUN)
        kills, finished = 0, False
        while kills < 1 + case % 3 and not finished:  # also again, after it was resumed
            kills += 1
            if not killing(copy, f"after{rng.uniform(0.2, 0.9) * lasts}", *job.command("train")):
                break
            assert damaged(copy) == []
            finished = (copy.path / RUN / "run.json").exists()
        copy.snakemake(f"{RUN}/run.json")
        same = hashes(copy, *names) == expected
        tally.add("kill of a training job, random time", SAME if same else SILENT, kills)
        assert same
        # the checkpoint is removed after run.json is written: a kill in between leaves it
        assert finished or not list(copy.path.glob(f"{RUN}/*.checkpoint"))


@pytest.mark.parametrize("stage", JOBS)
def test_a_stage_killed_before_any_change_of_a_file_ends_with_the_same_bytes(
    project: Copy, tally: Tally, stage: str
) -> None:
    """A systematic kill: before the first, the second, … change of the file system."""
    job = JOBS[stage]
    expected = hashes(project, *MADE, *PRINTED)
    most = cases(60, 10)
    for number in range(1, most + 1):
        job.undo(project)
        if not killing(project, number, *job.command(stage)):
            break
        assert damaged(project) == []
        again = project.run(*job.command(stage), check=False)
        assert again.returncode == 0, again.stderr
        same = hashes(project, *MADE, *PRINTED) == expected
        tally.add(f"kill of {stage}, before each change of a file", SAME if same else SILENT)
        assert same
    assert number > 2


def test_a_workflow_killed_at_a_random_time_ends_with_the_same_bytes(
    finished: Copy, expected: dict[str, str], tmp_path: Path, tally: Tally
) -> None:
    for case in seeded(8):
        copy = finished.duplicate(tmp_path / f"{case}")
        for name in ("data", "results", "reports", "plans", ".snakemake"):
            shutil.rmtree(copy.path / name)
        process = copy.start("snakemake", "--cores", "2", "all")
        time.sleep(random.Random(case).uniform(2, 25))
        alive = kill(process)
        assert damaged(copy) == []
        copy.snakemake("all")
        made = hashes(copy)
        outcome = SAME if made == expected else SILENT
        tally.add("kill of snakemake and its jobs", outcome if alive else "ended before")
        assert made == expected
        shutil.rmtree(copy.path)


def test_a_snakemake_killed_alone_names_its_jobs_and_ends_with_the_same_bytes(
    finished: Copy, expected: dict[str, str], tmp_path: Path, tally: Tally
) -> None:
    for case in seeded(4):
        copy = finished.duplicate(tmp_path / f"{case}")
        for name in ("results", "reports"):
            shutil.rmtree(copy.path / name)
        process = copy.start("snakemake", "--cores", "2", "all")
        wait_for(partial(any_file, copy, "results/**/run.start.json"), process)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        outcome = SAME
        for _ in range(100):
            done = copy.run("snakemake", "--cores", "2", "all", check=False)
            if done.returncode == 0:
                break
            lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
            assert "are still running; wait for them, or end them: kill" in lines[0], done.stderr
            outcome = f"refused while its jobs ran, then {SAME}"
            time.sleep(0.3)
        assert hashes(copy) == expected
        tally.add("kill of snakemake alone", outcome)
        shutil.rmtree(copy.path)


# -- the importer ---------------------------------------------------------------------------------


def stored(database: Path) -> list[tuple[str, ...]]:
    """What MLflow shows: names, parameters and metrics of all runs, without its random ids."""
    with closing(sqlite3.connect(database)) as store:
        runs = store.execute(
            "SELECT run_uuid, status, e.name FROM runs JOIN experiments e USING (experiment_id)"
            " WHERE runs.lifecycle_stage = 'active'"
        ).fetchall()
        rows = []
        for run, status, experiment in runs:
            params = store.execute(
                "SELECT key, value FROM params WHERE run_uuid = ? ORDER BY 1", (run,)
            ).fetchall()
            metrics = store.execute(
                "SELECT key, step, value FROM metrics WHERE run_uuid = ? ORDER BY 1, 2, 3", (run,)
            ).fetchall()
            [[name]] = store.execute(
                "SELECT value FROM tags WHERE run_uuid = ? AND key = 'mlflow.runName'", (run,)
            )
            rows.append((experiment, name, status, str(params), str(metrics)))
    return sorted(rows)


def test_an_importer_killed_at_a_random_time_imports_everything_once(
    project: Copy, tally: Tally
) -> None:
    track = ("journeylab", "track")
    began = time.monotonic()
    project.run(*track)
    lasts = time.monotonic() - began
    expected = stored(project.path / "mlflow.db")
    assert len(expected) > 8
    for case in seeded(12):
        for name in project.path.glob("mlflow.db*"):
            name.unlink()
        shutil.rmtree(project.path / "mlartifacts")
        alive = killing(project, f"after{random.Random(case).uniform(0.1, 1) * lasts}", *track)
        done = project.run(*track)
        assert "warning" not in done.stderr, done.stderr
        same = stored(project.path / "mlflow.db") == expected
        outcome = "completed, same runs and points" if same else SILENT
        tally.add("kill of the importer, random time", outcome if alive else "ended before")
        assert same
