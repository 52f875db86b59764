"""Snakemake's scheduler, with the additions of the Snakefile."""

import subprocess
from pathlib import Path

import pytest
import yaml

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
