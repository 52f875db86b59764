"""Additions to snakemake's cluster executor, tested without a cluster."""

from types import SimpleNamespace

import pytest

from journeylab.config import UserError
from journeylab.workflow.cluster import poll_steadily, prepare_cluster, submitted_studies


class Executor:
    """Stands for an executor that waits longer between polls while no job ends."""

    def __init__(self) -> None:
        self.seconds = 0

    @property
    def next_seconds_between_status_checks(self) -> int:
        return self.seconds

    @next_seconds_between_status_checks.setter
    def next_seconds_between_status_checks(self, value: int) -> None:
        self.seconds = value


def test_slurm_is_polled_at_the_interval_of_the_profile() -> None:
    executor = Executor()
    poll_steadily(executor, 10)
    waits = []
    for _ in range(4):
        executor.next_seconds_between_status_checks += 4
        waits.append(executor.next_seconds_between_status_checks)
    assert waits == [4, 8, 10, 10]


def test_a_submitted_job_plans_its_own_study_only() -> None:
    target = "train:study=exp7,arm=native,variant=A,seeds=seeds-00-03"
    assert submitted_studies(["snakemake", "--target-jobs", target, "--force"]) == {"exp7"}
    assert submitted_studies(["snakemake", "--cores", "8", "reports/exp7.pdf"]) == set()


def test_a_machine_without_slurm_gives_one_error_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    workflow = SimpleNamespace(executor_plugin=SimpleNamespace(name="slurm"))
    with pytest.raises(UserError, match="no SLURM on this machine"):
        prepare_cluster(workflow)
    workflow.executor_plugin.name = "local"
    prepare_cluster(workflow)
