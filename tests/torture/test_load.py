"""A thousand jobs, thousands of runs: all are done, none twice, within bounded memory."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil
import pytest

from journeylab.tracking.store import LOCAL

from ..tracking.conftest import initialised, write_chunk  # noqa: F401
from ..workflow.conftest import Copy
from .conftest import STUDY, Tally, cases, make_study, sweep, torture
from .test_kills import stored

pytestmark = [torture, pytest.mark.timeout(3000)]

LARGEST_MIB = 1500.0
"""Peak memory that a process may have, whatever the number of jobs or runs."""
ROLES = ("snakemake", "journeylab track", "forking.py serve")


class Peaks:
    """Peak resident memory in MiB of the processes below this one, by what they do."""

    def __init__(self) -> None:
        self.of: dict[str, float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "Peaks":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.5):
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):
                    words = " ".join(process.cmdline())
                    used = process.memory_info().rss / 2**20
                    role = next((role for role in ROLES if role in words), "a job")
                    self.of[role] = max(self.of.get(role, 0.0), used)


def run(copy: Copy, *command: str) -> tuple[float, Peaks]:
    """Seconds and peaks of a command, without the warm server of the tests."""
    began = time.monotonic()
    with Peaks() as peaks:
        done = subprocess.run(
            command, cwd=copy.path, env=copy.cold_environment, capture_output=True, text=True
        )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return time.monotonic() - began, peaks


@pytest.mark.usefixtures("commands")
def test_a_thousand_jobs_are_all_done_within_bounded_memory(tmp_path: Path, tally: Tally) -> None:
    jobs = cases(1000, 40)
    copy = make_study(tmp_path / "project", partial(sweep, jobs // 4))
    # a panel for each of hundreds of arms is no figure
    copy.edit(
        f"src/journeylab/studies/{STUDY}_torture/figures.py",
        lambda text: text.replace('"split": "test"', '"split": "test", "arm": ["few", "many"]'),
    )
    seconds, peaks = run(copy, "snakemake", "--cores", "2", "all")
    trained = list(copy.path.glob("results/*/*/*/seeds-*/run.json"))
    measured = list(copy.path.glob("results/*/*/*/seeds-*/measurements.parquet"))
    assert len(trained) == len(measured) >= jobs // 2
    assert copy.planned() == set()
    assert copy.run("journeylab", "check").stderr == ""
    done = len(trained) + len(measured)
    tally.add("tiny jobs through the real workflow", "all done, nothing left to do", done)
    tally.note("workflow", f"{done} jobs in {seconds:.0f} s; peak MiB: {shown(peaks)}")
    assert max(peaks.of.values()) < LARGEST_MIB


def shown(peaks: Peaks) -> str:
    return ", ".join(f"{role} {used:.0f}" for role, used in sorted(peaks.of.items()))


@pytest.mark.usefixtures("commands")
def test_thousands_of_runs_are_imported_once_within_bounded_memory(
    tmp_path: Path,
    tally: Tally,
    write_chunk: Callable[..., Path],  # noqa: F811
) -> None:
    runs, chunk = cases(2000, 100), 50
    for first in range(0, runs, chunk):
        write_chunk(tmp_path, "journey", f"v{first}", seeds=tuple(range(first, first + chunk)))
    copy = Copy(tmp_path)
    track = (sys.executable, "-m", "journeylab", "track", "--root", ".", "--uri", LOCAL)
    seconds, peaks = run(copy, *track)
    assert imported(tmp_path) == runs
    again, later = run(copy, *track)
    assert imported(tmp_path) == runs
    tally.add("runs imported into MLflow", "every run once", runs)
    tally.note(
        "import",
        f"{runs} runs in {seconds:.0f} s, again {again:.0f} s; "
        f"peak MiB: {max(peaks.of.values()):.0f}, again {max(later.of.values()):.0f}",
    )
    assert max(peaks.of.values()) < LARGEST_MIB


def imported(root: Path) -> int:
    """How many runs of one seed the database has; their names are arm/variant/seed."""
    return sum(name.count("/") == 2 for _, name, *_ in stored(root / "mlflow.db"))
