"""Read a deposit: its files, their seals, and the hashes of git."""

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from cells import MismatchError

SEALED = re.compile(rb"self-sha256:[0-9a-f]{64}")
BLANK = b"self-sha256:" + b"0" * 64


class Deposit:
    """The files of a deposit by name, and the mismatches that were found in them."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files
        self.problems: list[str] = []
        self.lines: list[str] = []

    def check(self, right: bool, *problem: object) -> None:
        """Note a mismatch, from general to particular, unless all is right."""
        if not right:
            self.problems.append(": ".join(map(str, problem)))

    def json(self, name: str) -> Any:
        """The content of a JSON file. Raises MismatchError if it is missing or no JSON."""
        try:
            return json.loads(self.files[name])
        except KeyError:
            raise MismatchError(f"{name}: is missing") from None
        except ValueError:
            raise MismatchError(f"{name}: is damaged: no JSON") from None

    def named(self, pattern: str) -> Iterator[str]:
        """The names that match a pattern."""
        return (name for name in self.files if fnmatchcase(name, pattern))


def sha256(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def read(path: Path) -> Deposit:
    """The files of a zip archive or of a folder. Raises MismatchError if it is damaged."""
    if path.is_dir():
        paths = (p for p in sorted(path.rglob("*")) if p.is_file())
        kept = {p.relative_to(path).as_posix(): p for p in paths}
        return Deposit({n: p.read_bytes() for n, p in kept.items() if "__pycache__" not in n})
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            deposit = Deposit({name: archive.read(name) for name in names})
    except FileNotFoundError:
        raise MismatchError(f"{path}: is missing") from None
    except Exception as error:  # a damaged archive can raise nearly anything
        raise MismatchError(f"{path}: cannot be read: {error}") from None
    deposit.check(len(set(names)) == len(names), path, "holds two files of the same name")
    return deposit


def is_intact(content: bytes) -> bool:
    """Whether a file agrees with the one checksum that it contains."""
    digest = b"self-sha256:" + sha256(SEALED.sub(BLANK, content)).encode()
    return SEALED.findall(content) == [digest]


def unpack(content: bytes) -> dict[str, bytes]:
    """The members of an archive of evidence."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def git_hash(kind: str, content: bytes) -> str:
    """The name of an object of git."""
    return hashlib.sha1(f"{kind} {len(content)}\0".encode() + content).hexdigest()


def git_tree(files: Mapping[str, bytes], executables: set[str], below: str = "") -> str:
    """The name of git's tree of these files."""
    entries, folders = [], dict[str, dict[str, bytes]]()
    for name, content in files.items():
        folder, _, rest = name.partition("/")
        if rest:
            folders.setdefault(folder, {})[rest] = content
        else:
            mode = "100755" if below + name in executables else "100644"
            entries.append((name, mode, git_hash("blob", content)))
    for folder, inner in folders.items():
        entries.append((folder + "/", "40000", git_tree(inner, executables, f"{below}{folder}/")))
    content = b"".join(
        f"{mode} {name.removesuffix('/')}\0".encode() + bytes.fromhex(digest)
        for name, mode, digest in sorted(entries, key=lambda entry: entry[0].encode())
    )
    return git_hash("tree", content)
