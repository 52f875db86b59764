"""Time the workflow in a temporary copy: a quick run, a rerun without jobs, large dry runs."""

import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml
from pairs import Row

from journeylab.records.cost import cpu_seconds
from journeylab.records.files import read_json

PROJECT = Path(__file__).parents[1]
COPIED = (
    *("Snakefile", "workflow", "profiles", "src", "config.yaml", "claims"),
    *("docs", "reference", "response.yaml"),  # quick runs train on the text of a guide
)
QUICK = ("all", "--config", "scale=quick", "root=build/quick")
STUDY = "exp7"
"""The study whose number of seeds sets the number of jobs of a dry run."""
DRY_RUNS = (2_000, 10_000)


def time_pipeline(pairs: int) -> list[Row]:
    """Return wall time and CPU time of all processes; each is measured once, not in pairs."""
    with _copied_project() as copy:
        rows = [
            _timed(copy, "quick, from nothing", *QUICK),
            _timed(copy, "quick, nothing to do", *QUICK),
        ]
        return rows + [_dry_run(copy, jobs) for jobs in DRY_RUNS]


def _dry_run(copy: Path, jobs: int) -> Row:
    """Time a dry run of about `jobs` jobs: one seed per training job, with enough seeds."""
    raw = yaml.safe_load((PROJECT / "config.yaml").read_text(encoding="utf-8"))
    raw["studies"][STUDY]["chunk"] = 1
    arms = raw["studies"][STUDY]["arms"].values()
    trained = [arm for arm in arms if arm.get("enabled", True) and "computed" not in arm]
    variants = sum(len(arm["variants"]) for arm in trained)
    raw["seeds"]["default"] = math.ceil(jobs / (2 * variants + 1))
    (copy / "config.yaml").write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    return _timed(copy, "dry run", f"reports/{STUDY}.pdf", "--dry-run", "--quiet", "rules")


def _timed(copy: Path, name: str, *arguments: str) -> Row:
    before = _jobs_seconds(copy)
    began, spent = time.monotonic(), cpu_seconds()
    done = subprocess.run(
        ["snakemake", "--cores", "all", *arguments],
        cwd=copy,
        env=_environment(copy),
        capture_output=True,
        text=True,
    )
    wall = time.monotonic() - began
    cpu = cpu_seconds() - spent + _jobs_seconds(copy) - before
    if done.returncode:
        raise SystemExit(f"{name}: snakemake failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    total = re.search(r"^(\d+) jobs: ", done.stdout + done.stderr, re.MULTILINE)
    jobs = int(total[1]) if total else 0
    return {"name": f"{name}: {jobs} jobs", "work": jobs, "wall_s": wall, "cpu_s": cpu}


def _jobs_seconds(copy: Path) -> float:
    """Return the CPU-seconds of all jobs so far; a server forks most, so they are no children."""
    costs = copy.rglob("*.cost.json")
    return sum(float(read_json(path, sealed=False)["cpu_seconds"]) for path in costs)


def _environment(copy: Path) -> dict[str, str]:
    binaries = str(Path(sys.executable).parent)
    return os.environ | {
        "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(copy / "src"),
        "OMP_NUM_THREADS": "1",
    }


@contextmanager
def _copied_project() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in COPIED:
            if (PROJECT / name).is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
                shutil.copytree(PROJECT / name, copy / name, ignore=ignored)
            else:
                shutil.copy2(PROJECT / name, copy / name)
        yield copy
