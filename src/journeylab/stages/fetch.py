"""Copy or download an external file; keep it only if its SHA-256 is the planned one."""

from __future__ import annotations

import shutil
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from journeylab.config import ExternalFile, UserError
from journeylab.records.files import sha256, write_atomic
from journeylab.stages.running import Call

SECONDS = 60.0
"""Timeout of a download."""


def run(call: Call) -> None:
    """plan → the file with the planned SHA-256; any other file is discarded."""
    file = ExternalFile.model_validate(call.plan.settings)
    with write_atomic(call.output) as partial:
        if file.path is not None and (file.url is None or Path(file.path).exists()):
            source = file.path
            _copy(file.path, partial, call.output)
        elif file.url is not None:
            source = file.url
            _download(file.url, partial, call.output)
        else:
            raise UserError(
                f"the file with SHA-256 {file.sha256[:16]}… has neither path nor url; "
                f"put it at {call.output}, or write its path or url in config.yaml"
            )
        _check(file, partial, source)


def _copy(path: str, partial: Path, output: Path) -> None:
    try:
        shutil.copyfile(path, partial)
    except OSError as error:
        if error.filename != path:
            raise
        raise UserError(
            f"{path} cannot be read ({error.strerror}); correct its path in config.yaml, "
            f"or put the file at {output}"
        ) from None


def _download(url: str, partial: Path, output: Path) -> None:
    with partial.open("wb") as copy:
        try:
            with urlopen(url, timeout=SECONDS) as answer:
                shutil.copyfileobj(answer, copy)
        except (URLError, HTTPException, ConnectionError, TimeoutError) as error:
            raise UserError(
                f"{url} cannot be downloaded ({_reason(error)}); put the file at {output}, "
                "or write its path in config.yaml"
            ) from None


def _reason(error: Exception) -> str:
    if isinstance(error, HTTPError):
        error.close()
        return f"HTTP {error.code}"
    cause = error.reason if isinstance(error, URLError) else error
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return str(cause) or type(cause).__name__


def _check(file: ExternalFile, copy: Path, source: str) -> None:
    size = copy.stat().st_size
    if file.bytes is not None and size < file.bytes:
        raise UserError(f"{source} is truncated: {size} of {file.bytes} bytes; get it anew")
    if (hashed := sha256(copy)) != file.sha256:
        raise UserError(
            f"{source} is another file: its SHA-256 is {hashed[:16]}…, not {file.sha256[:16]}… "
            f"({size} bytes)"
        )
