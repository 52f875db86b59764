"""What a deposit holds: the commit, tables as CSV, the register as JSON, reports and plans."""

import io
import subprocess
import tarfile
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from journeylab.claims.schema import LOOKS, Register
from journeylab.config import UserError
from journeylab.records.files import MANIFEST, MEASUREMENTS, VERDICTS, json_bytes, read_json
from journeylab.records.git import ask_git

PLANS = ("collect", "judge", "draw", "typeset")
SHARED = ("response.pdf", "response.json", "response.md", "index.html")
SCRIPTS = ("verify.py", "rejudge.py", "cells.py", "reading.py", "rows.py")


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


class Study(NamedTuple):
    """A complete study of the deposit.

    ``table`` are its measurements; ``exploratory`` the rows that were not registered before the
    runs that they read; ``commits`` those at which runs began; ``finished`` is when the last ended.
    """

    name: str
    title: str
    table: pd.DataFrame
    exploratory: tuple[str, ...]
    commits: tuple[str, ...]
    finished: str

    @property
    def csv(self) -> str:
        """The name of its measurements in the deposit."""
        return f"measurements/{self.name}.csv"


def csv_bytes(table: pd.DataFrame) -> bytes:
    """A table as CSV: floats with all digits, a missing value as an empty field.

    Raises UserError if a text is empty, since it would look like a missing value.
    """
    for name, column in table.items():
        if (column.astype("string") == "").any():
            raise UserError(f"measurements: an empty text in column {name}; write null instead")
    return table.to_csv(index=False, lineterminator="\n").encode()


def register_bytes(register: Register, studies: Iterable[str]) -> bytes:
    """The register of some studies as JSON, with the default of every key that YAML leaves out."""
    kept = {study: register.studies[study] for study in studies}
    return json_bytes(register.model_copy(update={"studies": kept}), sealed=False)


def result_files(root: Path, studies: Iterable[Study]) -> dict[str, bytes]:
    """The files of results and reports by their names in the deposit.

    Raises UserError for a file that is missing or damaged.
    """
    names = [f"reports/{name}" for name in SHARED]
    for study in studies:
        reports = f"reports/{study.name}"
        listed = read_json(root / reports / MANIFEST)["files"]
        names += [f"{reports}.pdf", f"{reports}/{MANIFEST}", *(f"{reports}/{x}" for x in listed)]
        names += [f"results/{study.name}/{name}" for name in (MEASUREMENTS, VERDICTS)]
        names += [f"plans/{study.name}/{stage}.json" for stage in PLANS]
    files = {}
    for name in names:
        try:
            files[name] = (root / name).read_bytes()
        except FileNotFoundError:
            raise UserError(f"{root / name} is missing; `make recorded` makes it") from None
    return files | {study.csv: csv_bytes(study.table) for study in studies}


def scripts() -> dict[str, bytes]:
    """The programs with which a reader checks the deposit."""
    return {name: (Path(__file__).parent / name).read_bytes() for name in SCRIPTS}


def claim_files(code: Mapping[str, Any], studies: Iterable[str]) -> list[str]:
    """The YAML files of the register of some studies."""
    names = (LOOKS, *(f"{study}.yaml" for study in studies))
    return sorted({f"claims/{name}" for name in names} & code.keys())
