"""What tests of several folders make or read: settings, claims, commits, records, PDFs, damage."""

import os
import platform
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pypdfium2

from journeylab import catalogue
from journeylab.claims.register import read_register
from journeylab.claims.schema import Register
from journeylab.config import Config
from journeylab.records.cost import Cost
from journeylab.records.plans import Plan
from journeylab.records.runs import RunHost, RunStart, SeedOutcome, describe_run, write_run
from journeylab.wording.names import StudyNames

PROJECT = Path(__file__).parents[1]
MACOS = PROJECT / "tests/macos"
"""What makes a process see what it would on macOS: `as_on_macos`."""
STARTED = datetime(2026, 1, 2, tzinfo=UTC)
COST = Cost(cpu_seconds=4.0, imports_seconds=1.0, wall_seconds=3.0, peak_mib=100.0)


@cache
def configured(scale: str = "default") -> Config:
    """The settings of config.yaml."""
    return catalogue.load(PROJECT / "config.yaml", {"scale": scale})


@cache
def registered() -> Register:
    """The register of claims/."""
    return read_register(PROJECT / "claims")


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


def git(folder: Path, *arguments: str, name: str = "a", email: str = "a@example.org") -> str:
    """What git prints in a folder, as an author of its own."""
    identity = ("-c", f"user.name={name}", "-c", f"user.email={email}")
    command = ("git", "-C", str(folder), *identity, *arguments)
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def host_of(start: RunStart, outcomes: Sequence[SeedOutcome] = (), **more: Any) -> RunHost:
    """The record of where a run was made, which ended when it began."""
    known = {"finished": start.started, "cost": COST, "host": platform.node()} | more
    seconds = {outcome.seed: outcome.seconds for outcome in outcomes}
    return RunHost(**dict(start), seconds=seconds, **known)


def write_finished(
    folder: Path, plan: Plan, reason: str | None = None, device: str = "cpu", cost: Cost = COST
) -> None:
    """Write the record of a run whose seeds have finished, or all failed for a reason."""
    status = "failed" if reason else "finished"
    outcomes = [SeedOutcome(seed=each, status=status, reason=reason) for each in plan.seeds or ()]
    run = describe_run(plan, inputs={}, outcomes=outcomes, files={}, device=device)
    start = RunStart(plan_key=plan.key, started=STARTED)
    write_run(folder, run, host_of(start, outcomes, cost=cost))


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


def wait_for(condition: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


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
