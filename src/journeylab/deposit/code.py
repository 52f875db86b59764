"""The code of a deposit: the files of the commit that is checked out, and who wrote them."""

import io
import subprocess
import tarfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from journeylab.config import UserError
from journeylab.records.git import ask_git


class Code(NamedTuple):
    """The files of a commit by name, which of them are executable, and the commit itself.

    `commit` is its hash, `tree` that of its files, `raw` the commit as git hashes it.
    """

    files: Mapping[str, bytes]
    executables: tuple[str, ...]
    commit: str
    tree: str
    raw: bytes
    made: datetime


def read_code(project: Path) -> Code:
    """The commit that is checked out in `project`.

    Raises UserError if there is none, or if a file differs from it: a deposit with other code than
    its commit would name the wrong origin of its numbers.
    """
    state = ask_git(project, "status", "--porcelain")
    commit = (ask_git(project, "rev-parse", "HEAD") or "").strip()
    if state is None or not commit:
        raise UserError(f"{project.resolve()}: a deposit holds a git commit, and here is none")
    if changed := state.splitlines():
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise UserError(
            f"{changed[0][3:]}{more}: not committed; a deposit holds the code at its commit: "
            "commit, or remove the files"
        )
    files, executables = _unpack(_git(project, "archive", "--format=tar", commit))
    seconds = int(_git(project, "show", "-s", "--format=%ct", commit))
    return Code(
        files=files,
        executables=executables,
        commit=commit,
        tree=_git(project, "rev-parse", f"{commit}^{{tree}}").decode().strip(),
        raw=_git(project, "cat-file", "commit", commit),
        made=datetime.fromtimestamp(seconds, UTC),
    )


def _unpack(archive: bytes) -> tuple[dict[str, bytes], tuple[str, ...]]:
    files, executables = {}, []
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        for member in packed:
            if member.isdir():
                continue
            content = packed.extractfile(member) if member.isfile() else None
            if content is None:
                raise UserError(f"{member.name}: a deposit holds no links; commit the file itself")
            files[member.name] = content.read()
            if member.mode & 0o100:
                executables.append(member.name)
    return files, tuple(sorted(executables))


def _git(project: Path, *arguments: str) -> bytes:
    command = ["git", "--no-optional-locks", "-C", str(project), *arguments]
    return subprocess.run(command, capture_output=True, check=True).stdout
