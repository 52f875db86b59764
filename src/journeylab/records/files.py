"""Files that are written atomically and contain a checksum of themselves.

Every parquet, JSON and safetensors file carries a *seal*: the SHA-256 of its own bytes, computed
with zeros in place of the 64 characters of the digest. Every read checks it, so damage is noticed
without a second file that could be lost or outdated. A folder is sealed by its `manifest.json`.
The output of a stage also carries its *origin*: the key of its plan, and the SHA-256 of its inputs.
Equal contents give equal bytes.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import glob
import hashlib
import io
import itertools
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from journeylab.config import Frozen, UserError, canonical
from journeylab.records import machine
from journeylab.records.repair import MANIFEST as MANIFEST
from journeylab.records.repair import advice, remake

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

FORMAT = 1
"""Version of the file formats below: raise it if readers of old files would get other values."""
SEAL = "seal"
ORIGIN = "origin"
MEASUREMENTS = "measurements.parquet"
VERDICTS = "verdicts.json"
BLANK = b"self-sha256:" + b"0" * 64
"""The checksum in a file before `seal`."""
_SEALED = re.compile(rb"self-sha256:[0-9a-f]{64}")
_written = itertools.count()
_SWAPS = 100
"""How often a folder is moved away that other processes put in the place of the same folder."""
_NEEDED = 1 << 20
"""Bytes that must fit on the disk before a workflow or an import begins."""


class Origin(Frozen):
    """The key of the plan that made a file; `inputs` maps its inputs to SHA-256 hashes."""

    plan_key: str
    inputs: Mapping[str, str] = {}


@contextlib.contextmanager
def write_atomic(path: Path, *, durable: bool = True) -> Iterator[Path]:
    """Yield a temporary path beside `path`; it replaces `path` if the block succeeds.

    No other process uses the temporary name, so that several may write `path` at once; the last
    one wins. An exception removes the temporary file and leaves `path` unchanged. What a killed
    process left is removed by the next write on its machine. A file that is not `durable` may be
    lost when the machine goes down.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    partial = _temporary(path)
    try:
        yield partial
        if durable:
            _flush(partial)
        partial.replace(path)
        if durable:
            _flush(path.parent)
    finally:
        partial.unlink(missing_ok=True)


@contextlib.contextmanager
def write_folder(path: Path, origin: Origin | None = None) -> Iterator[Path]:
    """Yield an empty folder; it is sealed and replaces `path` if the block succeeds.

    The old content of `path` is removed, so that no outdated file survives.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    partial, previous = _temporary(path), _temporary(path)
    partial.mkdir()
    try:
        yield partial
        entries = [entry for entry in partial.rglob("*") if entry.is_file()]
        hashes = {entry.relative_to(partial).as_posix(): sha256(entry) for entry in sorted(entries)}
        write_json(partial / MANIFEST, {"files": hashes}, origin=origin)
        for name in hashes:
            _flush(partial / name)
        _swap(partial, path, previous)
        _flush(path.parent)
    finally:
        for leftover in (partial, previous):
            shutil.rmtree(leftover, ignore_errors=True)


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
        with contextlib.suppress(OSError):
            file.unlink(missing_ok=True)


def sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    with _opened(path) as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def seal(path: Path) -> None:
    """Replace the blank digest in a file by the file's SHA-256.

    Raises ValueError unless the file contains exactly one blank digest.
    """
    path.write_bytes(_sealed(path.read_bytes()))


def verify(folder: Path, plan_key: str | None = None) -> None:
    """Check all files of a sealed folder; with `plan_key`, also the plan.

    Raises UserError with the name of the file that is missing or damaged.
    """
    verify_files(folder, read_json(folder / MANIFEST, plan_key)["files"])


def read_verified(path: Path) -> bytes:
    """The bytes of a sealed file. Raises UserError if it is missing or damaged."""
    content = _content(path)
    if not is_intact(content):
        raise _damaged(path)
    return content


def verify_files(folder: Path, hashes: Mapping[str, str]) -> None:
    """Check files against their SHA-256 hashes, by name relative to `folder`.

    Raises UserError with the name of the first file that is missing or differs.
    """
    for name, expected in sorted(hashes.items()):
        if sha256(folder / name) != expected:
            raise _damaged(folder / name)


def write_json(
    path: Path,
    value: Mapping[str, Any] | BaseModel,
    *,
    origin: Origin | None = None,
    sealed: bool = True,
) -> None:
    """Write an object or a record as JSON: sorted keys, two spaces, a final newline.

    `sealed=False` omits the seal, for files of another tool's format. Raises ValueError for NaN,
    infinities, and keys that are reserved for seal and origin.
    """
    with write_atomic(path) as partial:
        partial.write_bytes(json_bytes(value, origin=origin, sealed=sealed))


def json_bytes(
    value: Mapping[str, Any] | BaseModel, *, origin: Origin | None = None, sealed: bool = True
) -> bytes:
    """The bytes that `write_json` writes; errors likewise."""
    content = value.model_dump(mode="json") if isinstance(value, BaseModel) else dict(value)
    added: dict[str, Any] = {SEAL: BLANK.decode()} if sealed else {}
    if origin is not None:
        added[ORIGIN] = origin.model_dump(mode="json")
    if taken := content.keys() & added.keys():
        raise ValueError(f"the key {min(taken)!r} is reserved by the file format")
    text = json.dumps(
        content | added, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False
    )
    written = text.encode() + b"\n"
    return _sealed(written) if sealed else written


def read_json(path: Path, plan_key: str | None = None, *, sealed: bool = True) -> dict[str, Any]:
    """Read an object written by `write_json`, without its seal and origin.

    Raises UserError if the file is missing or, when sealed, damaged; with `plan_key`, if another
    plan made it.
    """
    content = read_verified(path) if sealed else _content(path)
    with _parsing(path):
        value: dict[str, Any] = dict(json.loads(content))
    if sealed:
        value.pop(SEAL, None)
    made: dict[str, Any] = value.pop(ORIGIN, None) or {}
    check_key(path, made.get("plan_key"), plan_key)
    return value


def parse_json(content: bytes) -> dict[str, Any]:
    """The object in the bytes of a sealed JSON file; raises ValueError if they are damaged."""
    if not is_intact(content):
        raise ValueError("the checksum differs")
    value: dict[str, Any] = json.loads(content)
    value.pop(SEAL)
    value.pop(ORIGIN, None)
    return value


def is_intact(content: bytes) -> bool:
    """Whether the bytes of a sealed file agree with their checksum."""
    return _SEALED.findall(content) == [_digest(content)]


def write_table(path: Path, table: pd.DataFrame, origin: Origin | None = None) -> None:
    """Write a table as parquet, without its index.

    The file does not contain the version of pandas: equal tables give equal bytes.
    """
    import pyarrow as pa
    from pyarrow import parquet

    columns = pa.Table.from_pandas(table, preserve_index=False)
    kept = {ORIGIN: canonical(origin.model_dump(mode="json"))} if origin else {}
    columns = columns.replace_schema_metadata({SEAL: BLANK.decode()} | kept)
    with write_atomic(path) as partial:
        parquet.write_table(columns, partial, compression="zstd")
        seal(partial)


def read_table(path: Path, plan_key: str | None = None) -> pd.DataFrame:
    """Read a table written by `write_table`; integer columns with gaps come back as `Int64`.

    Raises UserError if the file is missing or damaged; with `plan_key`, if another plan made it.
    """
    content = read_verified(path)
    with _parsing(path):
        table, origin = parse_table(content), table_origin(content)
    check_key(path, origin.plan_key if origin else None, plan_key)
    return table


def parse_table(content: bytes) -> pd.DataFrame:
    """The table in the bytes of a file written by `write_table`."""
    import pandas as pd
    import pyarrow as pa
    from pyarrow import parquet

    file = parquet.ParquetFile(pa.BufferReader(content), pre_buffer=False)
    # in this thread: a process that ends beside a reading thread of pyarrow may abort
    columns = file.read(use_threads=False)
    table: pd.DataFrame = columns.to_pandas()
    for name in columns.column_names:
        column = columns.column(name)
        if column.null_count and pa.types.is_integer(column.type):
            table[name] = pd.array(column.to_pylist(), dtype="Int64")
    return table


def write_tensors(
    path: Path, tensors: Mapping[str, Tensor], notes: Mapping[str, str] | None = None
) -> None:
    """Write named tensors, and notes beside them, as safetensors.

    Shared storage is written once per name.
    """
    from safetensors.torch import save

    copies = {name: tensor.detach().cpu().clone() for name, tensor in sorted(tensors.items())}
    contiguous = {name: tensor.contiguous() for name, tensor in copies.items()}
    # A single entry: safetensors writes several entries in an order that varies between processes.
    entry = canonical({"digest": BLANK.decode(), "notes": dict(notes)}) if notes else None
    with write_atomic(path) as partial:
        partial.write_bytes(save(contiguous, metadata={SEAL: entry or BLANK.decode()}))
        seal(partial)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read tensors written by `write_tensors`, on the CPU.

    Raises UserError if the file is missing or damaged.
    """
    return read_noted_tensors(path)[0]


def read_noted_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read tensors and the notes beside them; errors as in `read_tensors`."""
    from safetensors.torch import load

    content = read_verified(path)
    with _parsing(path):
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        entry: str = header["__metadata__"][SEAL]
        return load(content), json.loads(entry)["notes"] if entry.startswith("{") else {}


def read_origin(path: Path) -> Origin | None:
    """The origin of a sealed JSON file. Raises UserError if the file is missing or damaged."""
    content = read_verified(path)
    with _parsing(path):
        origin = dict(json.loads(content)).get(ORIGIN)
        return Origin.model_validate(origin) if origin else None


def table_origin(content: bytes) -> Origin | None:
    """The origin in the bytes of a table. Raises an error of pyarrow if they are no table."""
    import pyarrow as pa
    from pyarrow import parquet

    kept = (parquet.read_schema(pa.BufferReader(content)).metadata or {}).get(ORIGIN.encode())
    return Origin.model_validate_json(kept) if kept else None


def check_key(path: Path, actual: str | None, planned: str | None) -> None:
    """Raises UserError unless the key `actual` of `path` is the planned one, if one is given."""
    if planned is not None and actual != planned:
        raise UserError(
            f"{path} was made with other settings, data or code than planned; "
            f"`{remake(path)}` makes it anew"
        )


def _temporary(path: Path) -> Path:
    own = f"{machine.place()}-{os.getpid()}-{next(_written)}"
    return path.with_name(f".{path.stem}.{own}.partial{path.suffix}")


def _remove_leftovers(path: Path) -> None:
    """Remove temporary files and folders of `path` whose processes on this machine have ended."""
    stem, suffix = map(glob.escape, (path.stem, path.suffix))
    for entry in path.parent.glob(f".{stem}.????????-????????-*-*.partial{suffix}"):
        place, process, _ = entry.name.removeprefix(f".{path.stem}.").rsplit("-", 2)
        if machine.is_here(place) and process.isdecimal() and not _is_running(int(process)):
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of another user
        return True
    return True


def _swap(partial: Path, path: Path, previous: Path) -> None:
    """Put a folder in the place of `path`, whose old content is moved to `previous`."""
    for _ in range(_SWAPS):
        with contextlib.suppress(FileNotFoundError):
            path.replace(previous)
        try:
            partial.replace(path)
        except OSError as error:  # another process has put its folder there meanwhile
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            shutil.rmtree(previous, ignore_errors=True)
        else:
            return
    raise UserError(f"{path} is written by other processes at the same time; run it again")


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        try:  # on macOS: the drive itself, which else may keep the bytes in its memory
            fcntl.fcntl(descriptor, getattr(fcntl, "F_FULLFSYNC"))  # noqa: B009
        except (AttributeError, OSError):  # another system, or a file system that cannot
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sealed(content: bytes) -> bytes:
    if len(_SEALED.findall(content)) != 1 or content.count(BLANK) != 1:
        raise ValueError("a sealed file contains exactly one blank digest")
    return content.replace(BLANK, _digest(content))


def _digest(content: bytes) -> bytes:
    blanked = _SEALED.sub(BLANK, content)
    return b"self-sha256:" + hashlib.sha256(blanked).hexdigest().encode()


@contextlib.contextmanager
def _parsing(path: Path) -> Iterator[None]:
    """Raise UserError for a file with a right checksum that is not of its kind."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # libraries raise nearly anything for such a file
        raise UserError(
            f"{path} is damaged, or no file of journeylab ({type(error).__name__})"
            f"{advice(path, damaged=True)}"
        ) from None


def _content(path: Path) -> bytes:
    with _opened(path) as content:
        return content.read()


def _opened(path: Path) -> io.BufferedReader:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise UserError(f"{path} is missing{advice(path, damaged=False)}") from None


def _damaged(path: Path) -> UserError:
    return UserError(f"{path} is damaged (its SHA-256 differs){advice(path, damaged=True)}")
