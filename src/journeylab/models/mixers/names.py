"""The names of all mechanisms, read without importing torch: planning checks settings with them.

Every module of this package may define ``MECHANISMS``, a dictionary from the name that a
configuration writes to the constructor of a mixer, with names as literals. `registry` imports them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from journeylab.config.errors import UserError

ATTRIBUTE = "MECHANISMS"


@cache
def mechanism_modules() -> dict[str, tuple[str, ...]]:
    """Name of a module of this package → the mechanisms that it defines; sorted by module.

    Raises UserError if two modules define the same mechanism, or if a name is no literal.
    """
    defined: dict[str, tuple[str, ...]] = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem == "registry":
            continue
        names = tuple(_defined(path))
        taken = {name: module for module, known in defined.items() for name in known}
        for name in names:
            if name in taken:
                raise UserError(
                    f"{path.name}: {ATTRIBUTE}: {name!r} is defined in {taken[name]}.py already; "
                    "write another name"
                )
        if names:
            defined[path.stem] = names
    return defined


def mechanism_names() -> list[str]:
    """All mechanisms."""
    return [name for names in mechanism_modules().values() for name in names]


def _defined(path: Path) -> Iterator[str]:
    """The keys of the dictionary `MECHANISMS` of a module."""
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        targets: list[ast.expr]
        match statement:
            case ast.AnnAssign(target=target, value=value):
                targets = [target]
            case ast.Assign(targets=targets, value=value):
                pass
            case _:
                continue
        named = any(isinstance(each, ast.Name) and each.id == ATTRIBUTE for each in targets)
        if named and isinstance(value, ast.Dict):
            for key in value.keys:
                if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                    raise UserError(
                        f"{path.name}: {ATTRIBUTE}: line {value.lineno}: write each name in quotes"
                    )
                yield key.value
