"""Run records: what determines a result (`run.json`) and what merely happened (`run.host.json`).

Only the first enters identities and hashes, so that the same settings, data, code and machine
type name the same result wherever and whenever it was computed.
"""

from __future__ import annotations

import hashlib
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from journeylab.config import Frozen, canonical
from journeylab.records import files

RUN = "run.json"
HOST = "run.host.json"
Status = Literal["finished", "failed"]


class RunSeed(Frozen):
    """One seed of a chunk; `reason` says why a failed one failed."""

    seed: int
    run_key: str
    status: Status
    reason: str | None = None


class Run(Frozen):
    """What determines a chunk's result, and what came of each seed.

    `parameters`, `training_flops` and `tokens` are per seed; `data` maps the names of the datasets
    read, `files` those of the files written beside this record, to SHA-256 hashes.
    """

    study: str
    arm: str
    variant: str
    settings: dict[str, Any]
    data: dict[str, str]
    code: str
    engine: str
    device: str
    threads: int
    cpu: str
    versions: dict[str, str]
    parameters: int
    training_flops: float
    tokens: int
    seeds: tuple[RunSeed, ...]
    files: dict[str, str]


class Scheduler(Frozen):
    """The batch job a chunk ran in."""

    job: str
    name: str | None = None
    partition: str | None = None
    cluster: str | None = None
    nodes: str | None = None


class RunHost(Frozen):
    """Where and when a chunk was computed; `seconds` maps seeds to training times."""

    commit: str | None
    dirty: bool | None
    started: datetime
    finished: datetime
    seconds: dict[int, float]
    host: str
    scheduler: Scheduler | None = None


class GitState(Frozen):
    """The commit checked out and whether tracked files differ from it; None without git."""

    commit: str | None = None
    dirty: bool | None = None


class SeedOutcome(Frozen):
    """How the training of one seed ended."""

    seed: int
    status: Status
    reason: str | None = None
    seconds: float = 0.0


def describe_run(
    *,
    study: str,
    arm: str,
    variant: str,
    settings: Mapping[str, Any],
    data: Mapping[str, str],
    code: str,
    engine: str,
    device: str,
    threads: int,
    parameters: int,
    training_flops: float,
    tokens: int,
    outcomes: Sequence[SeedOutcome],
    files: Mapping[str, str],
    processor: str | None = None,
    libraries: Sequence[str] = (),
) -> Run:
    """Build the record of a chunk; CPU model (or `processor`) and versions are filled in here.

    `libraries` names those that compute besides torch and numpy.
    """
    identity: dict[str, Any] = {
        "study": study,
        "arm": arm,
        "variant": variant,
        "settings": dict(settings),
        "data": dict(data),
        "code": code,
        "engine": engine,
        "device": device,
        "threads": threads,
        "cpu": processor or cpu_model(),
        "versions": versions(*libraries),
    }
    seeds = tuple(
        RunSeed(
            seed=outcome.seed,
            run_key=run_key(identity, outcome.seed),
            status=outcome.status,
            reason=outcome.reason,
        )
        for outcome in outcomes
    )
    return Run(
        **identity,
        parameters=parameters,
        training_flops=training_flops,
        tokens=tokens,
        seeds=seeds,
        files=dict(files),
    )


def describe_host(
    *,
    started: datetime,
    finished: datetime,
    outcomes: Sequence[SeedOutcome],
    git: GitState,
    scheduler: Scheduler | None = None,
) -> RunHost:
    """Build the host record of a chunk."""
    return RunHost(
        commit=git.commit,
        dirty=git.dirty,
        started=started,
        finished=finished,
        seconds={outcome.seed: outcome.seconds for outcome in outcomes},
        host=platform.node(),
        scheduler=scheduler,
    )


def run_key(identity: Mapping[str, Any], seed: int) -> str:
    """Name one seed's result: 16 hexadecimal characters of the SHA-256 of what determines it."""
    text = canonical({**identity, "seed": seed})
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write_run(folder: Path, run: Run, host: RunHost) -> None:
    """Write both records of a chunk; `run.json` last, since it vouches for the chunk."""
    files.write_json(folder / HOST, host)
    files.write_json(folder / RUN, run)


def read_run(folder: Path) -> Run:
    """Read `run.json` of a chunk. Raises UserError if it is missing or damaged."""
    return Run.model_validate(files.read_json(folder / RUN))


def read_host(folder: Path) -> RunHost:
    """Read `run.host.json` of a chunk. Raises UserError if it is missing or damaged."""
    return RunHost.model_validate(files.read_json(folder / HOST))


def find_chunks(root: Path, study: str) -> list[Path]:
    """The folders of a study's trained chunks, `results/<study>/<arm>/<variant>/seeds-…`, sorted.

    A chunk counts as trained once its `run.json` exists.
    """
    pattern = f"results/{study}/*/*/seeds-*/{RUN}"
    return sorted(path.parent for path in root.glob(pattern))


def cpu_model() -> str:
    """The processor's name as the kernel gives it, or the architecture where it gives none."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


def versions(*more: str) -> dict[str, str]:
    """Public versions of what computes: builds of one release (`2.13.0+cpu`) count as equal."""
    installed = {name: version(name) for name in ("torch", "numpy", "journeylab", *more)}
    installed["python"] = platform.python_version()
    return {name: text.partition("+")[0] for name, text in sorted(installed.items())}


def git_state(folder: Path) -> GitState:
    """The state of the repository around `folder`; empty where there is none, or no git."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return GitState()
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return GitState(commit=commit, dirty=None if changes is None else bool(changes))


def scheduler(environment: Mapping[str, str]) -> Scheduler | None:
    """The SLURM job that `environment` describes, if it describes one."""
    if not environment.get("SLURM_JOB_ID"):
        return None
    return Scheduler(
        job=environment["SLURM_JOB_ID"],
        name=environment.get("SLURM_JOB_NAME"),
        partition=environment.get("SLURM_JOB_PARTITION"),
        cluster=environment.get("SLURM_CLUSTER_NAME"),
        nodes=environment.get("SLURM_JOB_NODELIST"),
    )


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        answer = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()
