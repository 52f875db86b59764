"""Lists of files without the temporary files that other processes are writing."""

from __future__ import annotations

from pathlib import Path


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
