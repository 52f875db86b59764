"""Files that appear whole or not at all, and that know their own SHA-256.

Every parquet, JSON and safetensors file carries a *seal*: the SHA-256 of its own bytes, taken
while the digest's 64 characters were zeros. Reading checks it, so a damaged file is noticed
without a second file that could be lost or go stale. A folder is sealed by its `manifest.json`.
Equal contents give equal bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from journeylab.config import UserError

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

SEAL = "seal"
MANIFEST = "manifest.json"
_BLANK = b"self-sha256:" + b"0" * 64
_SEALED = re.compile(rb"self-sha256:[0-9a-f]{64}")


@contextlib.contextmanager
def write_atomic(path: Path) -> Iterator[Path]:
    """Yield a path to write in `path`'s folder; it takes `path`'s place when the block ends well.

    The temporary name is always the same, so that a killed job leaves at most one such file,
    which its next attempt overwrites. An exception removes it and leaves `path` as it was.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = _partial(path)
    try:
        yield partial
        _flush(partial)
        partial.replace(path)
        _flush(path.parent)
    finally:
        partial.unlink(missing_ok=True)


@contextlib.contextmanager
def write_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder to fill; sealed, it takes `path`'s place when the block ends well.

    Whatever `path` held before is gone afterwards, so no stale figure survives.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial, previous = _partial(path), path.with_name(f".{path.name}.previous")
    for leftover in (partial, previous):
        shutil.rmtree(leftover, ignore_errors=True)
    partial.mkdir()
    try:
        yield partial
        hashes = {name: sha256(partial / name) for name in _contents(partial)}
        write_json(partial / MANIFEST, {"files": hashes})
        for name in hashes:
            _flush(partial / name)
        if path.exists():
            path.replace(previous)
        partial.replace(path)
        _flush(path.parent)
    finally:
        for leftover in (partial, previous):
            shutil.rmtree(leftover, ignore_errors=True)


def sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    with _opened(Path(path)) as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def seal(path: Path) -> None:
    """Write the file's SHA-256 over the one blank digest it contains.

    Raises ValueError if the file does not hold exactly one blank digest.
    """
    path = Path(path)
    content = path.read_bytes()
    if len(_SEALED.findall(content)) != 1 or content.count(_BLANK) != 1:
        raise ValueError(f"{path} does not contain exactly one blank digest")
    path.write_bytes(content.replace(_BLANK, _digest(content)))


def verify(path: Path) -> None:
    """Check a sealed file, or every file of a sealed folder.

    Raises UserError naming the file that is missing or differs from what was written.
    """
    path = Path(path)
    if path.is_dir():
        verify_files(path, read_json(path / MANIFEST)["files"])
    else:
        _verified(path)


def verify_files(folder: Path, hashes: Mapping[str, str]) -> None:
    """Check files against hashes kept elsewhere, by name relative to `folder`.

    Raises UserError naming the first file that is missing or differs.
    """
    for name, expected in sorted(hashes.items()):
        if sha256(folder / name) != expected:
            raise _damaged(folder / name)


def write_json(path: Path, value: Mapping[str, Any] | BaseModel, *, sealed: bool = True) -> None:
    """Write an object or a record as JSON: sorted keys, two spaces, a final newline.

    `sealed=False` leaves the seal out, for files whose format belongs to another tool.
    Raises ValueError for NaN, infinities and, when sealed, a `seal` key of the object's own.
    """
    content = value.model_dump(mode="json") if isinstance(value, BaseModel) else dict(value)
    if sealed:
        if SEAL in content:
            raise ValueError(f"{path}: the key {SEAL!r} is taken by the file's own hash")
        content = {**content, SEAL: _BLANK.decode()}
    text = json.dumps(content, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
    with write_atomic(path) as partial:
        partial.write_bytes(text.encode() + b"\n")
        if sealed:
            seal(partial)


def read_json(path: Path, *, sealed: bool = True) -> dict[str, Any]:
    """Read an object written by `write_json`, without its seal.

    Raises UserError if the file is missing or, when sealed, damaged.
    """
    content = _verified(path) if sealed else _content(path)
    try:
        value: dict[str, Any] = json.loads(content)
    except ValueError:
        raise _damaged(path) from None
    if sealed:
        value.pop(SEAL, None)
    return value


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write a table as parquet, without its index.

    Versions of pandas are kept out of the file: equal tables give equal bytes.
    """
    import pyarrow as pa
    from pyarrow import parquet

    columns = pa.Table.from_pandas(table, preserve_index=False)
    columns = columns.replace_schema_metadata({SEAL: _BLANK.decode()})
    with write_atomic(path) as partial:
        parquet.write_table(columns, partial, compression="zstd")
        seal(partial)


def read_table(path: Path) -> pd.DataFrame:
    """Read a table written by `write_table`; integer columns with gaps come back as `Int64`.

    Raises UserError if the file is missing or damaged.
    """
    import pandas as pd
    import pyarrow as pa
    from pyarrow import parquet

    columns = parquet.read_table(pa.BufferReader(_verified(path)))
    table: pd.DataFrame = columns.to_pandas()
    for name in columns.column_names:
        column = columns.column(name)
        if column.null_count and pa.types.is_integer(column.type):
            table[name] = pd.array(column.to_pylist(), dtype="Int64")
    return table


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write named tensors as safetensors; shared storage is written once per name."""
    from safetensors.torch import save

    copies = {name: tensor.detach().cpu().clone() for name, tensor in sorted(tensors.items())}
    contiguous = {name: tensor.contiguous() for name, tensor in copies.items()}
    with write_atomic(path) as partial:
        partial.write_bytes(save(contiguous, metadata={SEAL: _BLANK.decode()}))
        seal(partial)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read tensors written by `write_tensors`, on the CPU.

    Raises UserError if the file is missing or damaged.
    """
    from safetensors.torch import load

    tensors: dict[str, Tensor] = load(_verified(path))
    return tensors


def _partial(path: Path) -> Path:
    return path.with_name(f".{path.stem}.partial{path.suffix}")


def _contents(folder: Path) -> list[str]:
    files = (entry for entry in folder.rglob("*") if entry.is_file())
    return sorted(entry.relative_to(folder).as_posix() for entry in files)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _digest(content: bytes) -> bytes:
    blanked = _SEALED.sub(_BLANK, content)
    return b"self-sha256:" + hashlib.sha256(blanked).hexdigest().encode()


def _verified(path: Path) -> bytes:
    content = _content(path)
    if _SEALED.findall(content) != [_digest(content)]:
        raise _damaged(path)
    return content


def _content(path: Path) -> bytes:
    with _opened(Path(path)) as content:
        return content.read()


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[io.BufferedReader]:
    try:
        content = path.open("rb")
    except FileNotFoundError:
        raise UserError(f"{path} is missing; `snakemake {path}` makes it") from None
    with content:
        yield content


def _damaged(path: Path) -> UserError:
    return UserError(f"{path} is damaged (its SHA-256 differs); delete it and run snakemake again")
