"""Run records: what determines a result (`run.json`), and where and when it ran (`run.host.json`).

Only the first enters keys, so that equal plan, data and machine type give equal keys wherever and
whenever a run is computed.
"""

import platform
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from journeylab.config import Frozen, UserError, build
from journeylab.records import files
from journeylab.records.cost import Cost
from journeylab.records.git import ask_git
from journeylab.records.machine import sysctl
from journeylab.records.plans import Plan, plan_key
from journeylab.records.processor import Processor

RUN = "run.json"
HOST = "run.host.json"
START = "run.start.json"
Status = Literal["finished", "failed"]


class SeedRecord(Frozen):
    """One seed of a run; `reason` says why a seed failed."""

    seed: int
    run_key: str
    status: Status
    reason: str | None = None


class Training(Frozen):
    """The cost of training one model: parameters, floating-point operations, tokens.

    A seed trains one model, or one for each of its worlds.
    """

    parameters: int
    flops: float
    tokens: int


class RunRecord(Frozen):
    """What determines the result of a run, and the outcome of each seed.

    `run_key` is the key of the whole run; a run that is computed once has no seeds. `inputs` maps
    the files read, and `files` those written beside this record, to SHA-256 hashes. `cpu` lists all
    processors that took part, in order; a run resumed on another processor may differ in rounding
    from a run on one.
    """

    study: str
    arm: str
    variant: str
    kind: Literal["trained", "computed"]
    plan_key: str
    run_key: str
    settings: dict[str, Any]
    inputs: dict[str, str]
    code: str
    engine: str
    device: str
    threads: int
    cpu: tuple[str, ...]
    versions: dict[str, str]
    training: Training | None
    seeds: tuple[SeedRecord, ...]
    files: dict[str, str]


class Scheduler(Frozen):
    """The batch job a chunk ran in."""

    job: str
    name: str | None = None
    partition: str | None = None
    cluster: str | None = None
    nodes: str | None = None


class GitState(Frozen):
    """The commit checked out and whether tracked files differ from it; None without git."""

    commit: str | None = None
    dirty: bool | None = None


class RegisterState(GitState):
    """Commit and register of a study when its jobs were planned.

    `rows` maps each row to two hashes: of what is judged, and of its wording. `registered` says
    whether `commit` contains the register as it is, None without git.
    """

    rows: Mapping[str, tuple[str, str]] = {}
    registered: bool | None = None


class RunStart(RegisterState):
    """How a run began; the record stays the same however often the run is resumed.

    But for `processor`: it is None where it is not known, and after a resumption on another one.
    """

    plan_key: str
    started: datetime
    processor: Annotated[Processor | None, Field(exclude_if=lambda known: known is None)] = None


class RunHost(RunStart):
    """Where and when a run was computed, and its cost; `seconds` maps seeds to training times.

    `timings` are times of the forms that a computed run compares: like the cost, they depend on the
    machine, and therefore are not measurements. `restored` says that the files of the run come
    from its evidence; then `host` is empty.
    """

    finished: datetime
    seconds: dict[int, float]
    host: str
    cost: Cost
    scheduler: Scheduler | None = None
    timings: Mapping[str, float] = {}
    restored: bool = False


class SeedOutcome(Frozen):
    """The outcome of one seed."""

    seed: int
    status: Status
    reason: str | None = None
    seconds: float = 0.0


def describe_run(
    plan: Plan,
    *,
    inputs: Mapping[str, str],
    outcomes: Sequence[SeedOutcome],
    files: Mapping[str, str],
    engine: str = "sequential",
    device: str = "cpu",
    threads: int = 1,
    cpu: Sequence[str] = (),
    training: Training | None = None,
) -> RunRecord:
    """Build the record of a run; `cpu` defaults to the processor of this machine."""
    processors = tuple(cpu) or (cpu_model(),)
    identity: dict[str, Any] = {
        "plan_key": plan.key,
        "inputs": dict(inputs),
        "engine": engine,
        "device": device,
        "threads": threads,
        "cpu": processors,
    }
    return RunRecord(
        **identity,
        study=plan.study,
        arm=plan.arm or "",
        variant=plan.variant or "",
        kind="trained" if plan.stage == "train" else "computed",
        run_key=run_key(identity),
        settings=dict(plan.settings),
        code=plan.code,
        versions={**plan.versions, "python": platform.python_version()},
        training=training,
        seeds=tuple(
            SeedRecord(run_key=run_key(identity, each.seed), **each.model_dump(exclude={"seconds"}))
            for each in outcomes
        ),
        files=dict(files),
    )


def run_key(identity: Mapping[str, Any], seed: int | None = None) -> str:
    """The key of a run, or of one seed: 16 hexadecimal characters of a hash of its identity."""
    return plan_key({**identity, "seed": seed})


def begin_run(folder: Path, start: RunStart) -> RunStart:
    """Record the start of a run; for a resumed run, return the start that was recorded first."""
    path = folder / START
    try:
        known = build(RunStart, files.read_json(path), str(path))
    except UserError:
        known = None
    if known is not None and known.plan_key == start.plan_key:
        if known.processor == start.processor:
            return known
        start = known.model_copy(update={"processor": None})
    files.write_json(path, start)
    return start


def write_run(folder: Path, run: RunRecord, host: RunHost) -> None:
    """Write both records of a run; `run.json` last, since it marks the folder as complete."""
    files.write_json(folder / HOST, host)
    files.write_json(folder / RUN, run)
    (folder / START).unlink(missing_ok=True)


def read_run(folder: Path, plan_key: str | None = None) -> RunRecord:
    """Read `run.json` of a run.

    Raises UserError if it is missing, damaged or, with `plan_key`, of another plan.
    """
    path = folder / RUN
    run = build(RunRecord, files.read_json(path), str(path))
    files.check_key(path, run.plan_key, plan_key)
    return run


def read_host(folder: Path) -> RunHost:
    """Read `run.host.json` of a run. Raises UserError if it is missing or damaged."""
    return build(RunHost, files.read_json(folder / HOST), str(folder / HOST))


def read_start(folder: Path) -> RunStart | None:
    """How a run began, whether it is finished or not; None if no readable record says so."""
    for path in (folder / HOST, folder / START):
        if not path.exists():
            continue  # the message of a missing file takes longer than all else
        try:
            content = files.read_json(path)
            known = {key: content[key] for key in RunStart.model_fields if key in content}
            return RunStart(**known)
        except (UserError, ValueError):
            continue
    return None


def find_runs(root: Path, study: str) -> list[Path]:
    """The folders of a study's runs, `results/<study>/<arm>/<variant>/<seeds or once>`, sorted.

    A run counts once its `run.json` exists.
    """
    return sorted(path.parent for path in root.glob(f"results/{study}/*/*/*/{RUN}"))


def cpu_model() -> str:
    """The name of the processor according to the kernel, else the architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = [f"model name: {sysctl('machdep.cpu.brand_string')}"]  # platform says “arm”
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


@cache
def versions(*names: str) -> dict[str, str]:
    """Versions of libraries without the build tag: `2.13.0+cpu` counts as `2.13.0`."""
    return {name: version(name).partition("+")[0] for name in sorted(names)}


def git_state(folder: Path) -> GitState:
    """The git state of `folder`; empty outside a repository or without git."""
    commit = ask_git(folder, "rev-parse", "HEAD")
    if commit is None:
        return GitState()
    changes = ask_git(folder, "status", "--porcelain", "--untracked-files=no")
    return GitState(commit=commit.strip(), dirty=None if changes is None else bool(changes))


def committed_files(folder: Path, names: Sequence[str]) -> frozenset[str] | None:
    """The files, of `names` or below them, that are as in the commit checked out; None without git.

    Two questions to git, however many files there are.
    """
    changed = ask_git(folder, "diff", "--name-only", "--relative", "-z", "HEAD", "--", *names)
    if changed is None:
        return None
    tracked = ask_git(folder, "ls-files", "-z", "--", *names) or ""
    return frozenset(tracked.split("\0")).difference(changed.split("\0"))


def scheduler(environment: Mapping[str, str]) -> Scheduler | None:
    """The SLURM job of the variables in `environment`, if any."""
    if not environment.get("SLURM_JOB_ID"):
        return None
    return Scheduler(
        job=environment["SLURM_JOB_ID"],
        name=environment.get("SLURM_JOB_NAME"),
        partition=environment.get("SLURM_JOB_PARTITION"),
        cluster=environment.get("SLURM_CLUSTER_NAME"),
        nodes=environment.get("SLURM_JOB_NODELIST"),
    )
