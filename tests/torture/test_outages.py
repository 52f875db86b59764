"""Daemons of SLURM that are away at a random moment of 25 jobs: all end well, and it is said.

SLURM holds a job that it could not launch meanwhile; the command that is printed releases it. It
may then drain the nodes where the job had been, and the test resumes them when that is printed.

An outage lasts half a minute; `JOURNEYLAB_OUTAGE=300` asks for five.
"""

import os
import random
import re
import time
from functools import partial
from pathlib import Path

import pytest
from slurm_cluster import Cluster, end

from ..slurm.conftest import PROFILE, Submitting, cluster  # noqa: F401
from ..workflow.conftest import Copy
from .conftest import STUDY, cases, hashes, make_study, sweep, torture

SECONDS = float(os.environ.get("JOURNEYLAB_OUTAGE", "30"))
PAIRS = [
    ("slurmctld", "squeue"),
    ("munged", "squeue"),
    ("slurmdbd", "sacct"),
    ("munged", "sacct"),
    ("slurmctld", "sacct"),
]
"""The daemon that is away, and the command that asks for the status of jobs."""
HELD = re.compile(r"scontrol release (\d+) lets it run")
"""The command that the output names for a job that SLURM holds."""
TARGET = f"results/{STUDY}/verdicts.json"

pytestmark = [torture, pytest.mark.timeout(1200 + 2 * SECONDS), pytest.mark.usefixtures("commands")]


SWEEP = partial(sweep, 3)
"""25 jobs: each run is trained and measured in a job of its own."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """The study without a cluster."""
    copy = make_study(tmp_path_factory.mktemp("undisturbed") / "project", SWEEP)
    copy.snakemake(TARGET)
    return copy


@pytest.mark.parametrize(("daemon", "status"), PAIRS[: cases(len(PAIRS))])
def test_an_outage_loses_no_job(
    daemon: str,
    status: str,
    undisturbed: Copy,
    cluster: Cluster,  # noqa: F811
    tmp_path: Path,
) -> None:
    copy = make_study(tmp_path / "project", SWEEP)
    if status == "sacct":
        copy.edit(PROFILE, lambda text: text.replace("command: squeue", "command: sacct"))
    work = Submitting(copy, cluster)
    try:
        process = work.start(TARGET)
        number = random.Random(f"{daemon} {status}").randrange(1, 18)
        work.wait_for(lambda: len(work.jobs) >= number)
        end(cluster.pid(daemon), daemon)
        try:
            time.sleep(SECONDS)
        finally:
            cluster.restart(daemon)
        deadline, released = time.monotonic() + 1000, set[str]()
        while process.poll() is None and time.monotonic() < deadline:
            for job in set(HELD.findall(work.output)) - released:
                cluster.run("scontrol", "release", job)
                released.add(job)
            drained = cluster.states() if "sinfo -R says why" in work.output else {}
            for node in [node for node, state in drained.items() if state.startswith("dr")]:
                cluster.run("scontrol", "update", f"nodename={node}", "state=resume")
            time.sleep(1)
        assert process.poll() == 0, work.output
    finally:
        work.end()
    assert hashes(copy) == hashes(undisturbed)
    if (daemon, status) != ("slurmctld", "sacct"):  # where the accounting knows all jobs
        assert "SLURM does not answer since" in work.output
        assert "SLURM answers again" in work.output
