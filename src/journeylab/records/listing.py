"""Lists of files without the temporary files that other processes are writing; room on a disk."""

import os
from contextlib import suppress
from pathlib import Path

_NEEDED = 1 << 20
"""Bytes that must fit on the disk before a workflow or an import begins."""


def find_files(folder: Path, pattern: str) -> list[Path]:
    """The paths below `folder` that match a pattern, sorted.

    Names that begin with a dot are left out: `write_atomic` and `write_folder` give them to what is
    not complete yet.
    """
    return sorted(
        path
        for path in folder.glob(pattern)
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


def probe(file: Path) -> None:
    """Raise OSError unless 1 MiB can be written into a file, which is removed again."""
    try:
        with file.open("wb") as opened:
            opened.write(bytes(_NEEDED))
            opened.flush()
            os.fsync(opened.fileno())
    finally:
        with suppress(OSError):
            file.unlink(missing_ok=True)
