"""A full disk or a read-only folder: one clear line, nothing half done, and it completes later."""

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ..workflow.conftest import Copy
from .conftest import JOBS, MADE, PRINTED, Tally, damaged, error_line, hashes, seeded, torture

pytestmark = [torture, pytest.mark.timeout(2400)]

MARGIN = 24 << 20
"""Free bytes of the small file system when nothing fills it."""
COMMANDS = {
    "snakemake": ("snakemake", "--cores", "2", "all"),
    "a dry run": ("snakemake", "-n", "all"),
    "the importer": ("journeylab", "track"),
    "a new study": ("journeylab", "new", "exp14_more"),
    "the schemas": ("journeylab", "schema", "--output", "build/schemas"),
}


def size_of(folder: Path) -> int:
    return sum(path.lstat().st_blocks * 512 + 4096 for path in folder.rglob("*"))


@contextmanager
def mounted(folder: Path, size: int) -> Iterator[Path]:
    """A file system of `size` bytes; the test is skipped where mounting is refused."""
    folder.mkdir()
    command = ("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder))
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(("umount", "-l", str(folder)), check=True)


class Disk:
    """A copy of the finished project on a small file system that a test fills."""

    def __init__(self, folder: Path, copy: Copy) -> None:
        self.folder, self.copy = folder, copy
        self.filler = folder / "filler"

    def fill(self, room: int) -> None:
        """Leave `room` bytes."""
        free = os.statvfs(self.folder).f_bavail * os.statvfs(self.folder).f_bsize
        with self.filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(4096, free - room))

    def free(self) -> None:
        self.filler.unlink()

    def remount(self, mode: str) -> None:
        command = ("mount", "-o", f"remount,{mode}", str(self.folder))
        subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def disk(finished: Copy, tmp_path: Path) -> Iterator[Disk]:
    size = size_of(finished.path) + MARGIN
    with mounted(tmp_path / "disk", size) as folder:
        yield Disk(folder, finished.duplicate(folder / "project"))


@pytest.mark.parametrize("stage", JOBS)
def test_a_stage_on_a_full_disk_gives_one_line_and_completes_with_space(
    disk: Disk, tally: Tally, stage: str
) -> None:
    job, expected = JOBS[stage], hashes(disk.copy, *MADE, *PRINTED)
    sizes = [size_of(disk.copy.path / name) or 4096 for name in job.outputs]
    for case in seeded(6, 2):
        room = random.Random(case).choice([0, 4096, 8192, sum(sizes) // 2, sum(sizes) - 4096])
        job.undo(disk.copy)
        disk.fill(max(0, room))
        done = disk.copy.run(*job.command(stage), check=False)
        assert damaged(disk.copy) == []
        disk.free()
        if done.returncode:
            assert "No space left on device" in error_line(done.stderr)
            outcome = "one line; completed with space, same bytes"
        else:
            outcome = "fitted, same bytes"
        again = disk.copy.run(*job.command(stage), check=False)
        assert again.returncode == 0, again.stderr
        assert hashes(disk.copy, *MADE, *PRINTED) == expected
        tally.add(f"disk full during {stage}", outcome)


def test_a_workflow_on_a_full_disk_completes_with_space(
    disk: Disk, expected: dict[str, str], tally: Tally
) -> None:
    for case in seeded(6, 2):
        for name in ("data", "results", "reports"):
            shutil.rmtree(disk.copy.path / name)
        disk.fill((0, 1_100_000, 1_200_000, 1_250_000, 1_300_000, 1_400_000)[case])
        done = disk.copy.snakemake("all", check=False)
        assert damaged(disk.copy) == []
        disk.free()
        text = done.stdout + done.stderr
        assert "Traceback" not in text, text
        assert done.returncode == 0 or "No space left" in text or "disk is full" in text, text
        disk.copy.snakemake("all")
        assert hashes(disk.copy) == expected
        tally.add("disk full during snakemake", "named; completed with space, same bytes")


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("fault", ["disk full", "read-only file system"])
def test_a_command_that_cannot_write_gives_one_line(
    disk: Disk, expected: dict[str, str], tally: Tally, name: str, fault: str
) -> None:
    copy = disk.copy
    if name == "snakemake":
        shutil.rmtree(copy.path / "reports")
    if fault == "disk full":
        disk.fill(0)
    else:
        disk.remount("ro")
    done = copy.run(*COMMANDS[name], check=False)
    if fault == "disk full":
        disk.free()
    else:
        disk.remount("rw")
    text = done.stdout + done.stderr
    assert "Traceback" not in text, text
    if done.returncode or "warning" in text:
        lines = [line for line in text.splitlines() if "pace left" in line or "ead-only" in line]
        assert lines, text
        outcome = "one line; completed with space"
    else:
        outcome = "had nothing to write"
    again = copy.run(*COMMANDS[name], check=False)
    assert again.returncode == 0, again.stderr
    assert hashes(copy).items() >= expected.items()
    tally.add(f"{fault}, commands", outcome)


@pytest.mark.parametrize("stage", JOBS)
def test_a_stage_on_a_read_only_file_system_gives_one_line(
    disk: Disk, tally: Tally, stage: str
) -> None:
    job, expected = JOBS[stage], hashes(disk.copy, *MADE, *PRINTED)
    job.undo(disk.copy)
    disk.remount("ro")
    done = disk.copy.run(*job.command(stage), check=False)
    disk.remount("rw")
    assert done.returncode != 0
    assert "Read-only file system" in error_line(done.stderr)
    assert disk.copy.run(*job.command(stage), check=False).returncode == 0
    assert hashes(disk.copy, *MADE, *PRINTED) == expected
    tally.add("read-only file system, stages", "one line; completed later, same bytes")
