"""`journeylab check` finds damaged and stale files, and names the command that repairs each."""

import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path

import pytest

from ..made import flip
from .conftest import Copy

pytestmark = pytest.mark.workflow

RUN = "results/exp7/characters/A/*"
COMMAND = re.compile(r"`(snakemake --cores 1 --force (\S+)[^`]*)` makes it anew$")
MANIFEST = "reports/exp7/manifest.json"


def check(project: Copy, *arguments: str) -> subprocess.CompletedProcess:
    command = ("python", "-m", "journeylab", "check", *arguments)
    return project.run(*command, check=False)


def spoil_silently(path: Path, spoil: Callable[[Path], object]) -> None:
    """Change a file but not its modification time, as a failing disk does."""
    before = path.stat()
    spoil(path)
    if path.exists():
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def first(project: Copy, pattern: str) -> str:
    return str(sorted(project.path.glob(pattern))[0].relative_to(project.path))


@pytest.fixture(scope="module")
def whole(finished: Copy, tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """A finished copy; every test restores it."""
    return finished.duplicate(tmp_path_factory.mktemp("checking") / "project")


HARM: dict[str, tuple[str, Callable[[Path], object], str, str]] = {
    "a missing table": ("reports/exp7/tables/*.json", Path.unlink, "missing", MANIFEST),
    "a missing figure": ("reports/exp7/figures/*.pdf", Path.unlink, "missing", MANIFEST),
    "a flipped bit of a figure": ("reports/exp7/figures/*.pdf", flip, "damaged", MANIFEST),
    "a missing manifest": (MANIFEST, Path.unlink, "missing", MANIFEST),
    "a flipped bit of the manifest": (MANIFEST, flip, "damaged", MANIFEST),
    "a flipped bit of weights": (f"{RUN}/weights.safetensors", flip, "damaged", ""),
    "missing weights": (f"{RUN}/weights.safetensors", Path.unlink, "missing", ""),
    "a flipped bit of the curves": (f"{RUN}/curves.parquet", flip, "damaged", ""),
    "a flipped bit of a run's record": (f"{RUN}/run.json", flip, "damaged", ""),
    "a missing record of a run's host": (f"{RUN}/run.host.json", Path.unlink, "missing", ""),
    "a flipped bit of a dataset": ("data/exp7/plan/*.parquet", flip, "damaged", ""),
    "a missing dataset": ("data/exp7/plan/*.parquet", Path.unlink, "missing", ""),
    "a flipped bit of a run's measurements": (f"{RUN}/measurements.parquet", flip, "damaged", ""),
    "a flipped bit of a computed run": ("results/exp5/*/*/once/measurements.parquet", flip, "", ""),
    "a flipped bit of all measurements": ("results/exp7/measurements.parquet", flip, "damaged", ""),
    "a flipped bit of the verdicts": ("results/exp7/verdicts.json", flip, "damaged", ""),
    "missing verdicts": ("results/exp7/verdicts.json", Path.unlink, "missing", ""),
    "a flipped bit of the index": ("reports/index.html", flip, "damaged", ""),
    "a truncated report": ("reports/exp7.pdf", truncate, "damaged", ""),
    "a flipped bit of a report": ("reports/exp7.pdf", flip, "damaged", ""),
}


def rounds() -> list[list[str]]:
    """All harms in rounds; a round harms one file at most of a folder or of a manifest."""
    of: dict[str, list[str]] = defaultdict(list)
    for harm, (pattern, _, _, target) in HARM.items():
        of[target or str(Path(pattern).parent)].append(harm)
    return [[harm for harm in each if harm] for each in zip_longest(*of.values())]


@pytest.mark.parametrize("harms", rounds(), ids="{[0]}".format)
def test_a_damaged_or_missing_file_gives_one_line_with_the_command_that_remakes_it(
    whole: Copy, harms: list[str], tmp_path: Path
) -> None:
    names = {harm: first(whole, HARM[harm][0]) for harm in harms}
    kept = {name: shutil.copy2(whole.path / name, tmp_path / harm) for harm, name in names.items()}
    try:
        for harm, name in names.items():
            spoil_silently(whole.path / name, HARM[harm][1])
        done = check(whole)
    finally:
        for name, copy in kept.items():
            shutil.copy2(copy, whole.path / name)
    assert done.returncode == 1, done.stdout + done.stderr
    assert len(done.stderr.splitlines()) == len(harms), done.stderr
    for harm, name in names.items():
        _, _, fault, target = HARM[harm]
        [line] = [line for line in done.stderr.splitlines() if line.startswith(f"{name} ")]
        assert fault in line
        command = COMMAND.search(line)
        assert command, line
        assert command[2] == (target or name)
    assert f"{len(harms)} problems" in done.stdout


def test_intact_and_unmade_projects_have_no_problems(whole: Copy, fresh: Copy) -> None:
    done = check(whole)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"\d+ jobs checked, 0 not done yet, 0 problems\n", done.stdout)
    done = check(fresh)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("0 jobs checked")


def test_a_stale_result_and_all_files_made_from_it_are_named(whole: Copy) -> None:
    before = (whole.path / "config.yaml").read_text(encoding="utf-8")
    try:
        whole.configure(
            lambda config: config["studies"]["exp7"]["arms"]["characters"].update(
                variants={"A": {"training": {"learning_rate": 0.1}}, "Aprime": {}}
            )
        )
        done = check(whole)
    finally:
        (whole.path / "config.yaml").write_text(before, encoding="utf-8")
    stale = {line.partition(" ")[0] for line in done.stderr.splitlines()}
    assert done.returncode == 1
    assert {re.sub(r"seeds-\d+-\d+", "*", name) for name in stale} == {
        f"{RUN}/run.json",
        f"{RUN}/measurements.parquet",
        "results/exp7/measurements.parquet",
        "results/exp7/verdicts.json",
        MANIFEST,
        "reports/exp7.pdf",
        "reports/response.json",
        "reports/index.html",
    }
    assert len(stale) == 8
    assert all("with other settings, data or code" in line for line in done.stderr.splitlines())
    assert all(COMMAND.search(line) for line in done.stderr.splitlines())


def test_check_accepts_the_settings_of_the_workflow(whole: Copy) -> None:
    done = check(whole, "scale=default", "root=.")
    assert done.returncode == 1
    assert all(
        line.endswith(" --config scale=default root=.` makes it anew")
        for line in done.stderr.splitlines()
    )
    done = check(whole, "scale")
    assert done.returncode == 2
    assert done.stderr.startswith("error: 'scale': write KEY=VALUE")


@pytest.mark.system
def test_the_named_command_repairs_damage_that_snakemake_does_not_see(project: Copy) -> None:
    pattern, spoil, _, _ = HARM["a flipped bit of a figure"]
    path = project.path / first(project, pattern)
    before = path.read_bytes()
    spoil_silently(path, spoil)
    assert project.planned() == set()
    command = COMMAND.search(check(project).stderr.strip())
    assert command
    project.run(*command[1].split())
    assert path.read_bytes() == before
    assert check(project).returncode == 0
    assert project.rules() == set()
