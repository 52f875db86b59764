"""Recovery from a kill: locks of dead snakemake processes are recognised and removed.

A lock of snakemake does not name its owner. Therefore every workflow run creates a file in
`.snakemake/runs` and holds an advisory lock on it; the kernel releases that lock even if the
process is killed. A lock of snakemake is stale if every run that may have taken it is dead. In
doubt, for example for a run on another machine, it stays. The file contains the results root in
which the run works.
"""

import atexit
import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from journeylab.config import UserError
from journeylab.records import machine
from journeylab.records.files import probe

RUN = "JOURNEYLAB_RUN"
"""Environment variable that marks the jobs of a run."""
SNAKEMAKE = Path(".snakemake")

_held: list[IO[bytes]] = []


def check_writable(folder: Path = SNAKEMAKE) -> None:
    """Raise UserError unless 1 MiB fits into the folder of snakemake or of logs; keep no file.

    On a full disk, snakemake and its jobs could not even write into their logs why they end.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe(folder / f".{os.getpid()}.probe")
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror}") from None


@contextmanager
def begin_run(root: Path = Path()) -> Iterator[float | None]:
    """Remove the locks of dead runs, and mark this run as alive until its process ends.

    Yields when the oldest other live run that works in `root` began, or None. Runs that begin
    meanwhile wait for the end of the block. Raises UserError while jobs of a dead run are still
    running.
    """
    with ExitStack() as stack:
        since = None
        with suppress(OSError):  # no advisory locks on this file system, or it is read-only
            since = _mark(str(root.resolve()), stack)
        yield since


def _mark(root: str, stack: ExitStack) -> float | None:
    """Write the record of this run; `stack` keeps others from doing so. Returns as `begin_run`."""
    if _held:
        return None
    runs = SNAKEMAKE / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    mutex = stack.enter_context((runs / ".mutex").open("w"))
    fcntl.flock(mutex, fcntl.LOCK_EX)
    _clear()
    since = active_since(SNAKEMAKE, root)
    mine = runs / f"{machine.place()}:{os.getpid()}"
    held = mine.open("wb")
    held.write(os.fsencode(root))
    held.flush()
    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    _held.append(held)  # the lock is released when the process ends
    os.environ[RUN] = mine.name
    atexit.register(_end_run, mine.absolute(), os.getpid())
    return since


def active_since(folder: Path, root: str | None = None) -> float | None:
    """When the oldest workflow run that is alive in this folder began; None if none is.

    With `root`, only runs that work in it count. A run on another machine counts as alive until
    `make unlock` forgets it.
    """
    began = (start for run, start in _recorded(folder, root).items() if _is_alive(run))
    return min(began, default=None)


def _end_run(mine: Path, process: int) -> None:
    if os.getpid() == process:  # not in a fork
        mine.unlink(missing_ok=True)


def _recorded(folder: Path, root: str | None = None) -> dict[Path, float]:
    """When each run began that has a record; with `root`, of those that work in it."""
    began = {}
    for run in (folder / "runs").glob("[!.]*"):
        with suppress(FileNotFoundError):  # it ended meanwhile
            if root is None or os.fsdecode(run.read_bytes()) == root:
                began[run] = run.stat().st_mtime
    return began


def _clear() -> None:
    began = _recorded(SNAKEMAKE)
    alive = {run for run in began if _is_alive(run)}
    if not alive and (queued := _queued_jobs()):
        held = [held_job(job, reason) for job, reason in queued.items() if is_held(reason)]
        raise UserError(
            "; ".join(["jobs of a killed run are in SLURM's queue", *held])
            + f"; {'end' if held else 'wait for them, or end'} them: scancel {' '.join(queued)}"
        )
    dead = began.keys() - alive
    if working := sorted(pid for run in dead for pid in _jobs_of(run.name)):
        numbers = " ".join(map(str, working))
        raise UserError(
            f"jobs of a killed run are still running; wait for them, or end them: kill {numbers}"
        )
    undecided = False
    for lock in (SNAKEMAKE / "locks").glob("*.lock"):
        taken = lock.stat().st_mtime
        possible = {run for run, start in began.items() if start <= taken}
        if possible and not possible & alive:
            lock.unlink()
        else:
            undecided = True
    if not undecided:
        for run in dead:
            run.unlink(missing_ok=True)


def _is_alive(run: Path) -> bool:
    """Whether a run is alive; a run on another machine counts as alive."""
    if not machine.is_here(run.name.rpartition(":")[0]):
        return True
    with suppress(FileNotFoundError), run.open() as probe:  # it ended meanwhile
        try:
            fcntl.flock(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def is_held(reason: str) -> bool:
    """Whether a job waits until somebody releases it: JobHeldUser, JobHoldMaxRequeue, …"""
    return "held" in reason.lower() or "JobHold" in reason


def lacks_nodes(reason: str) -> bool:
    """Whether a job waits for nodes or a partition that are down: ReqNodeNotAvail, NodeDown, …"""
    return re.search("DOWN, DRAINED|NotAvail|NodeDown|PartitionDown", reason) is not None


def held_job(job: str, reason: str) -> str:
    """What to do about a job that waits until somebody releases it."""
    return (
        f"SLURM holds job {job} ({reason.strip('()')}): "
        f"scontrol release {job} lets it run, scancel {job} ends it"
    )


def _queued_jobs() -> dict[str, str]:
    """The jobs in SLURM's queue that runs in this folder submitted, and why each waits."""
    logs = SNAKEMAKE / "slurm_logs"  # its first submission makes it
    squeue = shutil.which("squeue")
    if squeue is None or not logs.exists():
        return {}
    command = [squeue, "--me", "--noheader", "--format=%i|%j|%r|%Z"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        raise UserError(
            "squeue does not answer, and jobs of an earlier run may be in SLURM's queue; type the "
            f"command again when it does, or, if there is no such job: rm -r {logs}"
        ) from None
    jobs = [line.split("|", 3) for line in done.stdout.splitlines()]
    here = str(Path.cwd())
    return {
        job: reason
        for job, name, reason, where in jobs
        if name.startswith("journeylab_") and where == here
    }


def _jobs_of(run: str) -> list[int]:
    """The processes of a run on this machine; those of other users do not tell."""
    import psutil  # type: ignore[import-untyped]  # after a kill only

    found = psutil.process_iter(["environ"])
    return [each.pid for each in found if (each.info["environ"] or {}).get(RUN) == run]
