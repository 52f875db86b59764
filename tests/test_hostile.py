"""Any config.yaml resolves or is refused in one line.

`JOURNEYLAB_MUTANTS=2000` tries 2000 mutants instead of 150.
"""

import copy
import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import model_validator

from journeylab.catalogue import resolve
from journeylab.claims.response import Response
from journeylab.claims.schema import StudyClaims
from journeylab.commands.app import main
from journeylab.config import Frozen, UserError, build, check_plain, read_yaml, shown

from .made import PROJECT

TEXT = (PROJECT / "config.yaml").read_text(encoding="utf-8")
HEAD, *STUDIES = re.split(r"(?m)^(?=  # .*\n  exp\d+:)", TEXT)
SHORT = HEAD + "".join(text for text in STUDIES if re.search(r"(?m)^  exp[56]:", text))
"""The configuration of two studies, which is read in a tenth of the time."""
TREE = read_yaml(PROJECT / "config.yaml")
TREES = [TREE | {"studies": {study: part}} for study, part in TREE["studies"].items()]
CLAIMS = read_yaml(PROJECT / "claims/exp7.yaml")
ANSWERS = read_yaml(PROJECT / "response.yaml")
MUTANTS = int(os.environ.get("JOURNEYLAB_MUTANTS", "150"))
LONGEST_SECONDS = 10.0
"""CPU time; a mutant takes less than a second unless the machine is busy."""

hostile = settings(max_examples=MUTANTS, database=None, suppress_health_check=list(HealthCheck))


def outcome(call: Callable[[], object]) -> str:
    """The error line or an empty text; fails on any other exception and on a long run."""
    started = time.process_time()
    message = ""
    try:
        call()
    except UserError as error:
        message = str(error)
        assert message
        assert message.splitlines() == [message]
        assert message.isprintable()
        assert len(f"error: {message}") <= 300
    assert time.process_time() - started < LONGEST_SECONDS
    return message


# -- a tree ---------------------------------------------------------------------------------------


def deep(depth: int, inner: object = 1) -> object:
    for _ in range(depth):
        inner = [inner]
    return inner


def endless() -> object:
    itself: list[object] = []
    itself.append(itself)
    return itself


texts = st.text(max_size=30) | st.sampled_from(
    ["", "(x", "(trained)", "[key]", "..", "/", "\ud800", "\x1b[31m", "\u2028", "x" * 5000, "once"]
)
keys = texts | st.integers() | st.sampled_from([None, True, 1.5, (1, 2), 10**4000])
scalars = (
    texts
    | st.integers()
    | st.floats()
    | st.booleans()
    | st.none()
    | st.dates()
    | st.binary(max_size=9)
    | st.sampled_from([10**4000, -(10**30), 10**7, 2**63, float("nan"), float("inf"), 1e308])
)
DEEP = [deep(300), deep(38), deep(5000), endless()]
LARGE: list[Any] = [[[[1] * 100] * 100] * 100, ["A"] * 15_000, dict.fromkeys(map(str, range(999)))]
odd = (
    scalars
    | st.lists(scalars, max_size=4)
    | st.dictionaries(keys, scalars, max_size=4)
    | st.sampled_from([*DEEP, *LARGE, [0, 0, 0], ["A", "a"]])
)


def entries(node: object) -> list[tuple[Any, Any]]:
    """All (container, key) pairs of a tree, in the order of the file."""
    inner = list(node) if isinstance(node, dict) else []
    inner = list(range(len(node))) if isinstance(node, list) else inner
    pairs: list[tuple[Any, Any]] = []
    for key in inner:
        pairs += [(node, key), *entries(node[key])]  # type: ignore[index]
    return pairs


ALL = entries(TREE)


@st.composite
def trees(draw: st.DrawFn, tree: dict[str, Any], more: Sequence[str] = ()) -> dict[str, Any]:
    """A copy with one to three values deleted, retyped, renamed, doubled, exchanged or emptied."""
    values = st.sampled_from(more) | odd if more else odd
    mutant = copy.deepcopy(tree)
    known = entries(mutant)  # excludes inserted values, which may be deep
    for _ in range(draw(st.integers(1, 3))):
        near = draw(st.booleans())  # half of the changes are at the top level
        top = [(mutant, key) for key in TREE if key in mutant]
        node, key = draw(st.sampled_from(top if near and top else known))
        if key not in (node if isinstance(node, dict) else range(len(node))):
            continue
        change = draw(st.sampled_from(["delete", "retype", "rename", "add", "exchange", "empty"]))
        if change == "delete":
            del node[key]
        elif change == "add":
            add(node, node[key] if draw(st.booleans()) else draw(values), draw(keys))
        elif change == "rename" and isinstance(node, dict):
            node[draw(keys) if draw(st.booleans()) else str(key).swapcase()] = node.pop(key)
        elif change == "exchange":
            other, at = draw(st.sampled_from(ALL))
            node[key] = copy.deepcopy(other[at])
        elif change == "empty" and isinstance(node[key], dict | list):
            node[key] = type(node[key])()
        else:
            node[key] = draw(values)
    return mutant


def add(node: Any, value: object, key: object) -> None:
    if isinstance(node, dict):
        node[key] = value
    else:
        node.append(value)


def reader(model: type[Frozen], file: str) -> Callable[[dict[str, Any]], None]:
    def read(tree: dict[str, Any]) -> None:
        check_plain(tree, file)
        build(model, tree, file)

    return read


FILES: dict[str, tuple[list[dict[str, Any]], Callable[[dict[str, Any]], object]]] = {
    "config.yaml": (TREES, resolve),
    "claims": ([CLAIMS], reader(StudyClaims, "exp7.yaml")),
    "response.yaml": ([ANSWERS], reader(Response, "response.yaml")),
}
"""The trees that are changed, and how such a file is read."""


@pytest.mark.parametrize("file", FILES)
@hostile
@given(data=st.data())
def test_a_mutated_file_is_read_or_gives_one_error_line(file: str, data: st.DataObject) -> None:
    known, read = FILES[file]
    mutant = data.draw(st.sampled_from(known).flatmap(trees))
    outcome(lambda: read(mutant))


# -- a text ---------------------------------------------------------------------------------------

PIECES = st.text(max_size=20) | st.sampled_from(
    [
        *("[", "]", "{", "}", ": ", "- ", "#", "'", '"', "|\n", "&a ", "*a", "<<: *a", "\t", "\n"),
        *("!!int zz", "!!float x", "!!set {x}", "!!binary A", "!x ", "!!python/name:os.system"),
        *("2001-99-99", "1:60:60", "0x" + "f" * 5000, "9" * 5000, "1e999", ".nan", "~", "yes"),
        *("[" * 3000, "{a: " * 3000, "- " * 3000, "? " * 3000, "&a [*a]", "&a {<<: *a}"),
        *('"\\ud800"', '"\\UFFFFFFFF"', '"\\0"', "\x85", "\u2028", "\ufeff", "x" * 5000),
        "__use_yte__: true",
        *("!!map", "!!str", "!!seq [", "!!null", "!!omap [a: 1]", "%YAML 1.1\n---\n", "..."),
    ]
)  # fmt: skip


@st.composite
def written(draw: st.DrawFn) -> str:
    """The text of two studies with one to three pieces inserted, replaced or removed."""
    text = SHORT
    for _ in range(draw(st.integers(1, 3))):
        first = draw(st.integers(0, len(text)))
        change = draw(st.sampled_from(["insert", "value", "cut", "double", "end"]))
        if change == "insert":
            text = text[:first] + draw(PIECES) + text[first:]
        elif change == "value":  # replaces the value after the next colon
            start = text.find(": ", first) + 2
            text = text[:start] + draw(PIECES) + text[text.find("\n", start) :]
        elif change == "cut":
            text = text[:first] + text[first + draw(st.integers(1, 200)) :]
        elif change == "double":
            text = text[:first] + text[first : first + draw(st.integers(1, 200))] + text[first:]
        else:
            text = text[:first]
    return text[:50_000]


@hostile
@given(text=written())
def test_a_mutated_text_resolves_or_gives_one_error_line(
    text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "config.yaml"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    outcome(lambda: resolve(read_yaml(path)))


def test_a_truncated_file_is_refused_or_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    for text in (HEAD, *(HEAD + study for study in STUDIES)):
        lines = text.splitlines(keepends=True)
        first = 0 if text == HEAD else HEAD.count("\n") + 1
        for last in range(first, len(lines), 11):
            path.write_text("".join(lines[:last]), encoding="utf-8")
            message = outcome(lambda: resolve(read_yaml(path)))
            line = lines[last - 1].strip()
            open_section = line.endswith(":") and not line.startswith("#")
            assert message or not (text == HEAD or open_section), line


# -- what a message shows -------------------------------------------------------------------------


def test_a_message_is_one_line_that_any_terminal_prints() -> None:
    message = str(UserError("a\nb\x1b[31m\ud800\u202e\x85c  é" + "x" * 5000))
    assert message.startswith(r"a b\x1b[31m\ud800\u202e c é")
    assert message.endswith("x…")
    assert len(message) == 290


def test_a_value_is_shown_in_80_characters() -> None:
    for value in ("x" * 5000, 10**5000, [1] * 5000, deep(5000), endless()):
        assert 0 < len(shown(value)) <= 80


def test_deep_nesting_gives_an_error_line_without_a_file_too() -> None:
    cell = {"run": "native/A", "measure": "T2"}
    effect: object = cell
    for _ in range(3000):
        effect = {"difference": [effect, cell]}
    claim = {"id": "exp7.1", "theorem": "a:b", "statement": "s", "source": "corrected"}
    claim |= {"effect": effect, "region": {"above": 0.1}}
    assert outcome(lambda: build(StudyClaims, {"claims": [claim]}, "exp7.yaml"))

    class Endless(Frozen):
        @model_validator(mode="before")
        @classmethod
        def _recurses(cls, written: object) -> object:
            return cls._recurses(written)

    assert outcome(lambda: build(Endless, {}, "a", ("b",))) == "a: b: nested too deep"


# -- what the system refuses ----------------------------------------------------------------------


FULL = OSError(28, "No space left on device")
OUT = ["train", "--plan", "plan.json", "--output", "out/run.json"]
REFUSALS: dict[str, tuple[Exception, list[str], str]] = {
    "a full disk that names no file": (FULL, OUT, "out/run.json: No space left on device"),
    "a full disk, by another library": (OSError("IO: full\nDetail"), OUT, "out/run.json: IO: full"),
    "a folder that may not be written": (PermissionError(13, "No", "a/b"), OUT, "a/b: No"),
    "a file system that may not be written": (OSError(30, "Read-only", "a"), OUT, "a: Read-only"),
    "a folder where a file should be": (IsADirectoryError(21, "Is", "p", None, "q"), OUT, "q: Is"),
    "a command without an output": (ConnectionRefusedError(), ["ui"], "ConnectionRefusedError"),
    "an output without a name": (FULL, ["train", "--output"], "No space left on device"),
    "a long name": (OSError(36, "File name too long", "x" * 9000), OUT, "xxx"),
}  # fmt: skip


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_system_error_gives_one_line_that_names_the_file(
    refusal: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error, arguments, expected = REFUSALS[refusal]

    def fail() -> None:
        raise error

    # a job limits imports in a process of its own
    monkeypatch.setattr("journeylab.commands.app.imports.install", lambda: None)
    monkeypatch.setattr("journeylab.commands.app.app", fail)
    monkeypatch.setattr("sys.argv", ["journeylab", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 3
    message = capsys.readouterr().err
    assert message.startswith(f"error: {expected}")
    assert len(message.splitlines()) == 1
    assert len(message.strip()) <= 300
