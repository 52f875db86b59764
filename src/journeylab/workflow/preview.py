"""Dry runs: snakemake sees the changes of a start, and nothing changes on disk.

While snakemake decides which jobs run, it keeps what it knows of files in a cache, and reads its
records of outputs in one place. There the changes look as if they were made.
"""

import hashlib
import time
from collections.abc import Callable, Collection, Hashable
from functools import cache
from pathlib import Path
from typing import Any

from snakemake.io import ExistsDict, IOCache, Mtime, _IOFile

from journeylab.records.files import json_bytes
from journeylab.workflow.plan_files import Changes


def show_changes(changes: Changes, workflow: Any) -> None:
    """Let a workflow see files and records as they would be after the changes."""
    written = {str(path): content for path, content in changes.written.items()}
    renewed = {str(path) for path in changes.distrusted}
    absent = {str(path) for path in (*changes.removed, *changes.incomplete)}
    now = Mtime(local=time.time())

    @cache
    def text(path: str) -> bytes:
        return json_bytes(written[path])

    def checksum(path: str) -> str:
        return f"sha256:{hashlib.sha256(text(path)).hexdigest()}"

    files: IOCache = workflow.iocache
    files._exists_local = _Existing(files, written.keys(), absent)
    files._mtime = _Known(written.keys() | renewed, lambda _: now)
    files._size = _Known(written.keys(), lambda path: len(text(path)))
    files._checksum = _Known(written.keys(), checksum)
    _IOFile.is_fifo = lambda file: Path(file).is_fifo()  # it asks the disk, not the cache
    hide_records(workflow, {str(output) for output in changes.distrusted.values()})


def hide_records(workflow: Any, hidden: Collection[str] = ()) -> None:
    """Hide the records of these outputs, and damaged records, from a workflow.

    A damaged record would end snakemake in a traceback; without one it compares times.
    """
    persistence = workflow.persistence
    read = persistence._read_record

    def read_intact(key: str) -> Any:
        try:
            return None if key in hidden else read(key)
        except ValueError:
            return None

    persistence._read_record = read_intact


class _Known(dict[Any, Any]):
    """A cache that also has a value for each of the `paths`, computed when it is asked for."""

    def __init__(self, paths: Collection[str], value: Callable[[str], Any]) -> None:
        super().__init__()
        self.paths, self.value = paths, value

    def __contains__(self, path: object) -> bool:
        return path in self.paths or super().__contains__(path)

    def __missing__(self, path: str) -> Any:
        if path not in self.paths:
            raise KeyError(path)
        return self.value(str(path))


class _Existing(ExistsDict):  # type: ignore[misc]
    """A cache in which the files `present` exist and those `absent` do not."""

    def __init__(self, files: IOCache, present: Collection[str], absent: Collection[str]) -> None:
        super().__init__(files)
        self.present, self.absent = present, absent

    def __contains__(self, path: Hashable) -> bool:
        return path in self.present or path in self.absent or super().__contains__(path)

    def __getitem__(self, path: Hashable) -> Any:
        if path in self.present or path in self.absent:
            return path in self.present
        return super().__getitem__(path)
