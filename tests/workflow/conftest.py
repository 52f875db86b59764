"""A copy of the project in a temporary folder; tests run snakemake and dvc in it."""

import compileall
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from filelock import FileLock

from journeylab.records.files import sha256
from journeylab.records.stages import STAGES

from ..made import git

PROJECT = Path(__file__).parents[2]
COPIED = (
    *("Snakefile", "workflow", "profiles", "src", "config.yaml", "claims", "response.yaml"),
    *("reference", "dvc.yaml", "params.yaml"),
    *(".dvc/config", ".dvc/.gitignore", ".dvcignore", ".gitignore", ".snakemake/.gitignore"),
)

TINY_STUDIES = ("exp5", "exp7")
DRAWN = {"exp5": ["forms"], "exp7": ["tiers", "templates"]}
"""The figures of these studies: drawing all takes longer than all other jobs together."""
READ = {
    "history": "plans/{study}/history.json",
    "manifest": "reports/{study}/manifest.json",
    "manifests": "reports/{study}/manifest.json",
    "measurements": "results/{study}/measurements.parquet",
    "runs": "results/{study}",
    "verdicts": "results/{study}/verdicts.json",
}
MADE = (
    "data/**/*.parquet",
    "results/**/*.parquet",
    "results/**/*.safetensors",
    "results/**/run.json",
    "results/**/verdicts.json",
    "reports/exp*/figures/*",
    "reports/exp*/tables/*",
    "reports/exp*/numbers.*",
)
"""The outputs whose bytes depend on settings, code and data alone."""
TINY_RESPONSE = """points:
  - {id: union, reviewer: R1, point: "Better?", claims: [prop:lis-union], figures: [exp7/tiers]}
  - {id: bridge, reviewer: R2, point: "Is it the same?", claims: [exp5], answer: It is.}
  - {id: open, reviewer: R2, point: "What else?"}
"""
TINY_ROW = {"theorem": "prop:lis-union", "form": "typical", "gate": ["A"]}
TINY_ROWS = (
    {
        "id": "exp7.3",
        "before": "exp7.3",
        "statement": "A beats B.",
        "effect": "characters/A@T2 - words/B@T2",
        "region": {"above": 0.02},
    },
    {
        "id": "exp7.27",
        "statement": "A′ is as A.",
        "effect": "characters/Aprime@T2 - characters/A@T2",
        "region": {"inside": [-0.1, 0.1]},
    },
)
"""Claims on the runs of exp7 in a tiny copy, beside its certificates."""
SHORT = [20, 200]
"""The lengths of sequences in exp5; its claims are kept to these."""
TINY_TRAINING = {"steps": 12, "warmup": 2, "evaluate_every": 6, "checkpoint_every": 4}


def command_of(
    stage: str, plan: str, *, output: str, studies: Sequence[str] = TINY_STUDIES, **files: str
) -> tuple[str, ...]:
    """The command of a rule; `plan` is below plans/, and files are below the copy.

    Files that are not given are those of the study of the plan, or of all studies.
    """
    known, options = STAGES[stage], []
    if "study" in known.wildcards:
        studies = [known.parse(plan)["study"]]
    else:
        files = {"runs": "results"} | files
    for name in known.reads:
        if name in files:
            options += [f"--{name}", files[name]]
        elif name in READ:
            options += [f"--{name}", *(READ[name].format(study=study) for study in studies)]
    return "journeylab", "stage", stage, "--plan", f"plans/{plan}", *options, "--output", output


@dataclass(frozen=True)
class Copy:
    """A working copy of the project with short training and few studies."""

    path: Path

    def run(self, *command: str, check: bool = True, **more: Any) -> subprocess.CompletedProcess:
        done = subprocess.run(
            command,
            cwd=self.path,
            text=True,
            **(
                {"env": self.environment, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
                | more
            ),
        )
        if check and done.returncode:
            pytest.fail(f"{command} failed:\n{done.stdout[-4000:]}\n{(done.stderr or '')[-6000:]}")
        return done

    def start(self, *command: str, output: Any = subprocess.DEVNULL) -> subprocess.Popen[str]:
        """Start a command, without the warm server, which `made.kill` ends with its jobs."""
        return subprocess.Popen(
            command,
            cwd=self.path,
            env=self.cold_environment,
            stdout=output,
            stderr=output,
            text=True,
            start_new_session=True,
        )

    def snakemake(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess:
        return self.run("snakemake", "--cores", "2", *arguments, check=check)

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {"PYTHONPATH": str(self.path / "src"), "OMP_NUM_THREADS": "1"}

    @property
    def cold_environment(self) -> dict[str, str]:
        """Environment without the warm server: a command and its jobs can be killed together."""
        return self.environment | {"PATH": os.environ["PATH"].partition(os.pathsep)[2]}

    def planned(self, *arguments: str) -> set[tuple[str, ...]]:
        """The jobs that snakemake would run: (rule, wildcard values…)."""
        text = self.snakemake("-n", "--printshellcmds", "--quiet", "host", "--", *arguments).stdout
        jobs = set()
        for block in re.split(r"\n(?=(?:local)?rule \w+:)", text)[1:]:
            rule = re.match(r"(?:local)?rule (\w+):", block)
            wildcards = re.search(r"\n    wildcards: (.*)", block)
            assert rule
            values = re.findall(r"\w+=([^,\s]+)", wildcards[1]) if wildcards else []
            jobs.add((rule[1], *values))
        return jobs

    def rules(self, *arguments: str) -> set[str]:
        """The rules that snakemake would run, without the bookkeeping of `all`."""
        return {job[0] for job in self.planned(*arguments)} - {"all"}

    def edit(self, file: str, change: Callable[[str], str]) -> None:
        path = self.path / file
        before = path.read_text(encoding="utf-8")
        after = change(before)
        assert after != before, f"the edit of {file} changed nothing"
        path.write_text(after, encoding="utf-8")

    def configure(self, change: Callable[[dict[str, Any]], None]) -> None:
        path = self.path / "config.yaml"
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        change(content)
        path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")

    def stage(self, stage: str, plan: str, **files: str) -> subprocess.CompletedProcess:
        """Run one stage as a rule would; see `command_of`."""
        return self.run(*command_of(stage, plan, **files), check=False)

    def duplicate(self, path: Path) -> "Copy":
        """The same project with the same results in another folder."""
        subprocess.run(["cp", "-a", str(self.path), str(path)], check=True)
        return Copy(path)


def hashes(copy: Copy, *patterns: str) -> dict[str, str]:
    """SHA-256 of the outputs, by path."""
    return {
        str(path.relative_to(copy.path)): sha256(path)
        for pattern in patterns or MADE
        for path in sorted(copy.path.glob(pattern))
        if path.is_file() and not path.name.startswith(".")  # the times that snakemake keeps
    }


def make_tiny(config: dict[str, Any]) -> None:
    """Keep one trained and one computed study: two seeds in one chunk, 12 training steps."""
    config["scale"] = "quick"
    # an import into MLflow takes as long as some of the tests
    config["tracking"]["enabled"] = False
    config["studies"] = {study: config["studies"][study] for study in TINY_STUDIES}
    bridge = config["studies"]["exp5"]["arms"]["bridge"]
    bridge |= {"lengths": SHORT, "variants": ["rotation", "orthogonal", "growing"]}
    exp7 = config["studies"]["exp7"]
    exp7["chunk"] = 2
    exp7["datasets"] = {"plan": exp7["datasets"]["plan"]}
    exp7["scales"]["quick"] = {"training": TINY_TRAINING}
    del exp7["search"]
    # d = 128 gives weights above 1 MB, which snakemake does not hash by default
    exp7["arms"] = {
        "characters": {"variants": {"A": {"model": {"d": 128}}, "Aprime": {}}},
        "words": {"tokens": "words", "variants": ["B"]},
        "algebra": exp7["arms"]["algebra"] | {"variants": ["slots"]},
    }


def keep_tiny_claims(folder: Path) -> None:
    """Remove the claims about studies and runs that a tiny copy does not have."""
    for file in folder.glob("exp*.yaml"):
        if file.stem not in TINY_STUDIES:
            file.unlink()
    file = folder / "exp5.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("[20, 200, 2000]", str(SHORT)), encoding="utf-8")
    file = folder / "exp7.yaml"
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    content["gates"] = {"A": "characters/A@T1 >= 0.95"}
    exact = [row for row in content["claims"] if "every" in row["effect"]]
    content["claims"] = [TINY_ROW | row for row in TINY_ROWS] + exact
    file.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def copy_project(path: Path, shrink: Callable[[dict[str, Any]], None] = make_tiny) -> Copy:
    """A copy of the project with a configuration that `shrink` makes small, and matching claims."""
    path.mkdir(parents=True)
    for name in COPIED:
        source, target = PROJECT / name, path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(source, target, ignore=ignored)
        else:
            shutil.copy2(source, target)
    compileall.compile_dir(path / "src", quiet=2)  # else every command compiles it again
    copy = Copy(path)
    copy.configure(shrink)
    if shrink is make_tiny:
        keep_tiny_claims(path / "claims")
        (path / "response.yaml").write_text(TINY_RESPONSE, encoding="utf-8")
        for study, names in DRAWN.items():
            [file] = path.glob(f"src/journeylab/studies/{study}_*/figures.py")
            with file.open("a", encoding="utf-8") as code:
                code.write(f"\nFIGURES = {{name: FIGURES[name] for name in {names}}}\n")
    return copy


def commit(folder: Path, message: str = "all", date: str = "") -> str:
    """Commit all files of a folder, which becomes a repository; the hash of the commit."""
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_COMMITTER_DATE", date)
        git(folder, "commit", "--quiet", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder that `make` fills once per test session, also with several pytest processes."""
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder, done = shared / name, shared / f"{name}.done"
    with FileLock(shared / f"{name}.lock"):
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            done.touch()
    return folder


@pytest.fixture(scope="session", autouse=True)
def commands(warm: Path) -> Path:
    """All commands start from the warm server."""
    return warm


@pytest.fixture(scope="session")
def unmade(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """A copy without results; tests change only duplicates of it."""

    def make(folder: Path) -> None:
        copy_project(folder / "project")

    return Copy(made_once(tmp_path_factory, "unmade", make) / "project")


@pytest.fixture(scope="session")
def finished(unmade: Copy, tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """A copy with all reports made; tests change only duplicates of it."""

    def make(folder: Path) -> None:
        copy = unmade.duplicate(folder / "project")
        copy.configure(lambda config: config["tracking"].update(enabled=True))
        done = copy.snakemake("all")
        copy.configure(lambda config: config["tracking"].update(enabled=False))
        (folder / "output").write_text(done.stdout + done.stderr, encoding="utf-8")

    return Copy(made_once(tmp_path_factory, "finished", make) / "project")


@pytest.fixture
def project(finished: Copy, tmp_path: Path) -> Copy:
    """A finished copy that a test may change."""
    return finished.duplicate(tmp_path / "project")


@pytest.fixture
def fresh(unmade: Copy, tmp_path: Path) -> Copy:
    """A copy without results."""
    return unmade.duplicate(tmp_path / "project")
