"""A flipped byte or a lost end of any file is detected and named, with the way to mend it."""

import os
import random
import shutil
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from journeylab.config import UserError
from journeylab.records.files import read_json, read_noted_tensors, read_table, read_tensors

from ..made import PROJECT
from ..workflow.conftest import Copy
from ..workflow.test_dvc import Repository
from .conftest import (
    DATA,
    JOBS,
    REPORT,
    RESULTS,
    RUN,
    SILENT,
    STUDY,
    Tally,
    cases,
    hashes,
    one_line,
    seeded,
    torture,
)

sys.path.insert(0, str(PROJECT / "tests/training"))
from problems import Interrupting, Repeating, StoppedError, run

CHECKED = (
    *(DATA, f"{RUN}/weights.safetensors", f"{RUN}/curves.parquet", f"{RUN}/run.json"),
    *(f"{RUN}/run.host.json", f"{RUN}/measurements.parquet", f"{RESULTS}/measurements.parquet"),
    *(f"{RESULTS}/verdicts.json", f"reports/{STUDY}/manifest.json"),
    f"reports/{STUDY}/content.json",
    *(f"reports/{STUDY}/numbers.json", f"reports/{STUDY}/numbers.tex", REPORT),
    *(f"reports/{STUDY}/figures/accuracy.pdf", f"reports/{STUDY}/tables/accuracy.tex"),
    *("reports/response.pdf", "reports/response.md", "reports/response.json", "reports/index.html"),
)  # fmt: skip
"""One file of each kind that `journeylab check` reads."""
MANIFESTS = (f"{STUDY}/manifest.json", "response.json", "run.json")
READ_BY = {
    DATA: ("train", "measure"),
    f"{RUN}/weights.safetensors": ("measure",),
    f"{RUN}/run.json": ("measure", "draw", "typeset"),
    f"{RUN}/curves.parquet": ("draw",),
    f"{RUN}/measurements.parquet": ("collect",),
    f"{RESULTS}/measurements.parquet": ("judge", "draw"),
    f"{RESULTS}/verdicts.json": ("draw", "typeset", "respond", "index"),
    f"reports/{STUDY}/manifest.json": ("typeset",),
    f"reports/{STUDY}/figures/accuracy.pdf": ("typeset",),
    f"reports/{STUDY}/tables/accuracy.tex": ("typeset",),
    f"reports/{STUDY}/numbers.json": ("typeset",),
    f"plans/{STUDY}/judge.json": ("judge",),
}
"""The stages that read a file."""

Damage = Callable[[bytes, random.Random], bytes]


def flipped(content: bytes, rng: random.Random) -> bytes:
    """One bit differs."""
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]


def truncated(content: bytes, rng: random.Random) -> bytes:
    """The end is missing."""
    return content[: rng.randrange(len(content))]


def zeroed(content: bytes, rng: random.Random) -> bytes:
    """A block reads as zeros, as after a crash of the machine."""
    at = rng.randrange(len(content))
    damaged = content[:at] + bytes(len(content[at : at + 512])) + content[at + 512 :]
    return damaged if damaged != content else flipped(content, rng)


DAMAGES = {"flipped bit": flipped, "truncated": truncated, "zeroed block": zeroed}


def damage(path: Path, how: Damage, rng: random.Random) -> bytes:
    """Damage a file and keep its times, as a failing disk does; return its content before."""
    before, times = path.read_bytes(), path.stat()
    path.write_bytes(how(before, rng))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    return before


@torture
@pytest.mark.parametrize("how", DAMAGES)
def test_check_names_every_damaged_file_and_a_command(
    project: Copy, tally: Tally, how: str
) -> None:
    for case in seeded(20, 2):
        # the files that a damaged manifest lists are checked after it was made anew
        names = [name for name in CHECKED if name.endswith(MANIFESTS) == bool(case % 2)]
        before = {
            name: damage(project.path / name, DAMAGES[how], random.Random(f"{case}{name}"))
            for name in names
        }
        done = project.run("journeylab", "check", check=False)
        assert "Traceback" not in done.stderr, done.stderr
        silent = [name for name in names if f"{name} " not in done.stderr]
        for name, content in before.items():
            outcome = SILENT if name in silent else "named by journeylab check, with the command"
            tally.add(f"{how}: {Path(name).suffix[1:]} of the outputs", outcome)
            (project.path / name).write_bytes(content)
        assert silent == []
        assert done.returncode == 1
        assert all("makes it anew" in line for line in done.stderr.splitlines())
    assert project.run("journeylab", "check").stderr == ""


@torture
@pytest.mark.parametrize("name", READ_BY)
def test_no_stage_uses_a_damaged_file(project: Copy, tally: Tally, name: str) -> None:
    for case in seeded(9, 3):
        kind = list(DAMAGES)[case % 3]
        before = damage(project.path / name, DAMAGES[kind], random.Random(f"{case}{name}"))
        for stage in READ_BY[name]:
            done = project.run(*JOBS[stage].command(stage), check=False)
            assert done.returncode == 2, (kind, done.stdout, done.stderr)
            line = one_line(done.stderr)
            assert name in line, line
            assert "snakemake" in line, line
            tally.add(f"{kind}: read by a stage", "refused in one line that names the file")
        (project.path / name).write_bytes(before)


@torture
def test_the_command_that_check_names_mends_the_file(
    project: Copy, expected: dict[str, str], tally: Tally
) -> None:
    for case, name in enumerate(CHECKED[:: 1 if cases(10) > 5 else 6]):
        damage(project.path / name, flipped, random.Random(case))
        done = project.run("journeylab", "check", check=False)
        command = done.stderr.splitlines()[0].split("`")[1].split()
        mended = project.run(*command, check=False)
        assert mended.returncode == 0, (command, mended.stderr)
        project.snakemake("all")
        assert hashes(project) == expected, name
        tally.add("damaged output, then the command that check names", "same bytes")
    assert project.run("journeylab", "check").stderr == ""


# -- checkpoints ----------------------------------------------------------------------------------


@torture
def test_training_after_a_damaged_checkpoint_has_the_same_bits(
    tmp_path: Path, tally: Tally, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.checkpoint"
    with pytest.raises(StoppedError):
        run(path, Interrupting())
    intact = path.read_bytes()
    for case in seeded(600):
        kind = list(DAMAGES)[case % 3]
        path.write_bytes(DAMAGES[kind](intact, random.Random(case)))
        with pytest.raises(UserError, match="damaged"):
            read_noted_tensors(path)
        tally.add("damaged checkpoint, read", "noticed; training starts over")
    undisturbed = run(tmp_path / "b.checkpoint").state
    for case in seeded(30, 6):
        path.unlink()
        with pytest.raises(StoppedError):
            run(path, Interrupting())
        damage(path, list(DAMAGES.values())[case % 3], random.Random(case))
        caplog.clear()
        again = Repeating()
        state = run(path, again).state
        assert caplog.messages == [f"checkpoint {path} is damaged; training starts over"]
        same = all(torch.equal(value, undisturbed[name]) for name, value in state.items())
        tally.add("damaged checkpoint, resumed", "starts over, same bits" if same else SILENT)
        assert same
        assert again.batches == 40


# -- single files, in this process ----------------------------------------------------------------


@torture
@pytest.mark.parametrize("name", [DATA, f"{RUN}/run.json", f"{RUN}/weights.safetensors"])
def test_no_reader_accepts_a_damaged_file(
    finished: Copy, tmp_path: Path, tally: Tally, name: str
) -> None:
    read = {".parquet": read_table, ".json": read_json, ".safetensors": read_tensors}
    intact = (finished.path / name).read_bytes()
    path = tmp_path / Path(name).name
    for case in seeded(2000, 20):
        kind = list(DAMAGES)[case % 3]
        path.write_bytes(DAMAGES[kind](intact, random.Random(case)))
        with pytest.raises(UserError, match="damaged"):
            read[path.suffix](path)
        tally.add(f"{kind}: {path.suffix[1:]}, by its reader", "refused, file named")


# -- what other tools keep ------------------------------------------------------------------------


@torture
def test_a_damaged_database_of_mlflow_is_one_line_or_is_rebuilt(
    project: Copy, tally: Tally
) -> None:
    track = ("journeylab", "track")
    project.run(*track)
    database = project.path / "mlflow.db"
    intact = database.read_bytes()
    for case in seeded(30, 6):
        kind = list(DAMAGES)[case % 3]
        database.write_bytes(DAMAGES[kind](intact, random.Random(case)))
        done = project.run(*track, check=False)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        if "warning" in done.stderr:
            assert "mlflow.db" in one_line(done.stderr)
            outcome = "one line that names the database"
        else:
            outcome = "accepted, sound for SQLite; nothing reads it back"
            with sqlite3.connect(database) as store:
                assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",), kind
        tally.add(f"{kind}: mlflow.db", outcome)
        for left in project.path.glob("mlflow.db-*"):
            left.unlink()
    database.unlink()
    assert "imported" in project.run(*track).stdout
    assert project.planned() == set()


@torture
def test_damaged_metadata_of_snakemake_change_no_result(
    project: Copy, expected: dict[str, str], tally: Tally
) -> None:
    folder = project.path / ".snakemake/metadata"
    names = sorted(path for path in folder.rglob("*") if path.is_file())
    intact = {path: path.read_bytes() for path in names}
    for case in seeded(9, 3):
        rng = random.Random(case)
        kind = list(DAMAGES)[case % 3]
        for path in names:
            path.write_bytes(DAMAGES[kind](intact[path], rng))
        done = project.snakemake("all", check=False)
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == 0, done.stderr
        assert hashes(project) == expected
        tally.add(f"{kind}: .snakemake metadata", "jobs run again or not, same bytes", len(names))
        for path, content in intact.items():
            path.write_bytes(content)


@torture
def test_a_damaged_object_of_the_dvc_cache_is_named_and_mended(
    finished: Copy, expected: dict[str, str], tmp_path: Path, tally: Tally
) -> None:
    repository = Repository(finished.duplicate(tmp_path / "project").path)
    shutil.copytree(PROJECT / "reference", repository.path / "reference", dirs_exist_ok=True)
    repository.begin()
    repository.run("journeylab", "verify", "--record", "--reference", "metrics")
    repository.dvc("commit", "--force")
    cache = {
        path.read_bytes(): path
        for path in (repository.path / ".dvc/cache/files").rglob("*")
        if path.is_file()
    }
    kept = {
        name: cache[(repository.path / name).read_bytes()]
        for name in CHECKED
        if name.startswith(("data", "results"))
    }
    for case, (name, stored) in enumerate(kept.items()):
        path = repository.path / name
        stored.chmod(0o644)
        kind = list(DAMAGES)[case % 3]
        before = stored.read_bytes()
        stored.write_bytes(DAMAGES[kind](before, random.Random(case)))
        path.unlink()
        done = repository.run("dvc", "checkout", name, check=False)
        if path.exists() and path.read_bytes() == before:
            outcome = "DVC put the intact file back"
        elif path.exists():
            check = repository.run("journeylab", "check", check=False)
            assert f"{name} " in check.stderr, check.stderr
            outcome = "named by journeylab check"
        else:
            assert done.returncode != 0
            outcome = "refused by DVC"
        tally.add(f"{kind}: object of the DVC cache", outcome)
        path.unlink(missing_ok=True)
        repository.snakemake(name, "all")
        assert hashes(repository) == expected
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.unlink(missing_ok=True)
        stored.write_bytes(before)
