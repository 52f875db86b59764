"""Recovery from a kill: the locks of a snakemake that is no more are recognised and removed.

A lock of snakemake's does not say whose it is. So every run leaves a file in `.snakemake/runs` on
which it holds an advisory lock for as long as it lives: the kernel lets go of that even where the
process was killed. A lock is stale if every run that may have taken it is dead; in doubt, as for a
run on another machine, it stays.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import IO

from journeylab.config import UserError

try:
    import fcntl
except ImportError:  # no such locks here: what snakemake says of its own has to do
    fcntl = None  # type: ignore[assignment]

RUN = "JOURNEYLAB_RUN"
"""The variable by which a run's jobs know it, and it them."""

_held: list[IO[str]] = []


def begin_run(folder: Path = Path(".snakemake")) -> None:
    """Remove the locks of dead runs, and say that this run is alive until its process ends.

    Raises UserError while jobs of a dead run are still at work.
    """
    if fcntl is None or _held:
        return
    runs = folder / "runs"
    try:
        runs.mkdir(parents=True, exist_ok=True)
        with (runs / ".mutex").open("w") as mutex:
            fcntl.flock(mutex, fcntl.LOCK_EX)
            _clear(folder)
            mine = runs / f"{socket.gethostname()}:{os.getpid()}"
            held = mine.open("w")
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # no such locks on this file system, or nothing can be written at all
        return
    _held.append(held)  # closed, and with that let go of, when the process ends
    os.environ[RUN] = mine.name
    atexit.register(_end_run, mine.absolute(), os.getpid())


def _end_run(mine: Path, process: int) -> None:
    if os.getpid() == process:  # not in a fork
        mine.unlink(missing_ok=True)


def _clear(folder: Path) -> None:
    began: dict[Path, float] = {}
    alive: set[Path] = set()
    for run in (folder / "runs").glob("[!.]*"):
        began[run] = run.stat().st_mtime
        if _is_alive(run):
            alive.add(run)
    if not alive and (queued := _queued_jobs()):
        raise UserError(
            f"jobs of a run that was killed are in SLURM's queue; wait for them, or end them: "
            f"scancel {' '.join(queued)}"
        )
    dead = began.keys() - alive
    if working := sorted(pid for run in dead for pid in _jobs_of(run.name)):
        numbers = " ".join(map(str, working))
        raise UserError(
            f"jobs of a run that was killed are still at work; wait for them, or end them: "
            f"kill {numbers}"
        )
    undecided = False
    for lock in (folder / "locks").glob("*.lock"):
        taken = lock.stat().st_mtime
        possible = {run for run, start in began.items() if start <= taken}
        if possible and not possible & alive:
            lock.unlink()
        else:
            undecided = True
    if not undecided:
        for run in dead:
            run.unlink()


def _is_alive(run: Path) -> bool:
    """A run on another machine counts as alive: its locks may not be seen from here."""
    if run.name.rpartition(":")[0] != socket.gethostname():
        return True
    with run.open() as probe:
        try:
            fcntl.flock(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _queued_jobs() -> list[str]:
    """The jobs that SLURM holds of runs in this folder, as profiles/slurm names them."""
    squeue = shutil.which("squeue")
    if squeue is None:
        return []
    command = [squeue, "--me", "--noheader", "--format=%i|%j|%Z"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):  # commands without a cluster
        return []
    jobs = [line.split("|", 2) for line in told.stdout.splitlines()]
    here = str(Path.cwd())
    return [job for job, name, folder in jobs if name.startswith("journeylab_") and folder == here]


def _jobs_of(run: str) -> list[int]:
    """The processes of a run on this machine, where /proc tells."""
    marker = f"{RUN}={run}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            variables = (entry / "environ").read_bytes().split(b"\0")
        except OSError:  # gone, or somebody else's
            continue
        if marker in variables:
            found.append(int(entry.name))
    return found
