"""`journeylab check` finds what snakemake does not, names it, and names what really mends it."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Copy

pytestmark = pytest.mark.workflow

RUN = "results/exp7/native/A/*"
COMMAND = re.compile(r"`(snakemake --cores 1 --force (\S+)[^`]*)` makes it anew$")
MANIFEST = "reports/exp7/manifest.json"
CUT = "is no whole PDF"


def check(project: Copy, *arguments: str) -> subprocess.CompletedProcess:
    command = ("python", "-m", "journeylab.cli", "check", *arguments)
    return project.run(*command, check=False)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    at_rest(path, bytes(content))


def at_rest(path: Path, content: bytes) -> None:
    """Change a file as a disk does that forgets: nobody wrote it."""
    before = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def truncate(path: Path) -> None:
    at_rest(path, path.read_bytes()[:-40])


def first(project: Copy, pattern: str) -> str:
    return str(sorted(project.path.glob(pattern))[0].relative_to(project.path))


@pytest.fixture(scope="module")
def whole(finished: Copy, tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """A finished copy that every test puts back as it was."""
    return finished.duplicate(tmp_path_factory.mktemp("checking") / "project")


HARM: dict[str, tuple[str, Callable[[Path], object], str, str]] = {
    "a table that is gone": ("reports/exp7/tables/*.json", Path.unlink, "missing", MANIFEST),
    "a figure that is gone": ("reports/exp7/figures/*.pdf", Path.unlink, "missing", MANIFEST),
    "a bit of a figure": ("reports/exp7/figures/*.pdf", flip, "damaged", MANIFEST),
    "the manifest": (MANIFEST, Path.unlink, "missing", MANIFEST),
    "a bit of the manifest": (MANIFEST, flip, "damaged", MANIFEST),
    "a bit of weights": (f"{RUN}/weights.safetensors", flip, "damaged", ""),
    "weights that are gone": (f"{RUN}/weights.safetensors", Path.unlink, "missing", ""),
    "a bit of the curves": (f"{RUN}/curves.parquet", flip, "damaged", ""),
    "a bit of a run's record": (f"{RUN}/run.json", flip, "damaged", ""),
    "a run's host": (f"{RUN}/run.host.json", Path.unlink, "missing", ""),
    "a bit of a dataset": ("data/exp7/world/*.parquet", flip, "damaged", ""),
    "a dataset that is gone": ("data/exp7/world/*.parquet", Path.unlink, "missing", ""),
    "a bit of what was measured": (f"{RUN}/measurements.parquet", flip, "damaged", ""),
    "a bit of what was computed": ("results/exp5/*/*/once/measurements.parquet", flip, "", ""),
    "a bit of a study's table": ("results/exp7/measurements.parquet", flip, "damaged", ""),
    "a bit of the verdicts": ("results/exp7/verdicts.json", flip, "damaged", ""),
    "verdicts that are gone": ("results/exp7/verdicts.json", Path.unlink, "missing", ""),
    "a bit of the index": ("reports/index.html", flip, "damaged", ""),
    "the end of a report": ("reports/exp7.pdf", truncate, CUT, ""),
}


@pytest.mark.parametrize("harm", HARM)
def test_whatever_is_damaged_or_missing_is_one_line_that_names_it_and_what_makes_it(
    whole: Copy, harm: str, tmp_path: Path
) -> None:
    pattern, spoil, fault, target = HARM[harm]
    name = first(whole, pattern)
    kept = shutil.copy2(whole.path / name, tmp_path / "kept")
    try:
        spoil(whole.path / name)
        done = check(whole)
    finally:
        shutil.copy2(kept, whole.path / name)
    assert done.returncode == 1, done.stdout + done.stderr
    [line] = done.stderr.splitlines()
    assert line.startswith(f"{name} ")
    assert fault in line
    told = COMMAND.search(line)
    assert told, line
    assert told[2] == (target or name)
    assert "1 problems" in done.stdout


def test_what_is_whole_is_one_line_and_what_was_never_made_is_no_problem(
    whole: Copy, fresh: Copy
) -> None:
    done = check(whole)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"\d+ jobs checked, 0 not done yet, 0 problems\n", done.stdout)
    done = check(fresh)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("0 jobs checked")


def test_a_stale_result_is_named_and_so_is_all_that_was_made_from_it(whole: Copy) -> None:
    before = (whole.path / "config.yaml").read_text(encoding="utf-8")
    try:
        whole.configure(
            lambda config: config["studies"]["exp7"]["arms"]["native"].update(
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


def test_settings_of_the_command_line_are_those_of_the_workflow(whole: Copy) -> None:
    done = check(whole, "scale=default", "root=.")
    assert done.returncode == 1
    assert all(
        line.endswith(" --config scale=default root=.` makes it anew")
        for line in done.stderr.splitlines()
    )
    done = check(whole, "scale")
    assert done.returncode == 2
    assert done.stderr.startswith("error: 'scale': write KEY=VALUE")


@pytest.mark.parametrize("harm", ["a bit of a figure", "a bit of weights"])
def test_what_is_named_mends_it_where_snakemake_by_itself_sees_nothing_to_do(
    project: Copy, harm: str
) -> None:
    pattern, spoil, _, _ = HARM[harm]
    path = project.path / first(project, pattern)
    before = path.read_bytes()
    spoil(path)
    assert project.planned() == set()
    told = COMMAND.search(check(project).stderr.strip())
    assert told
    project.run(*told[1].split())
    assert path.read_bytes() == before
    assert check(project).returncode == 0
    # what tells what training cost has another number now
    told_anew = {"typeset", "respond", "index"}
    assert project.rules() <= (told_anew if "weights" in harm else set())
