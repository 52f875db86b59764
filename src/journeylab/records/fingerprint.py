"""Fingerprints of code: hashes that ignore comments, docstrings and layout.

A fingerprint covers the source text of the import closure of some root modules. It hashes text and
not the syntax tree, since the dump of a tree differs between Python versions.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from journeylab.config import UserError

if TYPE_CHECKING:
    from grimp import ImportGraph

PACKAGE = "journeylab"
PROJECT_STUDIES = "studies"
"""The package that holds the studies of a project that imports journeylab."""
PLANNED: Mapping[str, str] = {
    "config": "validates settings; the resolved settings are in the plan",
    "catalogue": "finds the parts of a study; the parts themselves are in the key",
    "parts": "types the parts of a study",
    "commands": "parses arguments and answers people; no stage calls it",
}
"""Modules outside every key, with the reason."""
BOOKKEEPING: Mapping[str, str] = {
    "records.cost": "measures time and memory of the process",
    "records.files": "reads, writes and checks files; their format counts by number, in the plan",
    "records.fingerprint": "computes keys",
    "records.git": "asks git for the commit",
    "records.machine": "asks the operating system",
    "records.plans": "reads and writes plans",
    "records.processor": "describes the processor",
    "records.repair": "says how a file is made anew",
    "records.runs": "describes runs and machines",
    "stages.running": "loads the code of a stage and calls it",
    "stages.imports": "compiles the source that is hashed",
    "stages.generate": "reads and writes the files around chunks.generate",
    "stages.train": "reads and writes the files around chunks.train",
    "stages.compute": "reads and writes the files around chunks.compute",
    "stages.measure": "reads and writes the files around chunks.measure",
    "training.progress": "shows how far training is",
}
"""Modules outside the keys of data, runs, measurements and verdicts, with the reason.

They read, write, show and record numbers, and decide none. A test edits all of them and compares
the bytes of weights and measurements.
"""
DISCOVERED: Mapping[str, str] = {"models.mixers.registry": "models.mixers"}
"""Module → package whose modules it imports by name, which the import graph does not show."""

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


def hash_modules(modules: list[str], hash_of: Callable[[str], str]) -> str:
    """The fingerprint of modules with these hashes."""
    lines = (f"{module} {hash_of(module)}\n" for module in modules)
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]


def hash_source(source: str) -> str:
    """The hash of a module's source text, blind to comments, docstrings and layout."""
    return hashlib.sha256(strip(source).encode()).hexdigest()


@cache
def hash_module(module: str) -> str:
    """The hash of a module as it is on disk. Raises UserError if there is no such package."""
    return hash_source(_source(module))


def closure(
    roots: tuple[str, ...], package: str = PACKAGE, outside: tuple[str, ...] = tuple(PLANNED)
) -> list[str]:
    """The modules of `package` that running `roots` executes, sorted.

    A root is the full name of a module, or of a package with everything below it. The closure
    follows imports, except those for type checking only, and holds the `__init__` of every
    enclosing package, and all modules of a `DISCOVERED` package. It leaves out modules and packages
    `outside`, named relative to `package`. If a root lies in another package, as the studies of a
    project do, the closure covers both.

    Raises UserError if a root does not exist.
    """
    others = {root.partition(".")[0] for root in roots} - {package}
    graph = _graph(package, *sorted(others))
    modules: frozenset[str] = frozenset(graph.modules)
    missing = [root for root in roots if root not in modules]
    if missing:
        raise UserError(f"fingerprint: there is no module {missing[0]!r} in {package}")
    excluded = {f"{package}.{name}" for name in outside}
    excluded |= {below for name in excluded & modules for below in graph.find_descendants(name)}
    reached: set[str] = set()
    waiting = [name for root in roots for name in (root, *graph.find_descendants(root))]
    while waiting:
        module = waiting.pop()
        if module in reached or module in excluded:
            continue
        reached.add(module)
        waiting.extend(graph.find_modules_directly_imported_by(module))
        if all_of := DISCOVERED.get(module.removeprefix(f"{package}.")):
            waiting.extend(graph.find_descendants(f"{package}.{all_of}"))
        if "." in module:
            waiting.append(module.rpartition(".")[0])
    return sorted(reached)


def strip(source: str) -> str:
    """Reduce Python source to its meaning: one logical line per line, without comments,
    docstrings and superfluous spaces. Strings stay as they are.

    Valid for any code of Python 3.11, where no f-string nests its own quotes.
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
def _graph(*packages: str) -> ImportGraph:
    import grimp

    try:
        __file__.encode()  # grimp would panic
    except UnicodeEncodeError:
        raise UserError(
            f"the locale cannot name the folder {Path(__file__).parents[1]}; set LC_ALL=C.UTF-8"
        ) from None
    return grimp.build_graph(*packages, exclude_type_checking_imports=True, cache_dir=None)


def _source(module: str) -> str:
    package = module.partition(".")[0]
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise UserError(f"fingerprint: there is no package {package!r}")
    path = Path(spec.submodule_search_locations[0], *module.split(".")[1:])
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return file.read_text(encoding="utf-8")
