"""Outputs that are links into the cache of DVC, if its `cache.type` is symlink or hardlink.

A linked file is read-only. Snakemake would refuse to replace an output that is a hard link, and
would write its own records into the files of the cache: an ordinary user may not, and the superuser
would overwrite what earlier results were made with.
"""

from pathlib import Path
from typing import Any

from snakemake.io import _IOFile
from snakemake.persistence.file import FilePersistence

_is_protected = _IOFile.protected


def replace_links() -> None:
    """Let snakemake replace linked files by files of their own."""
    FilePersistence._write_record = _write_record
    _IOFile.protected = _protected


def _write_record(records: Any, key: str, record: Any) -> None:
    records._delete_record(key)
    records._io_write(records._metadata_path, dict(record.items()), key)


async def _protected(file: Any) -> bool:
    path = Path(file)
    linked = path.is_file() and path.stat().st_nlink > 1
    return not linked and await _is_protected(file)
