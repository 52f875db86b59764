"""Overhead per job on a SLURM cluster of two nodes, which is started on this machine.

    python benchmarks/cluster.py [TARGET …]

Computes quick results, by default those of exp5, with profiles/slurm under build/cluster, which is
emptied first. The two nodes share the cores of this machine. The overhead of a job is the time from
its start until snakemake registers its end, minus the work that the job itself measured. It
consists of two starts of snakemake and the wait until snakemake polls the job again. Measurements
of trained models are not counted.
"""

import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from journeylab.records.files import read_json
from snakemake_logger_plugin_journeylab.wording import name_job

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
from slurm_cluster import Cluster, running

ROOT = Path("build/cluster")
JOB = re.compile(r"_wildcards_(exp\d+)_(.+)_(seeds-\d+-\d+|once)$")
FINISHED = re.compile(r"\[\d+/\d+\] (.+) · (?:(\d+):)?(\d+):(\d\d)$", re.MULTILINE)


def main(targets: list[str]) -> None:
    """Start the cluster, make the targets, and print the overhead of the jobs."""
    with running(cpus=1) as cluster:
        shutil.rmtree(ROOT, ignore_errors=True)
        began = time.monotonic()
        output = submit(cluster, targets or [f"{ROOT}/reports/exp5.pdf"])
        seconds = time.monotonic() - began
        used = resource.getrusage(resource.RUSAGE_CHILDREN)  # daemons have not ended yet
        submitted = [job for job in cluster.jobs() if job["JobState"] == "COMPLETED"]
        jobs = [job for job in submitted if not job["Comment"].startswith("rule_measure")]
    elapsed = {
        match[1]: 3600 * int(match[2] or 0) + 60 * int(match[3]) + int(match[4])
        for match in FINISHED.finditer(output)
    }
    overheads = [overhead(job, elapsed) for job in jobs]
    first, last = min(map(moment("StartTime"), jobs)), max(map(moment("EndTime"), jobs))
    print(f"{len(jobs)} jobs in {seconds:.0f} s, from submission to the last target")
    print(f"{60 * len(jobs) / (last - first):.1f} jobs a minute while jobs ran")
    cpu = (used.ru_utime + used.ru_stime) / len(jobs)
    print(f"controller: {cpu:.1f} CPU-seconds a run, local jobs and its start included")
    print(f"overhead: median {statistics.median(overheads):.1f} s, largest {max(overheads):.1f} s")


def submit(cluster: Cluster, targets: list[str]) -> str:
    """Run the workflow; print its output and return it."""
    command = ["snakemake", "--workflow-profile", "profiles/slurm"]
    command += ["--config", "scale=quick", f"root={ROOT}", "--", *targets]
    lines = []
    with subprocess.Popen(
        command,
        env=os.environ | cluster.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    if process.returncode:
        sys.exit(process.returncode)
    return "".join(lines)


def overhead(job: dict[str, str], elapsed: dict[str, int]) -> float:
    """Return the seconds between a job's start and its registered end that were not its work."""
    rule = "train" if job["Comment"].startswith("rule_train") else "compute"
    [costs] = [path for path in ROOT.glob(f"plans/*/*/*/*/{rule}.cost.json") if is_of(path, job)]
    study, arm, variant, seeds = costs.parts[-5:-1]
    wildcards = {"study": study, "arm": arm, "variant": variant, "seeds": seeds}
    waited = moment("StartTime")(job) - moment("SubmitTime")(job)
    cost = read_json(costs, sealed=False)
    return elapsed[name_job(f"{rule}_run", wildcards)] - waited - float(cost["wall_seconds"])


def is_of(path: Path, job: dict[str, str]) -> bool:
    """Return whether a file in a plan's folder belongs to a job."""
    match = JOB.search(job["Comment"])
    assert match
    study, arm, variant, seeds = path.parts[-5:-1]
    return match.groups() == (study, f"{arm}_{variant}", seeds)


def moment(field: str) -> Callable[[dict[str, str]], float]:
    """Return a function that reads this time of a job, in seconds."""
    return lambda job: time.mktime(time.strptime(job[field], "%Y-%m-%dT%H:%M:%S"))


if __name__ == "__main__":
    main(sys.argv[1:])
