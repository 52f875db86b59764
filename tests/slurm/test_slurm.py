"""Runs on a real SLURM cluster survive cancellation, time limits and dead nodes."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from slurm_cluster import NODES, Cluster, end

from journeylab.records.files import read_json

from .. import made
from ..workflow.conftest import MADE, Copy, hashes
from ..workflow.test_looks import SEEDS as PLANTED_SEEDS
from ..workflow.test_looks import STATES, STUDY, plant, seeds_of, states
from .conftest import PROFILE, Submitting, environment_of, is_training

pytestmark = [pytest.mark.system, pytest.mark.timeout(900)]

SEEDS = "seeds-1000-1001"
COMPUTED = "results/exp7/algebra/slots/once/run.json"
SUBMITTED = ("train", "compute", "measure")


def hold(work: Submitting, run: str) -> tuple[str, int]:
    """Stop a training run after its first checkpoint; return its SLURM job and its process."""
    folder = work.copy.path / f"results/exp7/{run}/{SEEDS}"
    work.wait_for(lambda: list(folder.glob("seed*.checkpoint")))
    job = work.attempts("train", run)[-1]["JobId"]
    [training] = [pid for pid in work.cluster.processes(job=job) if is_training(pid)]
    os.kill(training, signal.SIGSTOP)
    assert not (folder / "run.json").exists()
    return job, training


def resumed(copy: Copy, run: str) -> bool:
    log = copy.path / f"logs/train/exp7/{run}/{SEEDS}.log"
    return "resumed after step" in log.read_text(encoding="utf-8")


def end_of(job: dict[str, str]) -> str:
    return job["JobState"].partition("+")[0]


def test_cancelled_and_timed_out_runs_resume_and_equal_local_runs(
    local: Copy, submitting: Submitting
) -> None:
    process = submitting.start("reports/exp7.pdf")
    cancelled, _ = hold(submitting, "characters/A")
    submitting.cluster.run("scancel", cancelled)
    late, _ = hold(submitting, "characters/Aprime")
    submitting.cluster.run("scontrol", "update", f"JobId={late}", "TimeLimit=1")
    assert process.wait(timeout=600) == 0, submitting.output

    first, second = submitting.attempts("train", "characters/A")
    assert [end_of(first), end_of(second)] == ["CANCELLED", "COMPLETED"]
    assert resumed(submitting.copy, "characters/A")
    first, second = submitting.attempts("train", "characters/Aprime")
    assert [end_of(first), end_of(second)] == ["TIMEOUT", "COMPLETED"]
    assert second["TimeLimit"] == "08:00:00"
    assert resumed(submitting.copy, "characters/Aprime")

    submitted = [each for rule in SUBMITTED for each in submitting.attempts(rule)]
    names = {job["JobName"] for job in submitted}
    assert len(names) == 1
    everything = [job for job in submitting.cluster.jobs() if job["JobName"] in names]
    assert len(everything) == len(submitted)  # no other rule was submitted
    assert {job["NodeList"] for job in submitted} == set(NODES)
    host = read_json(submitting.copy.path / f"results/exp7/characters/A/{SEEDS}/run.host.json")
    at = {job["JobId"]: job["NodeList"] for job in submitted}
    assert at[host["scheduler"]["job"]] == host["scheduler"]["nodes"]

    kept = [pattern for pattern in MADE if not pattern.startswith("reports/")]
    expected = hashes(local, *kept)
    assert len(expected) > 15
    assert hashes(submitting.copy, *kept) == expected
    assert (submitting.copy.path / "reports/exp7.pdf").exists()
    assert "account" not in submitting.output
    for job, run, how in ((cancelled, "A", "CANCELLED"), (late, "Aprime", "TIMEOUT")):
        assert f"failed: train exp7 characters/{run} seeds 1000 to 1001" in submitting.output
        assert f"SLURM-job '{job}' failed, SLURM status is: '{how}'." in submitting.output


def test_a_run_on_a_dead_node_moves_with_its_gpu(local: Copy, submitting: Submitting) -> None:
    commented = "# set-resources:\n#   - train:mem_mb=attempt * 8000\n#   - train:gpu=1"
    asked = "set-resources:\n  - train:gpu=1"
    submitting.copy.edit(PROFILE, lambda text: text.replace(commented, asked))
    target = f"results/exp7/characters/A/{SEEDS}/run.json"
    process = submitting.start(target)
    job, training = hold(submitting, "characters/A")
    assert environment_of(training)["CUDA_VISIBLE_DEVICES"] == "0"
    [known] = submitting.attempts("train")
    assert "gres:gpu:1" in known["TresPerJob"]
    dead = known["NodeList"]
    submitting.cluster.kill_node(dead)
    try:
        assert process.wait(timeout=600) == 0, submitting.output
        last = submitting.attempts("train")[-1]
        assert end_of(last) == "COMPLETED"
        assert last["NodeList"] in set(NODES) - {dead}
        assert last["JobId"] == job  # SLURM itself started it anew
        assert last["Restarts"] == "1"
    finally:
        submitting.cluster.start_node(dead)
    assert resumed(submitting.copy, "characters/A")
    files = f"results/exp7/characters/A/{SEEDS}/*.safetensors", target
    assert hashes(submitting.copy, *files) == hashes(local, *files)


@contextmanager
def away(work: Submitting, daemon: str) -> Iterator[None]:
    """End a daemon until the workflow says that SLURM does not answer; start it again."""
    end(work.cluster.pid(daemon), daemon)
    try:
        work.wait_for(lambda: "SLURM does not answer since" in work.output)
        yield
    finally:
        work.cluster.restart(daemon)


def test_sacct_works_with_accounting_that_is_away_meanwhile(submitting: Submitting) -> None:
    submitting.copy.edit(PROFILE, lambda text: text.replace("command: squeue", "command: sacct"))
    process = submitting.start(COMPUTED)
    submitting.wait_for(lambda: submitting.attempts("compute"))
    with away(submitting, "slurmdbd"):
        pass
    assert process.wait(timeout=600) == 0, submitting.output
    assert "SLURM answers again" in submitting.output
    [job] = submitting.attempts("compute")
    options = "--noheader", "--parsable2", "--allocations", "--format=State,NodeList"
    line = submitting.cluster.run("sacct", "--jobs", job["JobId"], *options).strip()
    assert line == f"COMPLETED|{job['NodeList']}"
    host = read_json(submitting.copy.path / "results/exp7/algebra/slots/once/run.host.json")
    assert host["scheduler"]["job"] == job["JobId"]


def test_an_outage_ends_no_workflow_and_a_signal_does(local: Copy, submitting: Submitting) -> None:
    target = f"results/exp7/characters/A/{SEEDS}/run.json"
    process = submitting.start(target)
    job, training = hold(submitting, "characters/A")
    with away(submitting, "munged"):
        pass
    submitting.wait_for(lambda: "SLURM answers again" in submitting.output)

    controller = submitting.cluster.pid("slurmctld")
    os.kill(controller, signal.SIGSTOP)
    process.terminate()
    assert process.wait(timeout=10) != 0
    os.kill(controller, signal.SIGCONT)
    assert f"end them: scancel {job}; then continue: snakemake" in submitting.output

    process = submitting.start(target)
    assert process.wait(timeout=60) != 0
    assert f"wait for them, or end them: scancel {job}" in submitting.output
    os.kill(training, signal.SIGCONT)
    made.wait_for(lambda: end_of(submitting.attempts("train")[-1]) == "COMPLETED", 120.0)
    process = submitting.start(target)
    assert process.wait(timeout=120) == 0, submitting.output
    assert len(submitting.attempts("train")) == 1
    files = f"results/exp7/characters/A/{SEEDS}/*.safetensors", target
    assert hashes(submitting.copy, *files) == hashes(local, *files)


@pytest.mark.parametrize("how", ["limit", "Ctrl-C"])
def test_a_workflow_that_ends_in_an_outage_names_its_jobs(how: str, submitting: Submitting) -> None:
    attempts = "3" if how == "limit" else "60"
    process = submitting.start("--slurm-status-attempts", attempts, "--", COMPUTED)
    [job] = submitting.wait_for(lambda: submitting.attempts("compute"))
    with away(submitting, "slurmctld"):
        if how == "Ctrl-C":
            process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10 if how == "Ctrl-C" else 60) != 0
    assert f"wait for its jobs or end them: scancel {job['JobId']}" in submitting.output
    assert ("; then continue: snakemake --workflow" in submitting.output) == (how == "limit")


@pytest.mark.parametrize(
    ("resource", "message"),
    [
        ("slurm_partition=absent", "invalid partition specified: absent"),
        ("slurm_account=nobody", "The given account nobody appears to be invalid. Available"),
    ],
)
def test_a_refused_submission_asks_for_no_log(
    resource: str, message: str, submitting: Submitting
) -> None:
    arguments = "--retries", "0", "--default-resources", resource, "--", COMPUTED
    assert submitting.start(*arguments).wait(timeout=120) == 1
    assert message in submitting.output
    assert ".log" not in submitting.output
    assert "its log is missing" not in submitting.output


def test_a_job_above_its_memory_is_killed_and_the_reason_is_printed(submitting: Submitting) -> None:
    process = submitting.start(
        *("--retries", "1", "--set-resources", "compute:mem_mb=60", "--", COMPUTED)
    )
    assert process.wait(timeout=120) == 1
    assert submitting.output.count("error: Exceeded job memory limit") == 2
    assert "its log is" not in submitting.output


def test_a_held_job_is_named_and_goes_on_when_it_is_released(submitting: Submitting) -> None:
    cluster = submitting.cluster
    folders = [cluster.folder / f"spool-{node}" for node in NODES]
    for folder in folders:  # without it, no job can be launched
        folder.rename(f"{folder}.away")
        folder.touch()
    try:
        process = submitting.start(COMPUTED)
        submitting.wait_for(lambda: "SLURM holds job" in submitting.output)
    finally:
        for folder in folders:
            folder.unlink()
            Path(f"{folder}.away").rename(folder)
    [job] = [each["JobId"] for each in submitting.attempts("compute")]
    said = f"SLURM holds job {job} (launch failed requeued held): scontrol release {job} lets it"
    assert submitting.output.count(said) == 1
    cluster.run("scontrol", "release", job)
    assert process.wait(timeout=300) == 0, submitting.output


def test_jobs_that_wait_for_drained_nodes_say_so_once_and_go_on(submitting: Submitting) -> None:
    cluster, nodes = submitting.cluster, f"nodename={','.join(NODES)}"
    cluster.run("scontrol", "update", nodes, "state=drain", "reason=a test")
    try:
        process = submitting.start(COMPUTED)
        submitting.wait_for(lambda: "sinfo -R says why" in submitting.output)
        time.sleep(5)
    finally:
        cluster.run("scontrol", "update", nodes, "state=resume")
    assert process.wait(timeout=300) == 0, submitting.output
    assert submitting.output.count("jobs wait, SLURM says: Nodes required for job are DOWN") == 1


def test_looks_submit_only_the_runs_that_open_claims_read(cluster: Cluster, tmp_path: Path) -> None:
    work = Submitting(plant(tmp_path / "project"), cluster)
    try:
        process = work.start(f"reports/{STUDY}.pdf")
        assert process.wait(timeout=600) == 0, work.output
    finally:
        work.end()
    assert seeds_of(work.copy) == PLANTED_SEEDS
    assert states(work.copy) == STATES
    assert len(work.jobs) == len(list((work.copy.path / "results").glob("*/*/x/*/run.json")))
    assert "look 1, 12 seeds: 4 of 6 claims open" in work.output
