"""Two pipelines, eight jobs or importers at once: refused or one after the other, all intact."""

import multiprocessing
import os
import random
import shutil
import subprocess
import time
import warnings
from pathlib import Path

import pytest

from journeylab.config import UserError
from journeylab.records.files import read_json, write_json
from journeylab.records.plans import Plan, write_plan

from ..workflow.conftest import Copy
from .conftest import (
    JOBS,
    MADE,
    PRINTED,
    RUN,
    Tally,
    cases,
    hashes,
    one_line,
    seeded,
    small_and_full,
    torture,
)
from .test_kills import stored

pytestmark = pytest.mark.timeout(2400)


def start(copy: Copy, *command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        cwd=copy.path,
        env=copy.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(processes: list[subprocess.Popen[str]]) -> list[tuple[int, str]]:
    """Exit code and output of every process."""
    ended = []
    for process in processes:
        output, errors = process.communicate()
        assert "Traceback" not in output + errors, errors
        ended.append((process.returncode, output + errors))
    return ended


# -- one file, many writers -----------------------------------------------------------------------


def write_often(path: Path, number: int, times: int) -> None:
    """Write objects of different sizes; end with code 3 if a read shows a broken file."""
    rng = random.Random(number)
    for turn in range(times):
        write_json(path, {"writer": number, "turn": turn, "text": "x" * rng.randrange(200_000)})
        try:
            assert len(read_json(path)) == 3
        except UserError:
            os._exit(3)


def plan_often(path: Path, number: int, times: int) -> None:
    """Write the same plan, which other processes remove and write as well."""
    plan = Plan(stage="train", settings={"text": "x" * 50_000})
    for turn in range(times):
        if (turn + number) % 4 == 0:
            path.unlink(missing_ok=True)
        write_plan(path, plan)


def at_once(work: object, path: Path, processes: int, times: int) -> list[int | None]:
    context = multiprocessing.get_context("fork")
    writers = [
        context.Process(target=work, args=(path, number, times)) for number in range(processes)
    ]
    with warnings.catch_warnings():  # from Python 3.12 on, of a fork beside other threads
        warnings.simplefilter("ignore", DeprecationWarning)
        for writer in writers:
            writer.start()
    for writer in writers:
        writer.join()
    return [writer.exitcode for writer in writers]


@small_and_full
@pytest.mark.parametrize("work", [write_often, plan_often])
def test_a_file_that_eight_processes_write_is_always_whole(
    tmp_path: Path, tally: Tally, work: object, full: bool
) -> None:
    path = tmp_path / "a.json"
    times = cases(250, 25) if full else 25
    assert at_once(work, path, 8, times) == [0] * 8
    assert read_json(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]
    tally.add("one file, eight writers and readers at once", "always whole", 8 * times)


# -- the workflow ---------------------------------------------------------------------------------


@torture
def test_two_pipelines_in_one_checkout_are_refused_or_serialised(
    finished: Copy, expected: dict[str, str], tmp_path: Path, tally: Tally
) -> None:
    for case in seeded(6, 2):
        copy = finished.duplicate(tmp_path / f"{case}")
        for name in ("results", "reports", "plans"):
            shutil.rmtree(copy.path / name)
        first = start(copy, "snakemake", "--cores", "1", "all")
        time.sleep(random.Random(case).uniform(0, 2))
        second = start(copy, "snakemake", "--cores", "1", "all")
        ended = finish([first, second])
        done = [output for code, output in ended if code == 0]
        refused = [output for code, output in ended if code != 0]
        assert done, ended
        assert all("lock" in output for output in refused), refused
        copy.snakemake("all")
        assert hashes(copy) == expected
        outcome = "the second is refused" if refused else "one after the other"
        tally.add("two pipelines in one checkout", f"{outcome}; same bytes")
        shutil.rmtree(copy.path)


@torture
@pytest.mark.parametrize("stage", ["generate", "measure", "judge", "draw", "typeset", "index"])
def test_eight_processes_of_one_job_leave_its_output_whole(
    project: Copy, tally: Tally, stage: str
) -> None:
    """A job may be started twice, for example by a scheduler that lost sight of it."""
    job, expected = JOBS[stage], hashes(project, *MADE, *PRINTED)
    for _ in seeded(4):
        job.undo(project)
        ended = finish([start(project, *job.command(stage)) for _ in range(8)])
        codes = [code for code, _ in ended]
        assert 0 in codes
        assert hashes(project, *MADE, *PRINTED) == expected, ended
        outcome = "all end well" if set(codes) == {0} else "one ends well, others refuse in a line"
        for code, output in ended:
            assert code == 0 or one_line(output)
        tally.add("eight processes of one job", f"{outcome}; same bytes")
        leftovers = [path for path in project.path.rglob(".*partial*") if "src" not in path.parts]
        assert leftovers == []


@torture
def test_eight_jobs_that_finish_at_once_leave_the_same_bytes(
    finished: Copy, expected: dict[str, str], tmp_path: Path, tally: Tally
) -> None:
    for case in seeded(3):
        copy = finished.duplicate(tmp_path / f"{case}")
        for path in copy.path.glob("results/**/measurements.parquet"):
            path.unlink()
        shutil.rmtree(copy.path / "reports")
        copy.run("snakemake", "--cores", "8", "all")
        assert hashes(copy) == expected
        tally.add("eight jobs at once", "same bytes")


@torture
def test_a_training_job_started_twice_leaves_one_whole_run(project: Copy, tally: Tally) -> None:
    job = JOBS["train"]
    expected = hashes(project, f"{RUN}/run.json", f"{RUN}/*.parquet", f"{RUN}/*.safetensors")
    for _ in seeded(6, 2):
        job.undo(project)
        ended = finish([start(project, *job.command("train")) for _ in range(2)])
        assert 0 in [code for code, _ in ended], ended
        made = hashes(project, *expected)
        assert made == {name: expected[name] for name in made}
        assert made.keys() == expected.keys() - {f"{RUN}/measurements.parquet"} or made == expected
        tally.add("a training job started twice", "one whole run, same bytes")


# -- importers ------------------------------------------------------------------------------------


@torture
def test_importers_at_once_import_every_run_once(project: Copy, tally: Tally) -> None:
    project.run("journeylab", "track")
    expected = stored(project.path / "mlflow.db")
    for _ in seeded(6, 2):
        for path in project.path.glob("mlflow.db*"):
            path.unlink()
        shutil.rmtree(project.path / "mlartifacts")
        ended = finish([start(project, "journeylab", "track") for _ in range(3)])
        assert [code for code, _ in ended] == [0] * 3
        assert not [output for _, output in ended if "warning" in output], ended
        assert stored(project.path / "mlflow.db") == expected
        tally.add("three importers at once", "one after the other; every run once")
