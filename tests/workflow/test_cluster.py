"""Additions to snakemake's scheduler and cluster executor, tested without a cluster."""

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from journeylab.config import UserError
from journeylab.workflow.cluster import prepare_cluster, submitted_studies

PROFILES = Path(__file__).parents[2] / "profiles"

SNAKEFILE = """
import threading
from journeylab.workflow.cluster import lift_default_limit

onstart:
    lift_default_limit(workflow.scheduler)
onsuccess:
    timers = [each for each in threading.enumerate() if isinstance(each, threading.Timer)]
    print(f"{len(timers)} timers")
rule all:
    input: expand("{job}", job=range(9))
rule one:
    output: "{job}"
    shell: "touch {output}"
"""


def test_a_submitted_job_plans_its_own_study_only() -> None:
    target = "train:study=exp7,arm=characters,variant=A,seeds=seeds-00-03"
    assert submitted_studies(["snakemake", "--target-jobs", target, "--force"]) == {"exp7"}
    assert submitted_studies(["snakemake", "--cores", "8", "reports/exp7.pdf"]) == set()


def test_a_machine_without_slurm_gives_one_error_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    workflow = SimpleNamespace(executor_plugin=SimpleNamespace(name="slurm"))
    with pytest.raises(UserError, match="no SLURM on this machine"):
        prepare_cluster(workflow)
    workflow.executor_plugin.name = "local"
    prepare_cluster(workflow)


def run(folder: Path, *arguments: str) -> str:
    (folder / "Snakefile").write_text(SNAKEFILE, encoding="utf-8")
    done = subprocess.run(
        ["snakemake", "--cores", "1", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout
    assert all((folder / str(job)).exists() for job in range(9))
    return done.stdout


def test_without_a_chosen_limit_the_scheduler_starts_no_timers(tmp_path: Path) -> None:
    assert "\n0 timers" in run(tmp_path)


def test_a_chosen_limit_of_job_starts_is_kept(tmp_path: Path) -> None:
    assert "\n0 timers" not in run(tmp_path, "--max-jobs-per-timespan", "100/2s")


@pytest.mark.parametrize("profile", ["default", "gpu", "slurm"])
def test_every_profile_chooses_among_few_ready_jobs_without_a_solver(profile: str) -> None:
    settings = yaml.safe_load((PROFILES / profile / "config.yaml").read_text(encoding="utf-8"))
    assert settings["scheduler"] == "greedy"
    assert settings["scheduler-subsample"] <= 50
