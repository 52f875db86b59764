"""The benchmark of the workflow plans the requested number of jobs in its copy of the project."""

import os
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]


def test_the_benchmark_plans_the_requested_number_of_jobs() -> None:
    code = (
        "import pipeline\n"
        "with pipeline._copied_project() as copy:\n"
        "    print(pipeline._dry_run(copy, 100)['work'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=PROJECT / "benchmarks",
        env=os.environ | {"PYTHONPATH": str(PROJECT / "benchmarks")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert 100 <= int(done.stdout) < 200
