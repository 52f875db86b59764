"""A project with one scaffolded study, which trains in seconds, and its jobs; tests injure it.

`JOURNEYLAB_CASES=0.1` tries a tenth of the full number of cases. Every test of the campaign counts
its cases in a `Tally`; `python tools/reliability.py` prints the tallies as a table.
"""

import json
import math
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from journeylab.config import UserError
from journeylab.records.files import read_verified

from ..made import PROJECT
from ..workflow.conftest import MADE, Copy, command_of, copy_project, hashes, made_once  # noqa: F401

FOLDER = PROJECT / "build/torture"
SHARE = float(os.environ.get("JOURNEYLAB_CASES", "1"))
"""Cases that are tried, as a share of the full campaign."""

SILENT = "SILENT"
"""The outcome that no case may have: a wrong result that nothing reports."""


def cases(full: int, least: int = 1) -> int:
    """The number of cases to try, where the full campaign tries `full`."""
    return max(least, math.ceil(full * SHARE))


def seeded(full: int, least: int = 1) -> range:
    """The numbers of the cases, each the seed of its random choices."""
    return range(cases(full, least))


class Tally:
    """Counts of cases by fault and outcome, of one row of the campaign."""

    def __init__(self, row: str) -> None:
        self.path = FOLDER / f"{row}.json"
        self.outcomes: dict[str, Counter[str]] = {}
        self.figures: dict[str, str] = {}

    def add(self, fault: str, outcome: str, number: int = 1) -> None:
        """Count cases of a fault that ended in the same way."""
        self.outcomes.setdefault(fault, Counter())[outcome] += number

    def note(self, name: str, value: str) -> None:
        """Keep a measured figure, such as a peak of memory."""
        self.figures[name] = value

    def write(self) -> None:
        """Add the counts to the file of the row; a fault that was tried again is replaced."""
        known = {"faults": {}, "figures": {}}
        if self.path.exists():
            known |= json.loads(self.path.read_text(encoding="utf-8"))
        for fault, counts in self.outcomes.items():
            known["faults"][fault] = dict(counts)
        known["figures"] |= self.figures
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(known, indent=2, sort_keys=True, ensure_ascii=False)
        self.path.write_text(text + "\n", encoding="utf-8")


torture = pytest.mark.torture
small_and_full = pytest.mark.parametrize("full", [False, pytest.param(True, marks=torture)])
"""A test of few cases, which the campaign also runs with all of them."""

STUDY = "exp98"
TRAINING = {"steps": 60, "warmup": 2, "rows": 16, "evaluate_every": 20, "checkpoint_every": 5}
SEEDS = "seeds-1000-1001"
RUN = f"results/{STUDY}/many/hidden/{SEEDS}"
REPORT = f"reports/{STUDY}.pdf"
DATA = f"data/{STUDY}/points/{SEEDS}.parquet"
RESULTS, DRAWN = f"results/{STUDY}", f"reports/{STUDY}"
PRINTED = ("reports/*.pdf", "reports/response.*", "reports/index.html")
"""Outputs that also print when the runs were made, and their CPU time."""


class Job(NamedTuple):
    """A job: its plan below `plans/`, the output that marks it as done, all outputs, inputs."""

    plan: str
    output: str
    outputs: tuple[str, ...]
    inputs: tuple[tuple[str, str], ...] = ()

    def command(self, stage: str) -> tuple[str, ...]:
        """The command of the rule."""
        files = dict(self.inputs)
        return command_of(stage, self.plan, output=self.output, studies=[STUDY], **files)

    def undo(self, copy: Copy) -> None:
        """Remove what the job made."""
        for name in self.outputs:
            path = copy.path / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


_RUN = f"{STUDY}/many/hidden/{SEEDS}"
_OF_RUN = tuple(
    f"{RUN}/{name}"
    for name in ("run.json", "run.host.json", "weights.safetensors", "curves.parquet")
)
_ONCE = f"results/{STUDY}/corners/all/once"
JOBS = {
    "generate": Job(f"{STUDY}/data/points/{SEEDS}.json", DATA, (DATA,)),
    "train": Job(f"{_RUN}/train.json", f"{RUN}/run.json", _OF_RUN, (("data", DATA),)),
    "compute": Job(
        f"{STUDY}/corners/all/once/compute.json", f"{_ONCE}/run.json",
        tuple(f"{_ONCE}/{name}" for name in ("run.json", "run.host.json", "measurements.parquet")),
    ),
    "measure": Job(
        f"{_RUN}/measure.json", f"{RUN}/measurements.parquet", (f"{RUN}/measurements.parquet",),
        (("data", DATA), ("run", f"{RUN}/run.json")),
    ),
    "collect": Job(
        f"{STUDY}/collect.json", f"{RESULTS}/measurements.parquet",
        (f"{RESULTS}/measurements.parquet",),
    ),
    "judge": Job(
        f"{STUDY}/judge.json", f"{RESULTS}/verdicts.json", (f"{RESULTS}/verdicts.json",),
    ),
    "draw": Job(f"{STUDY}/draw.json", f"{DRAWN}/manifest.json", (DRAWN,)),
    "typeset": Job(f"{STUDY}/typeset.json", REPORT, (REPORT,)),
    "respond": Job(
        "respond.json", "reports/response.json",
        ("reports/latex", *(f"reports/response.{end}" for end in ("json", "pdf", "md", "tar.gz"))),
    ),
    "index": Job("index.json", "reports/index.html", ("reports/index.html",)),
}  # fmt: skip
"""The jobs from the data to the claims index, by stage."""


def make_study(path: Path, change: Callable[[dict[str, Any]], None] = lambda config: None) -> Copy:
    """A project with the study of `journeylab new` alone, two seeds and 60 steps."""
    copy = copy_project(path, lambda config: config["tracking"].update(enabled=False))
    new = "from journeylab.commands.app import main; main()"
    copy.run(sys.executable, "-c", new, "new", f"{STUDY}_torture")

    def keep(config: dict[str, Any]) -> None:
        study = config["studies"][STUDY]
        study["chunk"] = 2
        study["training"] |= TRAINING
        study["scales"] = {"quick": {"arms": {"corners": {"draws": 3}}}}
        config["studies"] = {STUDY: study}
        config["scale"] = "quick"
        change(config)

    copy.configure(keep)
    point = {"id": "a", "reviewer": "R1", "point": "Does it learn?", "claims": [STUDY]}
    (path / "response.yaml").write_text(yaml.safe_dump({"points": [point]}), encoding="utf-8")
    for unused in (*path.glob("claims/exp*.yaml"), *path.glob("reference/*.json")):
        if unused.stem != STUDY:
            unused.unlink()
    return copy


def sweep(runs: int, config: dict[str, Any]) -> None:
    """Train two models in short runs at a number of learning rates, two seeds each."""
    study = config["studies"][STUDY]
    rates = {f"r{i}": {"training": {"learning_rate": 0.001 + i * 1e-6}} for i in range(runs)}
    study["arms"]["sweep"] = {"variants": ["linear", "hidden"], "grid": {"rate": rates}}
    study["training"]["steps"] = 10
    study["scales"] = {}
    config |= {"scale": "default", "seeds": {"default": 2}}


def damaged(copy: Copy) -> list[str]:
    """The sealed files with final names that are not whole."""
    names = []
    for top in ("plans", "data", "results"):
        for kind in ("parquet", "safetensors", "json"):
            for path in copy.path.glob(f"{top}/**/*.{kind}"):
                if path.name.startswith(".") or ".cost." in path.name or ".progress." in path.name:
                    continue
                try:
                    read_verified(path)
                except UserError:
                    names.append(str(path))
    return names


def one_line(text: str) -> str:
    """The only line of what a command prints to people; fails on a traceback."""
    assert "Traceback" not in text, text
    [line] = [line for line in text.splitlines() if line.strip()]
    return line


def error_line(text: str) -> str:
    """The only error in what a command prints, besides lines about its progress."""
    assert "Traceback" not in text, text
    [line] = [line for line in text.splitlines() if line.startswith("error: ")]
    return line


@pytest.fixture(scope="session")
def commands(warm: Path) -> Path:
    """Commands start from the warm server, which has imported the libraries."""
    return warm


@pytest.fixture(scope="session")
def finished(commands: Path, tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """The project with everything made; tests change only duplicates of it."""

    def make(folder: Path) -> None:
        make_study(folder / "project").snakemake("all")

    return Copy(made_once(tmp_path_factory, "torture", make) / "project")


@pytest.fixture(scope="session")
def expected(finished: Copy) -> dict[str, str]:
    """The hashes of the outputs of an undisturbed run."""
    made = hashes(finished)
    assert len(made) > 25
    return made


@pytest.fixture
def project(finished: Copy, tmp_path: Path) -> Copy:
    """A finished project that a test may injure."""
    return finished.duplicate(tmp_path / "project")


@pytest.fixture(scope="module")
def tally(request: pytest.FixtureRequest) -> Iterator[Tally]:
    """The counts of this file's row, which are written if the campaign is running."""
    counts = Tally(Path(request.node.path).stem.removeprefix("test_"))
    yield counts
    if any(item.get_closest_marker("torture") for item in request.session.items):
        counts.write()
