"""A hash of the code a stage depends on, blind to comments, docstrings and layout.

The hash covers the source text of the import closure of some root modules. Text, not the syntax
tree: the tree's dump differs between Python versions, and a fingerprint must not.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from journeylab.config import UserError

if TYPE_CHECKING:
    from grimp import ImportGraph

PACKAGE = "journeylab"
HELD_BY_PLAN = ("config", "cli", "catalogue", "imports")
"""Modules that count in no fingerprint: what they contribute reaches a job through its plan."""

_STRING_OR_COMMENT = re.compile(
    r'"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'
    r"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"
    r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'"
    r"|#[^\n]*",
    re.DOTALL,
)
_OPENING, _CLOSING = re.compile(r"[(\[{]"), re.compile(r"[)\]}]")
_BESIDE_SYMBOL = re.compile(r"(?<=\S)[^\S\n]+(?=[^\w\s\0]|$)|(?<=[^\w\s\0])[^\S\n]+", re.MULTILINE)
_BETWEEN_WORDS = re.compile(r"(?<=\S)[^\S\n]{2,}")
_ONLY_STRINGS = re.compile(r"\s*(?:[rRuUbB]{0,2}\0\s*)+")


@cache
def fingerprint(roots: tuple[str, ...], package: str = PACKAGE) -> str:
    """Hash the code that running `roots` executes: 16 hexadecimal characters.

    A root is a module's full name; a package stands for everything below it. Their imports count,
    transitively, and so does the `__init__` of every enclosing package. Imports made for type
    checking only do not, nor does what is `HELD_BY_PLAN`. Nothing is imported.

    Raises UserError if a root does not exist.
    """
    return hash_modules(closure(roots, package), lambda module: hash_module(module, package))


def hash_modules(modules: list[str], hash_of: Callable[[str], str]) -> str:
    """The fingerprint of modules with these hashes."""
    lines = (f"{module} {hash_of(module)}\n" for module in modules)
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]


def hash_source(source: str) -> str:
    """The hash of a module's source text, blind to comments, docstrings and layout."""
    return hashlib.sha256(strip(source).encode()).hexdigest()


@cache
def hash_module(module: str, package: str = PACKAGE) -> str:
    """The hash of a module as it is on disk. Raises UserError if there is no such package."""
    return hash_source(_source(module, package))


def closure(roots: tuple[str, ...], package: str = PACKAGE) -> list[str]:
    """The modules of `package` that running `roots` executes, sorted.

    Raises UserError if a root does not exist.
    """
    graph = _graph(package)
    modules: frozenset[str] = frozenset(graph.modules)
    missing = [root for root in roots if root not in modules]
    if missing:
        raise UserError(f"fingerprint: there is no module {missing[0]!r} in {package}")
    excluded = {f"{package}.{name}" for name in HELD_BY_PLAN}
    reached: set[str] = set()
    waiting = [name for root in roots for name in (root, *graph.find_descendants(root))]
    while waiting:
        module = waiting.pop()
        if module in reached or module in excluded:
            continue
        reached.add(module)
        waiting.extend(graph.find_modules_directly_imported_by(module))
        if module != package:
            waiting.append(module.rpartition(".")[0])
    return sorted(reached)


def strip(source: str) -> str:
    """Reduce Python source to what it does: one logical line per line, comments and bare strings
    (docstrings) removed, no space where none is needed, strings untouched.

    Good for any code that is valid on Python 3.11, where no f-string nests its own quotes.
    """
    strings: list[str] = []

    def set_aside(match: re.Match[str]) -> str:
        if match[0].startswith("#"):
            return ""
        strings.append(match[0])
        return "\0"

    code = _STRING_OR_COMMENT.sub(set_aside, source).replace("\\\n", " ")
    remaining = iter(strings)
    lines: list[str] = []
    kept: list[str] = []
    for line in _logical_lines(code):
        held = list(islice(remaining, line.count("\0")))
        if (held and _ONLY_STRINGS.fullmatch(line)) or not line or line.isspace():
            continue
        lines.append(line)
        kept.extend(held)
    code = _BETWEEN_WORDS.sub(" ", _BESIDE_SYMBOL.sub("", "\n".join(lines)))
    return "".join(chain.from_iterable(zip_longest(code.split("\0"), kept, fillvalue="")))


def _logical_lines(code: str) -> Iterator[str]:
    parts: list[str] = []
    depth = 0
    for line in code.split("\n"):
        parts.append(line)
        depth += len(_OPENING.findall(line)) - len(_CLOSING.findall(line))
        if depth <= 0:
            yield " ".join(parts)
            parts.clear()
    if parts:
        yield " ".join(parts)


@cache
def _graph(package: str) -> ImportGraph:
    import grimp

    return grimp.build_graph(package, exclude_type_checking_imports=True, cache_dir=None)


def _source(module: str, package: str) -> str:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise UserError(f"fingerprint: there is no package {package!r}")
    path = Path(spec.submodule_search_locations[0], *module.split(".")[1:])
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return file.read_text(encoding="utf-8")
