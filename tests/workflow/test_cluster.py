"""Additions to snakemake's scheduler and cluster executor, tested without a cluster."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from journeylab.config import UserError
from journeylab.workflow.start import prepare_cluster, submitted_studies

from ..made import ran

SNAKEFILE = """
import threading
from journeylab.workflow.start import lift_default_limit

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


def run(folder: Path, *arguments: str) -> list[str]:
    (folder / "Snakefile").write_text(SNAKEFILE, encoding="utf-8")
    done = ran("snakemake", "--cores", "1", *arguments, folder=folder)
    assert all((folder / str(job)).exists() for job in range(9))
    return [*done.stdout.splitlines(), *done.stderr.splitlines()]


def test_without_a_chosen_limit_the_scheduler_starts_no_timers(tmp_path: Path) -> None:
    assert "0 timers" in run(tmp_path)


def test_a_chosen_limit_of_job_starts_is_kept(tmp_path: Path) -> None:
    assert "0 timers" not in run(tmp_path, "--max-jobs-per-timespan", "100/2s")
