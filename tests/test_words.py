"""Names and texts in src/ do not use the retired words."""

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
MODULES = sorted(SOURCE.rglob("*.py"))
TEXTS = [*MODULES, *sorted(SOURCE.rglob("*.typ")), *sorted(SOURCE.rglob("*.template"))]
NAMES = {
    *("told", "found", "one", "asked", "place", "recall", "refer"),
    *("Way", "Solo", "Course", "Turned", "INNOCENT"),
}
"""Names that do not say what value they hold."""
PROSE = re.compile(r"\b(told|ledger)\b", re.IGNORECASE)
PARTS = {"Settings", "Data", "Job", "Evaluation", "Computation", "Arm", "Model", "Training"}
"""Classes that every study defines under the same name."""


def names(path: Path) -> Iterator[tuple[int, str]]:
    """(line, name) of every name in a module, including names in f-strings."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Name():
                yield node.lineno, node.id
            case ast.arg():
                yield node.lineno, node.arg
            case ast.FunctionDef() | ast.ClassDef():
                yield node.lineno, node.name
            case ast.keyword() if node.arg:
                yield node.lineno, node.arg
            case ast.Attribute():
                yield node.lineno, node.attr


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of the comments and strings of a module, or of every line of another file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from enumerate(text.splitlines(), start=1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            yield token.start[0], token.string


def test_names_are_not_retired():
    used = [
        f"{path.relative_to(SOURCE)}:{line}: {name}"
        for path in MODULES
        for line, name in names(path)
        if name in NAMES
    ]
    assert used == []


def test_texts_have_no_retired_word():
    written = [
        f"{path.relative_to(SOURCE)}:{line}: {match[0]}"
        for path in TEXTS
        for line, text in prose(path)
        for match in PROSE.finditer(text)
    ]
    assert written == []


def test_class_names_are_unique():
    classes = Counter(
        node.name
        for path in MODULES
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert sorted(name for name, n in classes.items() if n > 1 and name not in PARTS) == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_modules_have_at_most_450_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 450
