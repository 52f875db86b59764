"""``journeylab check --remote``: are the objects of the DVC remote there and undamaged?

DVC names an object by the MD5 of its content. `dvc pull` trusts that name unless the remote has
`verify: true`, and then says only that its checkout failed, not which object is damaged.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from journeylab.config import UserError, masked

_BLOCK = 1 << 20


def check_remote() -> tuple[list[str], list[str]]:
    """Read every object that the files of DVC in this folder name, and compare its MD5.

    Returns a summary, and one line for each missing or damaged object. Raises UserError without a
    remote, or if it cannot be read.
    """
    from dvc.repo import Repo

    try:
        with Repo() as repo:
            store = repo.cloud.get_remote_odb()
            objects = {
                entry.obj_name or entry.value: entry.value
                for entries in repo.used_objs().values()
                for entry in entries
            }
            problems = list(_problems(store, objects))
    except Exception as error:  # the library of each kind of store has errors of its own
        reason = masked(" ".join(filter(None, (str(error), str(error.__cause__ or "")))))
        raise UserError(f"the DVC remote cannot be checked: {reason}") from error
    return [f"{len(objects)} objects checked, {len(problems)} problems"], problems


def _problems(store: Any, objects: Mapping[str, str]) -> Iterator[str]:
    """`objects` maps files and folders to the names of their objects."""
    for file, name in sorted(objects.items()):
        path = store.oid_to_path(name)
        # DVC pushes nothing of a folder whose own object is in the remote
        above = [objects[str(each)] for each in PurePosixPath(file).parents if str(each) in objects]
        delete = [_address(store, each) for each in above]
        try:
            intact = _md5(store, path) == name.removesuffix(".dir")
        except FileNotFoundError:
            problem = f"object {_address(store, name)} is missing"
        else:
            if intact:
                continue
            problem = f"object {_address(store, name)} is damaged (its MD5 differs)"
            delete = [_address(store, name), *delete]
        before = f"delete {' and '.join(delete)}, then " if delete else ""
        yield f"{file}: {problem}; {before}run `dvc push` in a folder that has the file"


def _address(store: Any, name: str) -> str:
    return str(store.fs.unstrip_protocol(store.oid_to_path(name)))


def _md5(store: Any, path: str) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    with store.fs.open(path, "rb") as content:
        while block := content.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
