"""What tests of several folders make or read: settings, claims, commits, records, PDFs, damage."""

import os
import platform
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pypdfium2
from typer.testing import CliRunner

from journeylab import catalogue
from journeylab.claims.register import read_register
from journeylab.claims.schema import Register
from journeylab.commands.app import app
from journeylab.config import Config
from journeylab.records.cost import Cost
from journeylab.records.files import Origin, write_json
from journeylab.records.looks import LookRecord, SeedRange
from journeylab.records.plans import Plan
from journeylab.records.runs import RunHost, RunStart, SeedOutcome, describe_run, write_run
from journeylab.records.verdicts import Verdict
from journeylab.wording.names import StudyNames

Value = TypeVar("Value")
PROJECT = Path(__file__).parents[1]
MACOS = PROJECT / "tests/macos"
"""What makes a process see what it would on macOS: `as_on_macos`."""
STARTED = datetime(2026, 1, 2, tzinfo=UTC)
CLAIM = {"theorem": "thm:x", "source": "corrected", "statement": "It is so."}
"""What a row of a register has beside its id, effect and region."""
SECOND = {
    "revision": 2,
    "seeds_from": 100,
    "amendments": [{"date": "2026-03-04", "rows": ["exp1.1"], "reason": "A typing error."}],
}
"""What the second revision of a study writes."""
COST = Cost(cpu_seconds=4.0, imports_seconds=1.0, wall_seconds=3.0, peak_mib=100.0)


@cache
def configured(scale: str = "default") -> Config:
    """The settings of config.yaml."""
    return catalogue.load(PROJECT / "config.yaml", {"scale": scale})


@cache
def registered() -> Register:
    """The register of claims/."""
    return read_register(PROJECT / "claims")


def register_of(claims: Sequence[Any], **given: Any) -> Register:
    """A register of exp1 with these claims, each `(effect, region)` or a mapping of its keys.

    Further keys are those of the register or of the study, whose measure is x.
    """
    rows = [
        {"id": f"exp1.{number}", **CLAIM}
        | (claim if isinstance(claim, Mapping) else {"effect": claim[0], "region": claim[1]})
        for number, claim in enumerate(claims, 1)
    ]
    whole = {key: given.pop(key) for key in Register.model_fields.keys() & given.keys()}
    study = {"measures": {"x": {"label": "x", "metric": "x"}}, "claims": rows}
    return Register.model_validate(whole | {"studies": {"exp1": study | given}})


def named(**given: Any) -> StudyNames:
    """Printed names of a study: those given, and others that stand for nothing."""
    others = {"title": "Title", "question": "What?", "tuning": "none", "metrics": {}}
    return StudyNames.model_validate(others | given)


def as_on_macos(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process that finds nothing that only Linux has."""
    first = {"PYTHONPATH": str(MACOS), "PATH": str(MACOS)}
    added = {
        name: f"{folder}{os.pathsep}{environment.get(name, '')}" for name, folder in first.items()
    }
    return {**environment, **added}


def ran(
    *command: Any,
    folder: Path | None = None,
    code: int | None = 0,
    given: str | None = None,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """A command that has ended with this code, or None for any, with its input and variables."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | variables,
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert code in (None, done.returncode), done.stdout[-4000:] + done.stderr[-4000:]
    return done


def invoke(*arguments: str) -> str:
    """What a command of journeylab prints in this process; raises what ends it."""
    done = CliRunner().invoke(app, arguments)
    if done.exception:
        raise done.exception
    return done.stdout


def git(folder: Path, *arguments: str, name: str = "a", email: str = "a@example.org") -> str:
    """What git prints in a folder, as an author of its own."""
    identity = ("-c", f"user.name={name}", "-c", f"user.email={email}")
    return ran("git", "-C", folder, *identity, *arguments).stdout.strip()


def copy_tracked(target: Path, wanted: Callable[[str], bool]) -> None:
    """Copy the files of this repository that git does not ignore, if their names are wanted."""
    options = ("-z", "--cached", "--others", "--exclude-standard")
    for name in filter(wanted, git(PROJECT, "ls-files", *options).split("\0")):
        if (PROJECT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, target / name)


def host_of(start: RunStart, outcomes: Sequence[SeedOutcome] = (), **more: Any) -> RunHost:
    """The record of where a run was made, which ended when it began."""
    known = {"finished": start.started, "cost": COST, "host": platform.node()} | more
    seconds = {outcome.seed: outcome.seconds for outcome in outcomes}
    return RunHost(**dict(start), seconds=seconds, **known)


def write_finished(
    folder: Path,
    plan: Plan,
    reason: str | None = None,
    device: str = "cpu",
    files: Mapping[str, str] = {},
    state: Any = (),
    **host: Any,
) -> None:
    """Write the record of a run whose seeds have finished, or all failed for a reason."""
    status = "failed" if reason else "finished"
    outcomes = [SeedOutcome(seed=each, status=status, reason=reason) for each in plan.seeds or ()]
    run = describe_run(plan, inputs={}, outcomes=outcomes, files=files, device=device)
    start = RunStart(plan_key=plan.key, started=STARTED, **dict(state))
    write_run(folder, run, host_of(start, outcomes, **host))


def verdict(identity: str, word: str | None, **more: Any) -> Verdict:
    """A row of verdicts, whose numbers mean nothing."""
    numbers = {"effect": 0.1, "mean": 0.1, "low": 0.0, "high": 0.2, "n": 12, "failures": 0}
    known = numbers | {"tail": 0.01, "k": 1, "detectable": None}
    return Verdict(id=identity, verdict=word, **(known | more))


def write_look(
    root: Path,
    number: int,
    seeds: int,
    states: Mapping[str, str],
    goes_on: Iterable[str],
    taken: SeedRange,
    origin: Origin | None = None,
) -> None:
    """Write the record of a look at exp7."""
    known = {"study": "exp7", "number": number, "seeds": seeds, "states": states}
    record = LookRecord(**known, goes_on=tuple(goes_on), taken=taken)
    write_json(root / f"results/exp7/looks/{seeds}.json", record, origin=origin)


def contents(folder: Path) -> dict[str, bytes]:
    """The files below a folder, by their paths in it."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def pdf_text(path: Path) -> str:
    """The words of a PDF, with single spaces."""
    with pypdfium2.PdfDocument(path) as document:
        pages = [page.get_textpage().get_text_range() for page in document]
    return " ".join(" ".join(pages).split())


def flip(path: Path) -> None:
    """Change one bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def kill(process: subprocess.Popen[Any]) -> None:
    """Kill a process that was started in a session of its own, with its children."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def wait_for(condition: Callable[[], Value], seconds: float = 30.0) -> Value:
    """Wait until a condition has a true value; return that value."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return value


def wait_for_server(
    address: str, process: subprocess.Popen[Any], log: Path | None = None, method: str = "GET"
) -> None:
    """Wait until a server answers; when its process ends, fail with its log."""

    def answers() -> bool:
        assert process.poll() is None, log and log.read_text()
        with suppress(OSError):
            request = urllib.request.Request(address, method=method)
            urllib.request.urlopen(request, timeout=5).close()
            return True
        return False

    wait_for(answers, 120.0)
